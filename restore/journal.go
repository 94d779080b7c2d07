package restore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// journal says, in the target itself, what of a restore is done: a segment's row is written in the transaction that loads it, so
// that each is loaded exactly once whatever dies when. Rows of unlogged tables are gone after a crash, so their segments are noted
// in an unlogged table, which is empty then too.
type journal struct {
	schema   string
	dumpID   string
	snapshot string // of a live origin, whose rows are in the tables
	live     bool   // what a segment holds is known only when it is in

	phases   map[string]bool           // finished
	begun    map[string]bool           // by an earlier run
	segments map[string]journalSegment // by segmentKey
	filled   map[string]bool           // quoted names of the tables that hold rows

	sequencesKept bool // no crash has put unlogged sequences back since they were set

	gaps   []journalGap
	choice string
}

// journalSegment is a segment that is in; its totals are known from a live origin alone.
type journalSegment struct {
	target, path string
	totals       format.Totals
}

// journalGap is something that could not be made, for another try.
type journalGap struct {
	Phase string
	Entry int // of the archive; 0: none
	Gap
}

// phaseTruncate is noted as a phase of its own, in the transaction that empties the tables.
const phaseTruncate = "truncate"

func newJournal(schema, dumpID string) *journal {
	return &journal{schema: schema, dumpID: dumpID, phases: map[string]bool{}, begun: map[string]bool{}, segments: map[string]journalSegment{}, filled: map[string]bool{}}
}

func (j *journal) table(name string) string {
	return pg.QuoteName(format.Name(j.schema), format.Name(name))
}

func segmentKey(target pg.Qualified, path string) string { return target.SQL() + " " + path }

// journalTables are the relations that a journal is made of.
var journalTables = []string{"restore", "phase", "segment", "segment_unlogged", "gap"}

// journalState is what the target has in the place of the journal.
type journalState int

const (
	journalNone    journalState = iota
	journalForeign              // a schema of that name which is no journal
	journalOther                // of another dump
	journalOurs
)

// read looks what is there, and takes it over if it is of the same dump. otherID is the dump of another one's journal.
func (j *journal) read(ctx context.Context, c *pg.Conn) (state journalState, otherID string, err error) {
	exists, err := c.SchemaExists(ctx, format.Name(j.schema))
	if err != nil || !exists {
		return journalNone, "", err
	}
	names := make([]pg.Qualified, len(journalTables))
	for i, t := range journalTables {
		names[i] = pg.Qualified{Schema: format.Name(j.schema), Name: format.Name(t)}
	}
	found, err := c.Targets(ctx, names)
	if err != nil {
		return journalNone, "", err
	}
	if len(found) != len(journalTables) {
		return journalForeign, "", nil
	}
	if err := c.QueryRow(ctx, `SELECT dump_id, choice, coalesce(pg_catalog.to_jsonb(r) ->> 'snapshot', '') FROM `+j.table("restore")+` r`).Scan(&otherID, &j.choice, &j.snapshot); err != nil {
		return journalForeign, "", pg.Wrap(err, "journal %s", j.schema)
	}
	if otherID != j.dumpID {
		return journalOther, otherID, nil
	}
	return journalOurs, otherID, j.readRows(ctx, c)
}

func (j *journal) readRows(ctx context.Context, c *pg.Conn) error {
	var name string
	var finished bool
	rows, err := c.Query(ctx, `SELECT name, finished IS NOT NULL FROM `+j.table("phase"))
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&name, &finished}, func() error { j.phases[name], j.begun[name] = finished, true; return nil })
	}
	if err != nil {
		return pg.Wrap(err, "journal of phases")
	}
	if err := j.readSegments(ctx, c); err != nil {
		return err
	}
	_, j.sequencesKept = j.segments[" "+PhaseSequences]
	rows, err = c.Query(ctx, `SELECT phase, entry, kind, name, sqlstate, message FROM `+j.table("gap")+` ORDER BY n`)
	if err != nil {
		return pg.Wrap(err, "journal of gaps")
	}
	j.gaps, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (g journalGap, err error) {
		return g, r.Scan(&g.Phase, &g.Entry, &g.Kind, &g.Name, &g.SQLState, &g.Message)
	})
	return pg.Wrap(err, "journal of gaps")
}

