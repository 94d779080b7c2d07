package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// Files of the dump that the forgeries are made from.
const (
	fileT = "data/0001.public.t/0001.pgcopy"
	fileY = "data/0002.public.y/0001.pgcopy"
	fileZ = "data/0003.public.z/0001.pgcopy"
)

// evil is a name for a terminal, for a shell and for SQL at once.
const evil = "x\"; DROP TABLE y; --'; DROP TABLE y; --\\\x1b[31m\x1b]52;c;eA==\a\u009b5m\u202e\u2066\r\n\t\x7f$(touch /tmp/x)`id`%s%n"

func fifo(path string) error { return unix.Mkfifo(path, 0o600) }

func socket(path string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

// device makes one that gives zeros without end, where that is allowed.
func device(path string) error {
	if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err != unix.EPERM {
		return err
	}
	return fifo(path)
}

func link(to string) func(string) error {
	return func(path string) error { return os.Symlink(to, path) }
}

func folder(path string) error { return os.Mkdir(path, 0o700) }

// sparse is a file of zeros that takes no room.
func sparse(size int64) func(string) error {
	return func(path string) error {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, size)
	}
}

// fileAttacks put something else in the place of a dump's files.
func fileAttacks() (list []attack) {
	const reason = "not a regular file"
	kinds := []struct {
		name string
		make func(string) error
	}{{"pipe", fifo}, {"socket", socket}, {"device", device}, {"folder", folder}, {"link out", link("/etc/passwd")}, {"link up", link("../../../../etc/passwd")}, {"link to itself", link("0001.pgcopy")}}
	for _, kind := range kinds {
		for _, file := range []string{format.ManifestName, format.ChecksumName, format.SchemaName, fileT} {
			if kind.name == "link to itself" && file != fileT {
				continue
			}
			list = append(list, attack{name: kind.name + " for " + filepath.Base(file), reason: reason, noFile: file == fileT, forge: func(f *forged) {
				f.replace(file, kind.make)
			}})
		}
	}
	return append(list,
		attack{name: "folder of data linked", reason: reason, noFile: true, forge: func(f *forged) {
			f.check(os.Rename(f.path("data"), f.dir+".data"))
			f.check(os.Symlink(f.dir+".data", f.path("data")))
		}},
		attack{name: "archive linked to an equal one", reason: reason, forge: func(f *forged) {
			f.check(os.Rename(f.path(format.SchemaName), f.dir+".schema"))
			f.check(os.Symlink(f.dir+".schema", f.path(format.SchemaName)))
		}},
		attack{name: "link to another table", reason: "not as the manifest says", forge: func(f *forged) {
			f.replace(fileZ, link("../../"+fileY))
			f.table("z").Segments[0].StoredFile = f.table("y").Segments[0].StoredFile
			f.table("z").Segments[0].Path = fileZ
			f.seal()
		}},
		attack{name: "dangling link", reason: "missing", noFile: true, forge: func(f *forged) { f.replace(fileT, link("nowhere")) }},
		attack{name: "sparse manifest", reason: "has no place in JSON", forge: func(f *forged) { f.replace(format.ManifestName, sparse(format.MaxManifest)) }},
		attack{name: "manifest beyond the limit", reason: "limit exceeded", forge: func(f *forged) { f.replace(format.ManifestName, sparse(format.MaxManifest+1)) }},
		attack{name: "sparse checksums", reason: format.ChecksumName, forge: func(f *forged) { f.replace(format.ChecksumName, sparse(1<<40)) }},
		attack{name: "sparse data", reason: fileT, forge: func(f *forged) { f.replace(fileT, sparse(1<<40)) }},
		attack{name: "sparse archive", reason: format.SchemaName, forge: func(f *forged) { f.replace(format.SchemaName, sparse(1<<40)) }},
	)
}

