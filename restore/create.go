package restore

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// create makes the target's database as the source's was, and connects to it.
func (j *job) create(ctx context.Context, f *findings) error {
	name := j.o.DSN.Config.Database
	if made, err := j.createDatabase(ctx, f, name); err != nil {
		return err
	} else if !made {
		return f.refused()
	}
	j.created = true
	j.logf("database %q made", name)
	j.databaseProperties(ctx)
	closeConn(j.leader)
	j.leader = nil
	if err := j.connectTarget(ctx); err != nil {
		return err
	}
	if err := j.checkBuiltinSamples(ctx, f); err != nil {
		return err
	}
	if err := f.refused(); err != nil {
		f.warn("database "+name, "", "was made, and is empty", "drop it")
		return &Refused{Phase: phaseA, Findings: f.list}
	}
	return nil
}

// createDatabase makes a database with the source's encoding and locale. What the server has against it is a finding.
func (j *job) createDatabase(ctx context.Context, f *findings, name string) (made bool, err error) {
	source := j.m.Source.Server
	sql := "CREATE DATABASE " + pg.QuoteIdent(name) + " TEMPLATE template0"
	if source.Encoding != "" {
		sql += " ENCODING " + pg.QuoteLiteral(source.Encoding)
	}
	for word, locale := range map[string]string{" LC_COLLATE ": source.Collate, " LC_CTYPE ": source.CType} {
		if locale != "" {
			sql += word + pg.QuoteLiteral(locale)
		}
	}
	sql += j.providerSQL(f, name)
	if space := j.m.Source.Tablespace; space != "" && !j.o.NoTablespaces {
		there, err := j.leader.TablespaceExists(ctx, space)
		switch {
		case err != nil:
			return false, err
		case there:
			sql += " TABLESPACE " + pg.QuoteIdent(space)
		default:
			f.warn("database "+name, "in tablespace "+string(space), "no such tablespace: it goes into the default one", "make the tablespace first, or say --no-tablespaces")
		}
	}
	if err := j.leader.Exec(ctx, sql); err != nil {
		f.bad("database "+name, fmt.Sprintf("encoding %s, collate %s, ctype %s", source.Encoding, source.Collate, source.CType), pg.Wrap(err, "CREATE DATABASE").Error(),
			"install the locale on the target server, or make the database by hand and leave out --create")
		if pg.State(err) == "" || ctx.Err() != nil {
			return false, err
		}
		return false, nil
	}
	return true, nil
}

// providerSQL is what CREATE DATABASE says of the provider of its locale. Where the target has none such, or the dump does not name its locale, it
// is the C library.
func (j *job) providerSQL(f *findings, name string) string {
	source := &j.m.Source
	version := j.leader.Version
	switch {
	case source.Server.Provider == "icu" && source.Locale != "" && version >= 150000:
		sql := " LOCALE_PROVIDER icu ICU_LOCALE " + pg.QuoteLiteral(source.Locale)
		if source.ICURules != "" && version >= 160000 {
			sql += " ICU_RULES " + pg.QuoteLiteral(source.ICURules)
		}
		return sql
	case source.Server.Provider == "builtin" && source.Locale != "" && version >= 170000:
		return " LOCALE_PROVIDER builtin BUILTIN_LOCALE " + pg.QuoteLiteral(source.Locale)
	case source.Server.Provider != "" && source.Server.Provider != "libc":
		f.warn("database "+name, "locale provider "+source.Server.Provider, "locale provider libc", "make the database by hand to have another one")
	}
	if version >= 150000 {
		return " LOCALE_PROVIDER libc"
	}
	return ""
}

// databaseProperties sets what ALTER DATABASE, GRANT and COMMENT ON DATABASE have set at the source. What can't be set is a gap.
func (j *job) databaseProperties(ctx context.Context) {
	name := j.o.DSN.Config.Database
	run := func(kind, what, sql string) {
		if err := j.leader.Exec(ctx, sql); err != nil {
			j.gap(0, Gap{Kind: kind, Name: name, SQLState: pg.State(err), Message: pg.Wrap(err, "%s", what).Error()})
		}
	}
	for _, s := range j.m.Source.Settings {
		sql, err := settingSQL(name, s)
		if err != nil {
			j.gap(0, Gap{Kind: "DATABASE PROPERTIES", Name: name, Message: err.Error()})
			continue
		}
		run("DATABASE PROPERTIES", "setting "+s.Name, sql)
	}
	if limit := j.m.Source.ConnectionLimit; limit != nil {
		run("DATABASE PROPERTIES", "connection limit", fmt.Sprintf("ALTER DATABASE %s CONNECTION LIMIT %d", pg.QuoteIdent(name), *limit))
	}
	if j.m.Source.Template {
		run("DATABASE PROPERTIES", "template", "ALTER DATABASE "+pg.QuoteIdent(name)+" IS_TEMPLATE true")
	}
	for _, l := range j.m.Source.Labels {
		run("SECURITY LABEL", "security label of "+string(l.Provider), "SECURITY LABEL FOR "+pg.QuoteIdent(l.Provider)+" ON DATABASE "+pg.QuoteIdent(name)+" IS "+pg.QuoteLiteral(string(l.Label)))
	}
	if comment := j.m.Source.Comment; comment != "" && !j.o.NoComments {
		run("COMMENT", "comment", "COMMENT ON DATABASE "+pg.QuoteIdent(name)+" IS "+pg.QuoteLiteral(string(comment)))
	}
	if owner := j.m.Source.Owner; owner != "" && !j.o.NoOwner {
		run("DATABASE", "owner "+string(owner), "ALTER DATABASE "+pg.QuoteIdent(name)+" OWNER TO "+pg.QuoteIdent(owner))
	}
	if len(j.m.Source.ACL) == 0 || j.o.NoPrivileges {
		return
	}
	run("ACL", "REVOKE", "REVOKE ALL ON DATABASE "+pg.QuoteIdent(name)+" FROM PUBLIC")
	for _, g := range j.m.Source.ACL {
		sql, err := grantSQL(name, g)
		if err != nil {
			j.gap(0, Gap{Kind: "ACL", Name: name, Message: err.Error()})
			continue
		}
		run("ACL", "GRANT to "+string(g.Grantee), sql)
	}
}

