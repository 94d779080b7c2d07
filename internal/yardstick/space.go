package yardstick

import (
	"fmt"
	"strings"

	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/show"
)

// need is how many bytes a benchmark will write, about.
type need struct {
	tables int64 // that stand on the server at the same time
	wal    int64 // in all, which the server recycles
	files  int64 // that stand in the folder at the same time
}

// needs estimates from the sizes of rows.
func (b *bench) needs() need {
	var heap, rows, largest int64
	for _, s := range b.subjects {
		heap += s.rows * s.heapBytes
		rows += s.rows * s.rowBytes
		largest = max(largest, s.rows*s.heapBytes)
	}
	rounds := int64(b.o.Rounds + 1)
	loads, dumps := int64(7), int64(2) // a round: two stages and their index, the server's own copy, two restores, a migrate; dumps that stand at a time
	if b.o.Peers {
		loads, dumps = 11, 5
	}
	const fixed = 256 << 20 // databases and batches
	return need{tables: 2*heap + 2*largest + fixed, wal: heap*(1+rounds*loads) + fixed, files: rows*(1+dumps) + b.diskBytes()}
}

// announce says what will be written, before anything is.
func (b *bench) announce() error {
	if err := b.name(); err != nil {
		return err
	}
	n := b.needs()
	b.say("will write up to %s of tables at a time and about %s of WAL in all on %s, in the scratch databases %s and %s, and up to %s of files in %s; all is removed at the end",
		show.Size(n.tables), show.Size(n.wal), b.o.DSN, b.scratch.names[0], b.scratch.names[1], show.Size(n.files), b.scratch.dir)
	return nil
}

// space refuses a disk that is too full, where its free space can be seen: ours, and the server's when it runs on this machine.
func (b *bench) space(k pg.Capacity) error {
	n := b.needs()
	if free, ok := freeBytes(b.o.Dir); ok && free < n.files {
		return noSpace(b.o.Dir, free, n.files, "--dir")
	}
	if strings.HasPrefix(b.o.DSN.Config.Host, "/") && k.DataDirectory != "" {
		if free, ok := freeBytes(k.DataDirectory); ok {
			if free < n.tables {
				return noSpace(k.DataDirectory, free, n.tables, "a tablespace")
			}
			return nil
		}
	}
	b.say("the server's free space cannot be seen from here; it needs %s", show.Size(n.tables))
	return nil
}

func noSpace(dir string, free, needed int64, elsewhere string) error {
	return hint.With(fmt.Errorf("%s has %s free, and the benchmark needs %s", show.Text(dir), show.Size(free), show.Size(needed)),
		"make room, use a smaller --scale or fewer --tables, or another place: "+elsewhere)
}