// manifestAttacks are manifests that say what can't be.
func manifestAttacks() (list []attack) {
	add := func(name, reason string, change func(f *forged, m *format.Manifest)) {
		list = append(list, attack{name: name, reason: reason, forge: func(f *forged) {
			change(f, f.m)
			f.seal()
		}})
	}
	for name, path := range map[string]string{"absolute": "/etc/passwd", "up": "../" + fileT, "up inside": "data/../../x.pgcopy", "elsewhere": "schema.pgdump", "backslashes": `data\..\..\x.pgcopy`,
		"escape": "data/\x1b[31m/1.pgcopy", "drive": "data/c:x.pgcopy", "stream": "data/x:y.pgcopy", "long": "data/" + strings.Repeat("x/", 4000) + "1.pgcopy", "empty": ""} {
		add("path "+name, "bad manifest", func(f *forged, _ *format.Manifest) { f.table("t").Segments[0].Path = path })
	}
	add("schema path", "bad manifest", func(_ *forged, m *format.Manifest) { m.Schema.Path = "../schema.pgdump" })
	add("one file for two tables", "named twice", func(f *forged, _ *format.Manifest) { f.table("z").Segments = f.table("y").Segments })
	add("one file in two spellings", "named twice", func(f *forged, _ *format.Manifest) {
		s := f.table("y").Segments[0]
		s.Path = strings.ToUpper("data/0002.public.y/0001") + ".pgcopy"
		s.Path = "data/" + strings.TrimPrefix(s.Path, "DATA/")
		f.table("z").Segments = []format.ManifestSegment{s}
	})
	add("one file twice", "named twice", func(f *forged, _ *format.Manifest) {
		y := f.table("y")
		y.Segments = append(y.Segments, y.Segments[0])
	})
	add("one folder for two tables", "belongs to another table", func(f *forged, _ *format.Manifest) {
		f.table("z").Segments[0].Path = "data/0002.public.y/0002.pgcopy"
	})
	add("table twice", "named twice", func(f *forged, m *format.Manifest) { m.Tables = append(m.Tables, *f.table("y")) })
	add("no tables' name", "no name", func(f *forged, _ *format.Manifest) { f.table("y").Name = "" })
	add("negative rows", "bad manifest", func(f *forged, _ *format.Manifest) { f.table("y").Rows = -1 })
	add("more rows than bytes", "bad manifest", func(f *forged, _ *format.Manifest) {
		y := f.table("y")
		y.Segments[0].Rows, y.Rows = 1<<62, 1<<62
	})
	add("sums beyond counting", "sums over the dump", func(f *forged, _ *format.Manifest) {
		for _, name := range []string{"y", "z"} {
			k := f.table(name)
			k.Segments[0].RawBytes, k.Bytes = math.MaxInt64, math.MaxInt64
		}
	})
	add("stored bytes beyond counting", "sums over the dump", func(f *forged, _ *format.Manifest) {
		for _, name := range []string{"y", "z"} {
			f.table(name).Segments[0].StoredBytes = math.MaxInt64
		}
	})
	add("digest that lies", "totals in the file", func(f *forged, _ *format.Manifest) {
		y := f.table("y")
		y.RowDigest = strings.Repeat("0", 32)
		y.Segments[0].RowDigest = y.RowDigest
	})
	add("checksum that lies", "xxh128", func(f *forged, _ *format.Manifest) { f.table("y").Segments[0].XXH128 = strings.Repeat("0", 32) })
	add("other dump_id", "dump_id", func(_ *forged, m *format.Manifest) { m.DumpID = evil })
	add("no dump_id", "no dump_id", func(_ *forged, m *format.Manifest) { m.DumpID = "" })
	add("later version", "use a newer pghaul", func(_ *forged, m *format.Manifest) { m.FormatVersion = 99 })
	add("zero byte in a name", "zero byte", func(f *forged, _ *format.Manifest) { f.table("y").Name = "y\x00z" })
	add("long name", "more than 1024", func(f *forged, _ *format.Manifest) { f.table("y").Name = format.Name(strings.Repeat("y", 1<<20)) })
	add("long role", "more than 1024", func(_ *forged, m *format.Manifest) { m.Roles = append(m.Roles, format.Name(strings.Repeat("r", 2000))) })
	list = append(list, attack{name: "role that is no UTF-8", reason: "not valid UTF-8", whole: true, skip: []string{"data-only", "against"}, forge: func(f *forged) {
		f.m.Roles = append(f.m.Roles, "\xff\xfe")
		f.seal()
	}})
	add("zero byte in a grantee", "zero byte", func(_ *forged, m *format.Manifest) {
		m.Source.ACL = []format.Grant{{Grantee: "a\x00", Privilege: "CONNECT"}}
	})
	add("system table", "server's own", func(f *forged, _ *format.Manifest) {
		f.table("y").Schema, f.table("y").Name = "pg_catalog", "pg_authid"
	})
	add("system root", "server's own", func(f *forged, _ *format.Manifest) {
		f.table("y").Root, f.table("y").ViaRoot = &format.Table{Schema: "pg_catalog", Name: "pg_authid"}, true
	})
	add("system sequence", "server's own", func(_ *forged, m *format.Manifest) {
		m.Sequences = append(m.Sequences, format.Sequence{Schema: "pg_catalog", Name: "s"})
	})
	add("system matview", "server's own", func(_ *forged, m *format.Manifest) {
		m.MatViews = append(m.MatViews, format.MatView{Schema: "information_schema", Name: "v", Populated: true})
	})
	add("sequence twice", "named twice", func(_ *forged, m *format.Manifest) { m.Sequences = append(m.Sequences, m.Sequences...) })
	add("too many columns", "more than 1664", func(f *forged, _ *format.Manifest) {
		for i := range 2000 {
			c := f.table("y").Columns[0]
			c.Name = format.Name(fmt.Sprint("c", i))
			f.table("y").Columns = append(f.table("y").Columns, c)
		}
	})
	add("column twice", "named twice", func(f *forged, _ *format.Manifest) {
		f.table("y").Columns = append(f.table("y").Columns, f.table("y").Columns[0])
	})
	add("evil in every text", "dump_id", func(_ *forged, m *format.Manifest) { evilManifest(m) })
	list[len(list)-1].thorough = true
	return append(list, rawManifestAttacks()...)
}