// readSegments reads which segments are in, at this moment.
func (j *journal) readSegments(ctx context.Context, c *pg.Conn) error {
	totals := "0::int8, 0::int8, ''"
	if j.live {
		totals = "rows, coalesce(bytes, 0), coalesce(row_digest, '')"
	}
	sql := "SELECT target, segment, " + totals + " FROM "
	j.segments, j.filled = map[string]journalSegment{}, map[string]bool{}
	var s journalSegment
	var digest string
	rows, err := c.Query(ctx, sql+j.table("segment")+" UNION ALL "+sql+j.table("segment_unlogged"))
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&s.target, &s.path, &s.totals.Rows, &s.totals.Length, &digest}, func() (err error) {
			if digest != "" {
				if s.totals.Digest, err = format.ParseRowDigest(digest); err != nil {
					return err
				}
			}
			j.segments[s.target+" "+s.path], j.filled[s.target] = s, true
			return nil
		})
	}
	return pg.Wrap(err, "journal of segments")
}

// begin makes the journal.
func (j *journal) begin(ctx context.Context, c *pg.Conn, choice string) error {
	segment := `(dump_id text NOT NULL, target text NOT NULL, segment text NOT NULL, rows int8 NOT NULL, bytes int8, row_digest text,
 loaded timestamptz NOT NULL DEFAULT pg_catalog.now(), PRIMARY KEY (dump_id, target, segment))`
	err := c.Exec(ctx, `BEGIN; CREATE SCHEMA `+pg.QuoteIdent(j.schema)+`;
COMMENT ON SCHEMA `+pg.QuoteIdent(j.schema)+` IS 'journal of an unfinished restore by pghaul';
CREATE TABLE `+j.table("restore")+` (dump_id text PRIMARY KEY, choice text NOT NULL, snapshot text NOT NULL, started timestamptz NOT NULL DEFAULT pg_catalog.now());
CREATE TABLE `+j.table("phase")+` (name text PRIMARY KEY, begun timestamptz NOT NULL DEFAULT pg_catalog.now(), finished timestamptz);
CREATE TABLE `+j.table("segment")+` `+segment+`;
CREATE UNLOGGED TABLE `+j.table("segment_unlogged")+` `+segment+`;
CREATE TABLE `+j.table("gap")+` (n int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, phase text NOT NULL, entry int4 NOT NULL, kind text NOT NULL, name text NOT NULL,
 sqlstate text NOT NULL, message text NOT NULL);
INSERT INTO `+j.table("restore")+` VALUES (`+c.TextLiteral(j.dumpID)+`, `+c.TextLiteral(choice)+`, `+c.TextLiteral(j.snapshot)+`); COMMIT`)
	if err != nil {
		_ = c.Exec(ctx, "ROLLBACK") // the first error is the one to tell
	}
	return pg.Wrap(err, "journal schema %q", j.schema)
}

// phaseSQL notes that a phase is done.
func (j *journal) phaseSQL(c *pg.Conn, phase string) string {
	return `INSERT INTO ` + j.table("phase") + ` (name, finished) VALUES (` + c.TextLiteral(phase) + `, pg_catalog.now()) ON CONFLICT (name) DO UPDATE SET finished = excluded.finished`
}

// start notes that a phase has begun: what it finds in its way may be its own from then on.
func (j *journal) start(ctx context.Context, c *pg.Conn, phase string) error {
	return pg.Wrap(c.Exec(ctx, `INSERT INTO `+j.table("phase")+` (name) VALUES (`+c.TextLiteral(phase)+`) ON CONFLICT (name) DO NOTHING`), "journal of phase %s", phase)
}

// finish notes that a phase is done, and what it could not make, in one transaction.
func (j *journal) finish(ctx context.Context, c *pg.Conn, phase string, gaps []journalGap) error {
	var sql strings.Builder
	sql.WriteString("BEGIN; DELETE FROM " + j.table("gap") + " WHERE phase = " + c.TextLiteral(phase) + "; ")
	for _, g := range gaps {
		fmt.Fprintf(&sql, "INSERT INTO %s (phase, entry, kind, name, sqlstate, message) VALUES (%s, %d, %s, %s, %s, %s); ", j.table("gap"),
			c.TextLiteral(phase), g.Entry, c.TextLiteral(g.Kind), c.TextLiteral(g.Name), c.TextLiteral(g.SQLState), c.TextLiteral(g.Message))
	}
	if phase == PhaseSequences { // gone after a crash, like the state of unlogged sequences
		fmt.Fprintf(&sql, "INSERT INTO %s (dump_id, target, segment, rows) VALUES (%s, '', %s, 0) ON CONFLICT DO NOTHING; ", j.table("segment_unlogged"), c.TextLiteral(j.dumpID), c.TextLiteral(phase))
	}
	err := c.Exec(ctx, sql.String()+j.phaseSQL(c, phase)+"; COMMIT")
	if err != nil {
		_ = c.Exec(ctx, "ROLLBACK") // the first error is the one to tell
		return pg.Wrap(err, "journal of phase %s", phase)
	}
	j.phases[phase] = true
	return nil
}