var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)*$`)

// listSettings hold lists of names that are quoted one by one: variable_is_guc_list_quote in src/bin/pg_dump/dumputils.c.
var listSettings = []string{"local_preload_libraries", "search_path", "session_preload_libraries", "shared_preload_libraries", "temp_tablespaces", "unix_socket_directories"}

// settingSQL writes an ALTER DATABASE … SET, or for a role ALTER ROLE … IN DATABASE … SET, as makeAlterConfigCommand in src/bin/pg_dump/dumputils.c does.
func settingSQL(database string, s format.DatabaseSetting) (string, error) {
	if !settingName.MatchString(s.Name) {
		return "", fmt.Errorf("setting %q is not a name", s.Name)
	}
	value := pg.QuoteLiteral(s.Value)
	if slices.Contains(listSettings, strings.ToLower(s.Name)) {
		list, err := splitList(s.Value)
		if err != nil {
			return "", fmt.Errorf("setting %s: %w", s.Name, err)
		}
		for i := range list {
			list[i] = pg.QuoteLiteral(list[i])
		}
		value = strings.Join(list, ", ")
		if len(list) == 0 {
			value = "''"
		}
	}
	parts := strings.Split(s.Name, ".")
	for i := range parts {
		parts[i] = pg.QuoteIdent(parts[i])
	}
	what := "DATABASE " + pg.QuoteIdent(database)
	if s.Role != "" {
		what = "ROLE " + pg.QuoteIdent(s.Role) + " IN " + what
	}
	return "ALTER " + what + " SET " + strings.Join(parts, ".") + " TO " + value, nil
}

// splitList takes a list of names apart, some of them in double quotes, as SplitGUCList in src/fe_utils does.
func splitList(s string) (list []string, err error) {
	rest := strings.TrimSpace(s)
	for rest != "" {
		var name string
		if strings.HasPrefix(rest, `"`) {
			var b strings.Builder
			i := 1
			for {
				end := strings.IndexByte(rest[i:], '"')
				if end < 0 {
					return nil, fmt.Errorf("unterminated double quote in %q", s)
				}
				b.WriteString(rest[i : i+end])
				i += end + 1
				if i >= len(rest) || rest[i] != '"' {
					break
				}
				b.WriteByte('"')
				i++
			}
			name, rest = b.String(), strings.TrimSpace(rest[i:])
		} else {
			end := strings.IndexByte(rest, ',')
			if end < 0 {
				end = len(rest)
			}
			name, rest = strings.TrimSpace(rest[:end]), rest[end:]
		}
		list = append(list, name)
		if rest == "" {
			break
		}
		if rest[0] != ',' {
			return nil, fmt.Errorf("no comma behind %q in %q", name, s)
		}
		if rest = strings.TrimSpace(rest[1:]); rest == "" {
			return nil, fmt.Errorf("nothing behind the last comma in %q", s)
		}
	}
	return list, nil
}

// databasePrivileges are the only words that a dump may put into a GRANT.
var databasePrivileges = []string{"CREATE", "CONNECT", "TEMPORARY"}

func grantSQL(database string, g format.Grant) (string, error) {
	if !slices.Contains(databasePrivileges, g.Privilege) {
		return "", fmt.Errorf("%q is no privilege on a database", g.Privilege)
	}
	to := "PUBLIC"
	if g.Grantee != "" {
		to = pg.QuoteIdent(g.Grantee)
	}
	sql := "GRANT " + g.Privilege + " ON DATABASE " + pg.QuoteIdent(database) + " TO " + to
	if g.Grantable {
		sql += " WITH GRANT OPTION"
	}
	return sql, nil
}