// evilManifest writes evil into all that is only shown.
func evilManifest(m *format.Manifest) {
	m.Tool, m.DumpID, m.Started, m.Finished = evil, evil, evil, evil
	s := &m.Source
	s.Database, s.Owner, s.Comment, s.Snapshot = evil, evil, evil, format.Snapshot{LSN: evil, Time: evil}
	s.Server = format.Server{VersionNum: -150000, Version: evil, Encoding: evil, Collate: evil, CType: evil, Provider: evil, LCMonetary: evil, SystemIdentifier: evil}
	s.Settings, s.ACL = []format.DatabaseSetting{{Name: evil, Value: evil, Role: evil}}, []format.Grant{{Grantee: evil, Privilege: evil}}
	s.Locale, s.ICURules = evil, evil
	m.Options = map[string]string{evil: evil}
	m.Sequences = append(m.Sequences, format.Sequence{Schema: evil, Name: evil, LastValue: math.MinInt64})
	m.MatViews = append(m.MatViews, format.MatView{Schema: evil, Name: evil, Populated: true})
	m.Extensions = append(m.Extensions, format.Extension{Name: evil, Version: evil})
	m.ExtensionConfigs, m.Roles = []format.Name{evil}, append(m.Roles, evil)
	m.LeftOut, m.Warnings = append(m.LeftOut, format.LeftOut{Kind: evil, Schema: evil, Name: evil, Why: evil}), append(m.Warnings, evil)
	for i := range m.Tables {
		t := &m.Tables[i]
		t.Kind, t.Where, t.Root = evil, evil, &format.Table{Schema: evil, Name: evil, Kind: evil}
		t.Columns[0].Type, t.Columns[0].Identity, t.Columns[0].Collation, t.Columns[0].Cast = evil, evil, evil, ""
	}
	if len(m.Tables) > 2 {
		m.Tables[2].Schema, m.Tables[2].Name, m.Tables[1].Columns[0].Name = evil, evil, evil
	}
}

// rawManifestAttacks are documents that no manifest is.
func rawManifestAttacks() (list []attack) {
	for name, p := range map[string]string{
		"many empty tables": `{"format_version":1,"dump_id":"x","tables":[` + strings.Repeat("{},", 5_000_000) + `{}]}`,
		"deep":              strings.Repeat("[", 1_000_000),
		"deep in a key":     `{"format_version":1,"dump_id":"x","more":` + strings.Repeat(`{"a":`, 60_000),
		"no UTF-8":          "{\"format_version\":1,\"dump_id\":\"\xff\"}",
		"endless number":    `{"format_version":1e999,"dump_id":"x"}`,
		"nothing":           "",
		"null":              "null",
		"a list":            "[]",
		"spaces":            strings.Repeat(" ", 50_000_000),
	} {
		list = append(list, attack{name: name, reason: "bad manifest", forge: func(f *forged) { f.sealAs([]byte(p)) }})
	}
	return list
}