// segmentSQL notes a segment; 23505 says that it is loaded already. From a live origin it notes nothing when another run has taken the journal over,
// and keeps others from doing so until the transaction's end.
func (j *journal) segmentSQL(c *pg.Conn, t *loadTable, seg *format.ManifestSegment) string {
	if j.live {
		return fmt.Sprintf("INSERT INTO %s (dump_id, target, segment, rows) SELECT dump_id, %s, %s, 0 FROM %s WHERE dump_id = %s AND snapshot = %s FOR SHARE", j.segmentTable(t),
			c.TextLiteral(t.into.SQL()), c.TextLiteral(seg.Path), j.table("restore"), c.TextLiteral(j.dumpID), c.TextLiteral(j.snapshot))
	}
	return fmt.Sprintf("INSERT INTO %s (dump_id, target, segment, rows) VALUES (%s, %s, %s, %d)", j.segmentTable(t),
		c.TextLiteral(j.dumpID), c.TextLiteral(t.into.SQL()), c.TextLiteral(seg.Path), seg.Rows)
}

// noteEmpty notes segments without rows, all of them or none. One that is noted already may be among them.
func (j *journal) noteEmpty(ctx context.Context, c *pg.Conn, list []emptySegment) error {
	values := map[string][]string{} // by the journal's table
	for _, e := range list {
		into := j.segmentTable(e.table)
		values[into] = append(values[into], fmt.Sprintf("(%s, %s, %s, 0)", c.TextLiteral(j.dumpID), c.TextLiteral(e.table.into.SQL()), c.TextLiteral(e.segment().Path)))
	}
	sql := "BEGIN"
	for into, rows := range values {
		sql += "; INSERT INTO " + into + " (dump_id, target, segment, rows) VALUES " + strings.Join(rows, ", ") + " ON CONFLICT DO NOTHING"
	}
	err := c.Exec(ctx, sql+"; COMMIT")
	if err != nil && !c.IsClosed() {
		_ = c.Exec(ctx, "ROLLBACK") // the first error is the one to tell
	}
	return pg.Wrap(err, "journal of segments")
}

// totalsSQL notes what a segment from a live origin holds.
func (j *journal) totalsSQL(c *pg.Conn, t *loadTable, seg *format.ManifestSegment) string {
	return fmt.Sprintf("UPDATE %s SET rows = %d, bytes = %d, row_digest = %s WHERE dump_id = %s AND target = %s AND segment = %s", j.segmentTable(t),
		seg.Rows, seg.RawBytes, c.TextLiteral(seg.RowDigest), c.TextLiteral(j.dumpID), c.TextLiteral(t.into.SQL()), c.TextLiteral(seg.Path))
}

func (j *journal) segmentTable(t *loadTable) string {
	if t.target.Persistence == 'u' || t.entry.Unlogged {
		return j.table("segment_unlogged")
	}
	return j.table("segment")
}

// hasSegment asks the target whether a segment is loaded: after a commit whose answer was lost.
func (j *journal) hasSegment(ctx context.Context, c *pg.Conn, t *loadTable, seg *format.ManifestSegment) (yes bool, err error) {
	err = c.QueryRow(ctx, fmt.Sprintf("SELECT EXISTS (SELECT FROM %s WHERE dump_id = %s AND target = %s AND segment = %s)", j.segmentTable(t),
		c.TextLiteral(j.dumpID), c.TextLiteral(t.into.SQL()), c.TextLiteral(seg.Path))).Scan(&yes)
	return yes, pg.Wrap(err, "journal of segments")
}

// done tells whether a segment was loaded when the journal was read.
func (j *journal) done(t *loadTable, seg *format.ManifestSegment) bool {
	if j == nil {
		return false
	}
	_, done := j.segments[segmentKey(t.into, seg.Path)]
	return done
}

// drop removes the journal of a complete restore.
func (j *journal) drop(ctx context.Context, c *pg.Conn) error {
	return pg.Wrap(c.Exec(ctx, `SET client_min_messages = error; DROP SCHEMA `+pg.QuoteIdent(j.schema)+` CASCADE`), "end of journal %q", j.schema)
}
