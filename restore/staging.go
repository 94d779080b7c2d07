package restore

import (
	"context"
	"fmt"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// stagingTable takes rows that cannot go straight into their table: some of their columns are text, or are to be cast by the server, or the table
// belongs to an extension, which may have made some of the rows already. Its columns are c1, c2, … in the order of the file.
const stagingTable = "pg_temp.pghaul_stage"

// staging is how the rows of a table go through the staging table, in the session's encoding.
type staging struct {
	create, insert string
}

// throughStaging tells whether the rows of a table take the way through the staging table.
func (t *loadTable) throughStaging() bool { return t.staged || t.config() }

// newStaging writes the statements. table and columns are quoted.
func newStaging(ctx context.Context, c *pg.Conn, t *loadTable, table string, columns []string) (*staging, error) {
	defs, values, err := stagedColumns(ctx, c, t, false)
	if err != nil {
		return nil, err
	}
	s := &staging{
		create: createStage(defs),
		insert: "INSERT INTO " + table + listOf(columns) + " OVERRIDING SYSTEM VALUE SELECT " + strings.Join(values, ", ") + " FROM " + stagingTable,
	}
	if t.config() {
		s.insert += " ON CONFLICT DO NOTHING" // what CREATE EXTENSION has made stays as it is
	}
	return s, nil
}

// createStage makes the staging table.
func createStage(defs []string) string {
	return "CREATE TEMP TABLE pghaul_stage (" + strings.Join(defs, ", ") + ") ON COMMIT DROP"
}

// stagedColumns gives the staging table's columns with their types, and the expressions that make the table's values out of them. Columns that need no
// expression have the target's modifiers with typmods alone: else the INSERT applies them.
func stagedColumns(ctx context.Context, c *pg.Conn, t *loadTable, typmods bool) (defs, values []string, err error) {
	types := t.sourceTypes()
	for i, f := range t.sentColumns() {
		name := fmt.Sprintf("c%d", i+1)
		target, err := c.TypeSQL(ctx, f.target.OID, f.target.Typmod)
		if err != nil {
			return nil, nil, err
		}
		def, value := "", name
		array := types.IsArray(f.column.OID)
		switch text := f.column.Carried == format.CarriedText; {
		case text && !f.cast:
			def, value = "pg_catalog.text", pg.InSQL(name, f.column.Cast, target, array)
		case f.cast:
			source, err := c.TypeSQL(ctx, f.stageOID, -1)
			if err != nil {
				return nil, nil, err
			}
			def, value = source, "("+name+")::"+target
			if text {
				def, value = "pg_catalog.text", "("+pg.InSQL(name, f.column.Cast, source, array)+")::"+target
			}
		case typmods:
			def = target
		default:
			if def, err = c.TypeSQL(ctx, f.target.OID, -1); err != nil {
				return nil, nil, err
			}
		}
		defs, values = append(defs, name+" "+def), append(values, value)
	}
	return defs, values, nil
}

// unstage puts the rows of the staging table into their own.
func (w *worker) unstage(ctx context.Context, t *loadTable, staged int64) error {
	n, err := w.conn.ExecTag(ctx, w.staging.insert)
	if err != nil {
		return pg.Wrap(err, "from the staging table")
	}
	kept := staged - n
	switch {
	case kept > 0 && t.config():
		w.logf("table %s: %d of %d rows were there already", t.name, kept, staged)
	case kept != 0:
		return fmt.Errorf("%d of %d staged rows arrived: a trigger or a rule has kept the others out", n, staged)
	}
	return nil
}

// checkStaging looks for what would keep a staged load from being a true one.
func (j *job) checkStaging(ctx context.Context, f *findings, t *loadTable, types *targetTypes) (err error) {
	name := t.into.String()
	if types.rules == nil {
		if types.rules, err = j.leader.InsertRules(ctx, types.oids); err != nil {
			return err
		}
	}
	for _, rule := range types.rules[t.target.OID] {
		f.bad(name, "goes through a staging table", "rule "+string(rule)+" would rewrite the INSERT", "ALTER TABLE … DISABLE RULE for the time of the restore")
	}
	if types.noTemp == nil {
		temp, err := j.leader.MayTemp(ctx)
		if err != nil {
			return err
		}
		types.noTemp = new(!temp)
	}
	if *types.noTemp {
		f.once("database "+j.o.DSN.Config.Database, "tables go through a staging table", "the role may not make temporary tables", "GRANT TEMPORARY ON DATABASE")
	}
	return nil
}

// checkCast asks the target whether it has the cast that a column needs.
func (j *job) checkCast(ctx context.Context, c *fit, types *targetTypes) error {
	twin := types.byName[pg.Qualified{Schema: c.column.TypeSchema, Name: c.column.TypeName}]
	if twin == nil {
		c.cannotCast("no such type to cast from")
		return nil
	}
	c.stageOID = twin.OID
	from, err := j.leader.TypeSQL(ctx, twin.OID, -1)
	if err != nil {
		return err
	}
	to, err := j.leader.TypeSQL(ctx, c.target.OID, c.target.Typmod)
	if err != nil {
		return err
	}
	ok, why, err := j.leader.TryCast(ctx, from, to)
	if err == nil && !ok {
		c.cannotCast(why)
	}
	return err
}

// cannotCast refuses a column whose type the server has no cast from.
func (f *fit) cannotCast(why string) {
	f.verdict, f.cast, f.note, f.hint = NoFit, false, "type "+f.target.Type+": "+why, "change the type of the target's column"
}