// metaAttacks are files whose own word can't be, or is not the manifest's.
func metaAttacks() (list []attack) {
	add := func(name, reason string, change func(m *format.Meta)) {
		list = append(list, attack{name: name, reason: reason, forge: func(f *forged) {
			f.meta("t", change)
			f.seal()
		}})
	}
	typeOf := func(m *format.Meta, name format.Name) *format.Type {
		for i := range m.Types {
			if m.Types[i].Name == name {
				return &m.Types[i]
			}
		}
		return &m.Types[0]
	}
	add("circle of arrays", "circle", func(m *format.Meta) {
		a, b := typeOf(m, "mood"), typeOf(m, "pos")
		a.Kind, a.Element, b.Kind, b.Element = format.KindArray, b.OID, format.KindArray, a.OID
	})
	add("domain over itself", "circle", func(m *format.Meta) { typeOf(m, "pos").Element = typeOf(m, "pos").OID })
	add("composite of itself", "circle", func(m *format.Meta) { typeOf(m, "pair").Fields[0].OID = typeOf(m, "pair").OID })
	add("deep", "nested more than", func(m *format.Meta) { nest(m, typeOf(m, "pos"), 1000) })
	add("too many types", "limit exceeded", func(m *format.Meta) { nest(m, typeOf(m, "pos"), 100_000) })
	add("type twice", "described twice", func(m *format.Meta) { m.Types = append(m.Types, m.Types[0]) })
	add("column twice", "named twice", func(m *format.Meta) { m.Columns[1].Name = m.Columns[0].Name })
	add("column carried by magic", "unknown way", func(m *format.Meta) { m.Columns[0].Carried = evil })
	add("zero byte in a label", "zero byte", func(m *format.Meta) { typeOf(m, "mood").Labels[0] = "a\x00" })
	add("long name of a type", "more than 1024", func(m *format.Meta) { typeOf(m, "mood").Name = format.Name(strings.Repeat("m", 5000)) })
	add("other dump", "dump_id", func(m *format.Meta) { m.DumpID = "00000000000000000000000000000000" })
	add("another segment", "segment", func(m *format.Meta) { m.Segment.I = 77 })
	add("other pages", "pages", func(m *format.Meta) { m.Segment.CTIDRange = &format.CTIDRange{From: 1 << 31} })
	add("generated column", "bad field count", func(m *format.Meta) { m.Columns[0].Generated = evil })
	add("evil everywhere", "dump_id", func(m *format.Meta) {
		evilMeta(m)
		m.DumpID = evil
	})
	list[len(list)-1].thorough = true
	list = append(list, attack{name: "META of one table in another's file", reason: "not as the manifest says", forge: func(f *forged) {
		p, err := os.ReadFile(f.path(fileY))
		f.check(err)
		f.put(&f.table("z").Segments[0].StoredFile, p)
		f.seal()
	}}, attack{name: "columns of the manifest are others", reason: "not as the manifest says", forge: func(f *forged) {
		f.table("y").Columns[0].TypeName = "int8"
		f.seal()
	}}, attack{name: "segments exchanged", reason: "segment in the file", forge: func(f *forged) {
		s := f.table("t").Segments
		first, err := os.ReadFile(f.path(s[0].Path))
		f.check(err)
		second, err := os.ReadFile(f.path(s[1].Path))
		f.check(err)
		f.put(&s[0].StoredFile, second)
		f.put(&s[1].StoredFile, first)
		f.seal()
	}})
	return append(append(list, wholeMetaAttacks(typeOf)...), headerAttacks()...)
}

// nest puts n levels of arrays below a type.
func nest(m *format.Meta, top *format.Type, n int) {
	first := uint32(1 << 20)
	top.Kind, top.Element = format.KindArray, first
	for i := range uint32(n) {
		m.Types = append(m.Types, format.Type{OID: first + i, Schema: "public", Name: "n", Kind: format.KindArray, Element: first + i + 1})
	}
}

// evilMeta writes evil into all that is only shown.
func evilMeta(m *format.Meta) {
	m.Tool, m.Database, m.Where, m.Table.Kind = evil, evil, evil, evil
	m.Server.Version, m.Server.Collate, m.Server.CType, m.Server.Provider = evil, evil, evil, evil
	m.Snapshot = format.Snapshot{LSN: evil, Time: evil}
	m.Columns[1].Collation, m.Columns[1].Identity, m.Columns[1].Type = evil, evil, evil
	for i := range m.Types {
		t := &m.Types[i]
		t.Extension = &format.Extension{Name: evil, Version: evil}
		if t.Kind == format.KindEnum {
			t.Labels = append(t.Labels, evil, "\xff\x9b")
		}
		for j := range t.Fields {
			t.Fields[j].Name = evil
		}
	}
	for i := range m.Samples {
		s := &m.Samples[i]
		s.Note = evil
		for j := range s.Values {
			s.Values[j].Literal, s.Values[j].Text = evil, evil
		}
	}
	m.Samples = append(m.Samples, format.Samples{OID: 1, Schema: evil, Name: evil, Note: evil})
}

// wholeMetaAttacks are well formed and agree with the manifest: only a target, which has other types, refuses them. A restore with definitions does so
// when these are made, and is left out.
func wholeMetaAttacks(typeOf func(*format.Meta, format.Name) *format.Type) (list []attack) {
	add := func(name, reason string, change func(m *format.Meta)) {
		list = append(list, attack{name: name, reason: reason, whole: true, thorough: true, skip: []string{"restore"}, forge: func(f *forged) {
			f.meta("t", change)
			f.seal()
		}})
	}
	add("evil type", "public.t.v", func(m *format.Meta) {
		m.Columns[1].Type, m.Columns[1].TypeSchema, m.Columns[1].TypeName = evil, evil, evil
	})
	add("evil column", "no such column", func(m *format.Meta) { m.Columns[1].Name = evil })
	add("evil labels and samples", "no such label", func(m *format.Meta) { evilMeta(m) })
	add("evil type of a field", "type public.pair", func(m *format.Meta) { typeOf(m, "pair").Fields[0].Name = evil })
	add("2^60 paths", "type public.pos", func(m *format.Meta) {
		top, first := typeOf(m, "pos"), uint32(1<<20)
		top.Kind, top.Element, top.Fields = format.KindComposite, 0, []format.TypeField{{Name: "a", OID: first}, {Name: "b", OID: first}}
		for i := range uint32(60) {
			m.Types = append(m.Types, format.Type{OID: first + i, Schema: "public", Name: format.Name(fmt.Sprint("n", i)), Kind: format.KindComposite, Fields: []format.TypeField{{Name: "a", OID: first + i + 1}, {Name: "b", OID: first + i + 1}}})
		}
		m.Types = append(m.Types, format.Type{OID: first + 60, Schema: "public", Name: "last", Kind: format.KindEnum})
	})
	casts := attack{name: "SQL for a cast", reason: "no cast that is known", whole: true, forge: func(f *forged) {
		f.meta("t", func(m *format.Meta) { m.Columns[5].Cast = "text)) FROM y; DROP TABLE y; --" })
		f.seal()
	}}
	sample := func(name, reason string, change func(s *format.Sample)) attack {
		return attack{name: name, reason: reason, whole: true, forge: func(f *forged) {
			for _, table := range []string{"t", "y", "z"} {
				f.meta(table, func(m *format.Meta) {
					for i := range m.Samples {
						if m.Samples[i].Name == "int4" {
							change(&m.Samples[i].Values[0])
						}
					}
				})
			}
			f.seal()
		}}
	}
	return append(list, casts,
		sample("sample that does not decode", "type int4", func(s *format.Sample) { s.Bytes = []byte{1, 2, 3} }),
		sample("sample that lies", "type int4", func(s *format.Sample) { s.Text = evil }),
		attack{name: "journal's table", reason: "schema of journals", whole: true, forge: func(f *forged) {
			f.meta("y", func(m *format.Meta) { m.Table.Schema, m.Table.Name = "pghaul_journal", "segment" })
			f.seal()
		}},
		attack{name: "evil table", reason: "DROP TABLE y", whole: true, thorough: true, forge: func(f *forged) {
			f.meta("y", func(m *format.Meta) { m.Table.Schema, m.Table.Name = evil, evil })
			f.seal()
		}},
		attack{name: "table that is no UTF-8", reason: "not valid UTF-8", whole: true, thorough: true, forge: func(f *forged) {
			f.meta("y", func(m *format.Meta) { m.Table.Name = "\xff\xfe" })
			f.seal()
		}},
	)
}

// headerAttacks are files with headers that claim what is not there.
func headerAttacks() (list []attack) {
	add := func(name, reason string, change func(p []byte) []byte) {
		list = append(list, attack{name: name, reason: reason, forge: func(f *forged) {
			p, err := os.ReadFile(f.path(fileT))
			f.check(err)
			f.put(&f.table("t").Segments[0].StoredFile, change(p))
			f.seal()
		}})
	}
	raw := func(meta string) func([]byte) []byte {
		return func([]byte) []byte { return plainFile([]byte(meta), format.Totals{}, []byte{0xff, 0xff}) }
	}
	edited := func(change func(doc map[string]any)) func([]byte) []byte {
		return func(p []byte) []byte {
			h, err := format.ReadHeader(bytes.NewReader(p))
			if err != nil {
				panic(err)
			}
			var doc map[string]any
			meta, err := json.Marshal(&h.Meta)
			if err == nil {
				err = json.Unmarshal(meta, &doc)
			}
			if err != nil {
				panic(err)
			}
			change(doc)
			if meta, err = json.Marshal(doc); err != nil {
				panic(err)
			}
			return plainFile(meta, h.Totals, nil)
		}
	}
	add("endless header", "limit exceeded", func(p []byte) []byte {
		binary.BigEndian.PutUint32(p[fixedLength-4:], math.MaxUint32)
		return p
	})
	add("header longer than the file", "truncated", func(p []byte) []byte {
		binary.BigEndian.PutUint32(p[fixedLength-4:], format.MaxHeader-100)
		return p
	})
	add("endless chunk", "bad header", func(p []byte) []byte {
		binary.BigEndian.PutUint32(p[fixedLength+4:], math.MaxUint32)
		return p
	})
	add("1665 columns", "limit exceeded", raw(`{"columns":[`+strings.Repeat(`{"name":"c","carried":"binary"},`, 1664)+`{}]}`))
	add("millions of types", "limit exceeded", raw(`{"columns":[],"types":[`+strings.Repeat("{},", 5_000_000)+`{}]}`))
	add("millions of samples", "limit exceeded", raw(`{"columns":[],"samples":[`+strings.Repeat("{},", 5_000_000)+`{}]}`))
	add("deep META", "limit exceeded", raw(strings.Repeat("[", 1_000_000)))
	add("no META", "bad header", raw(""))
	add("sample that is no base64", "bad header", edited(func(doc map[string]any) {
		doc["samples"] = []any{map[string]any{"values": []any{map[string]any{"bytes": "%%%"}}}}
	}))
	add("name that is no name", "bad header", edited(func(doc map[string]any) { doc["database"] = map[string]any{"b64": evil} }))
	add("nothing", "", func([]byte) []byte { return []byte("x") })
	add("text", "bad signature", func([]byte) []byte { return []byte("CREATE TABLE t (id int); DROP TABLE y; \x1b[31m\n") })
	return list
}

// rowAttacks are files whose rows or frames are not what they seem.
func rowAttacks() (list []attack) {
	add := func(name, reason string, file func(meta []byte, totals format.Totals, rows []byte) []byte) {
		list = append(list, attack{name: name, reason: reason, forge: func(f *forged) {
			h, rows := f.taken(fileT)
			f.put(&f.table("t").Segments[0].StoredFile, file(metaJSON(f.t, &h.Meta), h.Totals, rows))
			f.seal()
		}})
	}
	frame := func(name, reason string, frame []byte, raw int) {
		add(name, reason, func(meta []byte, totals format.Totals, _ []byte) []byte {
			return zstdFile(meta, totals, [][]byte{frame}, []int{raw})
		})
	}
	const single, windowed = 0xE4, 0xC4 // content size in 8 bytes, checksum; with and without a window
	frame("bomb that claims little", "bad frame", bomb(1000, 8000, single, 0), 1000)
	frame("bomb of 64 MiB", fileT, bomb(64<<20, 512, single, 0), 64<<20)
	frame("bomb of a GiB", "not a single row", bomb(1<<30, 8192, windowed, 0x68), 1<<30)
	frame("bomb that claims 2^63", "limit exceeded", bomb(1<<63, 10, single, 0), 1<<30)
	frame("bomb of many blocks", "bad frame", bomb(64<<20, 1_000_000, single, 0), 64<<20)
	frame("claims more than it has", "bad frame", bomb(64<<20, 1, single, 0), 64<<20)
	frame("huge window", "a window of", bomb(1<<20, 8, windowed, 0xff), 1<<20)
	frame("huge single segment", "single segment", bomb(1<<30, 8192, single, 0), 1<<30)
	frame("no content size", "does not say how much", bomb(1<<20, 8, 0x04, 0x58), 1<<20)
	frame("dictionary", "dictionary", bomb(1<<20, 8, single|1, 0), 1<<20)
	skippable := append([]byte{0x50, 0x2a, 0x4d, 0x18, 8, 0, 0, 0}, []byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}...)
	add("skippable frames", "magic number", func(meta []byte, totals format.Totals, _ []byte) []byte {
		return zstdFile(meta, totals, [][]byte{bytes.Repeat(skippable, 100_000)}, []int{-1})
	})
	add("endless skippable frame", "magic number", func(meta []byte, totals format.Totals, _ []byte) []byte {
		return zstdFile(meta, totals, [][]byte{{0x51, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff}}, []int{-1})
	})
	rows := func(name, reason string, change func(rows []byte) []byte) {
		add(name, reason, func(meta []byte, totals format.Totals, rows []byte) []byte {
			return plainFile(meta, totals, change(rows))
		})
	}
	field := func(length uint32) func([]byte) []byte {
		return func(rows []byte) []byte {
			binary.BigEndian.PutUint32(rows[2:], length)
			return rows
		}
	}
	rows("field of 2 GiB", "bad field length", field(math.MaxInt32))
	rows("field of a GiB that is not there", "truncated", field(1<<30-1-100))
	rows("negative field", "bad field length", field(math.MaxUint32-1))
	rows("32,767 fields", "bad field count", func(rows []byte) []byte { return append([]byte{0x7f, 0xff}, rows[2:]...) })
	rows("negative fields", "bad field count", func(rows []byte) []byte { return append([]byte{0x80, 0}, rows[2:]...) })
	rows("no trailer", "truncated", func(rows []byte) []byte { return rows[:len(rows)-2] })
	rows("more behind the trailer", "trailing", func(rows []byte) []byte { return append(rows, 0) })
	rows("rows that lie", "totals mismatch", func(rows []byte) []byte {
		rows[9] ^= 1
		return rows
	})
	rows("no rows", "totals mismatch", func([]byte) []byte { return []byte{0xff, 0xff} })
	return list
}

// archiveAttacks put another archive in the place of the dump's. Restores without definitions do not read it.
func archiveAttacks(t *testing.T, b *battlefield) (list []attack) {
	t.Helper()
	add := func(name, reason string, archive []byte) {
		list = append(list, attack{name: name, reason: reason, whole: true, skip: []string{"data-only", "against"}, forge: func(f *forged) {
			f.put(f.m.Schema, archive)
			f.seal()
		}})
	}
	other := pgtest.DB(t, `CREATE TABLE y (id int, v text); CREATE FUNCTION boom() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE TABLE "t`+"\x1b[31m\u009b\n; DROP TABLE y"+`" (a int)`)
	pgDump := func(args ...string) []byte {
		c := exec.Command(filepath.Join(pgtest.Cluster(t).BinDir(), "pg_dump"), append(args, "-d", other)...)
		var stderr bytes.Buffer
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("pg_dump: %v: %s", err, stderr.Bytes())
		}
		return out
	}
	custom := pgDump("-Fc")
	add("another archive", "does not define it", custom)
	add("plain SQL", format.SchemaName, pgDump("-Fp"))
	add("tar", "does not define it", pgDump("-Ft"))
	add("cut archive", format.SchemaName, custom[:len(custom)/4])
	add("garbage", format.SchemaName, []byte("PGDMP\x01\x0e\x00\x04\x08\x01"+strings.Repeat("\xff", 10_000)))
	add("commands of psql", format.SchemaName, []byte("\\! touch /tmp/pghaul-was-here\nDROP TABLE y;\n"))
	return list
}
