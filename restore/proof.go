package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/convert"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pipeline"
	"github.com/bytehaul/pghaul/internal/progress"
)

// textForms is why a digest over text may differ although the values are equal.
const textForms = "all rows are there, but columns carried as text have another form on this server"

// encodedForms is another reason: an array of hstore, for one, is sent with lengths that do not fit when the session speaks another encoding than the database.
const encodedForms = "all rows are there, but values of extension types have other bytes in a database of another encoding"

// proofGroup is what one reading proves: a table, or a partition tree into whose root rows were loaded.
type proofGroup struct {
	name   pg.Qualified
	target *pg.Target
	tables []*loadTable
	want   format.Totals
	readBack
}

// proof reads every table back, in one snapshot, and compares rows and digest with the dump's. Nothing else has happened to the tables yet:
// no trigger is there, and no user.
func (j *job) proof(ctx context.Context) error {
	groups, err := j.proofGroups(ctx)
	if err != nil || len(groups) == 0 {
		return err
	}
	server, err := j.leader.Server(ctx)
	if err != nil {
		return err
	}
	j.monetary = server.LCMonetary
	p := &proving{job: j, mismatches: make([]error, len(groups)), unproven: make([]string, len(groups))}
	if p.readings, err = j.cutReadings(ctx, groups); err != nil {
		return err
	}
	var release func()
	if p.snapshot, release, err = j.holdSnapshot(ctx, p.readings); err != nil {
		return err
	}
	defer release()
	if err := j.crew(ctx, len(p.readings), p.work); err != nil {
		return err
	}
	j.sum.Proven += int(p.proven.Load())
	j.sum.Unproven = append(j.sum.Unproven, slices.DeleteFunc(p.unproven, func(s string) bool { return s == "" })...)
	if err := errors.Join(p.mismatches...); err != nil {
		return withHint(err, "the target does not hold the dumped rows: empty the named tables and restore them again")
	}
	return nil
}

// holdSnapshot exports a snapshot of the target for readers to share. Until release it is held by a session of its own, and with it a lock on each table that is read
// in parts: else VACUUM FULL could move rows to other pages while nobody reads, between two of them.
func (j *job) holdSnapshot(ctx context.Context, readings []reading) (snapshot string, release func(), err error) {
	holder, err := j.connectData(ctx)
	if err != nil {
		return "", nil, err
	}
	if snapshot, err = holder.ExportSnapshot(ctx); err == nil {
		err = lockParts(ctx, holder, readings)
	}
	if err != nil {
		closeConn(holder)
		return "", nil, err
	}
	return snapshot, func() { closeConn(holder) }, nil
}

// lockParts takes ACCESS SHARE on the tables of which there are several readings.
func lockParts(ctx context.Context, c *pg.Conn, readings []reading) error {
	for _, r := range readings {
		if r.pages == nil || r.pages.From > 0 {
			continue
		}
		t := r.group.target
		table, _, err := c.SQLNames(ctx, t.OID, t.Schema, t.Name, nil, c.PgConn().ParameterStatus("client_encoding"))
		if err == nil {
			err = c.Exec(ctx, "LOCK TABLE ONLY "+table+" IN ACCESS SHARE MODE")
		}
		if err != nil {
			return pg.Wrap(err, "lock of table %s", r.group.name)
		}
	}
	return nil
}

// proving is the work that the workers of a proof share; each has the reading that it took to itself, and who brings the last of a group has the group.
type proving struct {
	*job
	snapshot   string
	readings   []reading
	mismatches []error  // by group
	unproven   []string // by group: its name and why; empty: proven, or mismatched
	next       atomic.Int64
	proven     atomic.Int64 // tables
}

// work reads one part after the other back, over a session of its own.
func (p *proving) work(ctx context.Context, place *control.Place) error {
	r, err := p.newReader(ctx, p.snapshot)
	if err != nil {
		return err
	}
	defer closeConn(r.conn)
	place.Ready()
	for place.Stay() {
		if err := p.o.Control.Wait(ctx); err != nil {
			return err
		}
		i := int(p.next.Add(1)) - 1
		if i >= len(p.readings) {
			return nil
		}
		g := p.readings[i].group
		got, whole, err := r.readPart(ctx, p.readings[i])
		if err != nil {
			return pg.Wrap(err, "proof of table %s", g.name)
		}
		if whole {
			p.judge(g, got)
		}
	}
	return nil
}

// judge compares a group that was read back with what it should be.
func (p *proving) judge(g *proofGroup, got format.Totals) {
	if why := p.otherForms(g.tables[0]); why != "" && got.Rows == g.want.Rows && got.Digest != g.want.Digest {
		g.mark(progress.NotProven, why)
		p.unproven[g.no] = fmt.Sprintf("%s: %s", g.name, why)
		return
	}
	if p.mismatches[g.no] = g.compare(got); p.mismatches[g.no] == nil {
		p.proven.Add(int64(len(g.tables)))
	}
}

// proofGroups sums up what is to be found in each group, and names the tables that can't be proven.
func (j *job) proofGroups(ctx context.Context) ([]*proofGroup, error) {
	if err := j.checkTablesKnown(ctx); err != nil {
		return nil, err
	}
	provable := make([]*loadTable, 0, len(j.plan.tables))
	for _, t := range j.plan.tables {
		if why := j.unprovable(t); why != "" {
			t.progress.SetProof(progress.NotProven, why)
			j.sum.Unproven = append(j.sum.Unproven, fmt.Sprintf("%s: %s", t.name, why))
			continue
		}
		provable = append(provable, t)
	}
	groups := j.groupTables(provable)
	for _, g := range groups {
		for _, t := range g.tables {
			want, err := tableTotals(t.entry)
			if err != nil {
				return nil, err
			}
			g.want = g.want.Add(want)
		}
	}
	return groups, nil
}

// groupTables puts tables together that are read in one go.
func (j *job) groupTables(tables []*loadTable) (groups []*proofGroup) {
	byTarget := map[pg.Qualified]*proofGroup{}
	viaRoot := map[pg.Qualified]bool{}
	targets := map[pg.Qualified]*pg.Target{}
	for _, t := range j.plan.tables {
		targets[t.into] = t.target
		if t.into != t.own {
			viaRoot[t.into] = true
		}
	}
	for _, t := range tables {
		name := t.into
		if t.entry.Root != nil {
			if root := j.plan.mapped.of(pg.Qualified{Schema: t.entry.Root.Schema, Name: t.entry.Root.Name}); viaRoot[root] {
				name = root // rows of the whole tree may have been routed
			}
		}
		g := byTarget[name]
		if g == nil {
			g = &proofGroup{name: name, target: targets[name]}
			byTarget[name] = g
			groups = append(groups, g)
		}
		g.tables = append(g.tables, t)
	}
	return groups
}

// checkTablesKnown looks the targets up, when an earlier run has loaded them all.
func (j *job) checkTablesKnown(ctx context.Context) error {
	if !slices.ContainsFunc(j.plan.tables, func(t *loadTable) bool { return t.target == nil }) {
		return nil
	}
	f := &findings{phase: phaseB, live: j.live()}
	if err := j.checkTables(ctx, f); err != nil {
		return err
	}
	return f.refused()
}

// unprovable tells why a table's rows can't be compared, or gives "".
func (j *job) unprovable(t *loadTable) string {
	switch {
	case t.config():
		return "the extension has rows of its own in it"
	case j.o.OnExisting == Append:
		return "it may have held rows before"
	case !t.target.MaySelect:
		return "the role may not read it"
	}
	for _, f := range t.fits {
		switch f.verdict {
		case Dropped:
			return fmt.Sprintf("column %q was left behind", string(f.column.Name))
		case Castable:
			return fmt.Sprintf("column %q was cast to %s", string(f.column.Name), f.target.Type)
		}
	}
	return ""
}

func tableTotals(e *format.ManifestTable) (format.Totals, error) {
	digest, err := format.ParseRowDigest(e.RowDigest)
	return format.Totals{Rows: e.Rows, Length: e.Bytes, Digest: digest}, err
}

// reader reads tables back over a session of its own.
type reader struct {
	*job
	conn *pg.Conn
	pool *pipeline.Pool
}

// newReader opens a session under a snapshot.
func (j *job) newReader(ctx context.Context, snapshot string) (*reader, error) {
	c, err := j.connectData(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.ImportSnapshot(ctx, snapshot); err != nil {
		closeConn(c)
		return nil, err
	}
	return &reader{job: j, conn: c, pool: newLanePool()}, nil
}

// read reads a table, or the rows in a range of its pages, as its files hold it: the columns in their order and of their types, text where they have text, with the source's
// OIDs. A partitioned table's rows are those of its partitions.
func (r *reader) read(ctx context.Context, g *proofGroup, pages *format.CTIDRange) (format.Totals, error) {
	j, c, t := r.job, r.conn, g.tables[0]
	table, columns, err := c.SQLNames(ctx, g.target.OID, g.target.Schema, g.target.Name, t.columnNames(), c.PgConn().ParameterStatus("client_encoding"))
	if err != nil {
		return format.Totals{}, err
	}
	types, plain := t.sourceTypes(), g.target.Kind == 'r' && pages == nil
	back, oids := make([]convert.Column, len(t.fits)), make([]uint32, len(t.fits))
	for i, f := range t.fits {
		back[i], oids[i] = convert.Column{Name: f.column.Name, Opaque: !f.keepsType()}, f.target.OID
		switch {
		case f.verdict == Staged:
			columns[i], plain = pg.OutSQL(columns[i], f.column.Cast, types.IsArray(f.column.OID)), false
		case j.otherEncoding() && f.keepsType() && types.IsHstore(f.column.OID):
			columns[i], plain, back[i].Opaque = pg.HstoreSQL(columns[i], j.m.Source.Server.Encoding), false, true
		case f.widen != convert.Keep:
			columns[i], plain = pg.NarrowSQL(columns[i], f.column.TypeName), false
		}
	}
	plan, err := convert.NewPlan(back, oids, t.back)
	if err != nil {
		return format.Totals{}, err
	}
	sql := "COPY " + table + listOf(columns) + " TO STDOUT (FORMAT binary)"
	if !plain {
		only := "ONLY "
		if g.target.Kind != 'r' {
			only = ""
		}
		where := ""
		if pages != nil {
			where = " WHERE " + pg.PagesSQL(pages.From, pages.To)
		}
		sql = "COPY (SELECT " + strings.Join(columns, ", ") + " FROM " + only + table + where + ") TO STDOUT (FORMAT binary)"
	}
	walker := format.NewWalker(len(t.columns))
	var stages []pipeline.Stage
	if !plan.Identity() {
		stages = append(stages, &flow.Convert{Plan: plan}) // in front of Parse, which digests: a server's blocks are whole rows already
	}
	stages = append(stages, &flow.Parse{Walker: walker})
	err = pipeline.Run(ctx, pipeline.Lane{Source: &flow.ServerSource{Conn: c, SQL: sql}, Stages: stages, Sink: flow.Discard{}, Pool: r.pool, Hold: j.o.Control.Wait})
	return walker.Totals(), err
}

// otherForms gives the reason why equal values can have other bytes on the target than on the source, so that a digest tells equal from unequal only one way; or "".
func (j *job) otherForms(t *loadTable) string {
	source := j.m.Source.Server
	switch {
	case t.staged && (source.VersionNum/10000 != j.leader.Version/10000 || source.LCMonetary != j.monetary):
		return textForms
	case j.otherEncoding() && slices.ContainsFunc(t.columns, func(c format.Column) bool { return t.sourceTypes().LosesInConversion(c.OID) }):
		return encodedForms
	}
	return ""
}

// otherEncoding tells that texts change their bytes between the rows of the files and the target.
func (j *job) otherEncoding() bool {
	source, target := j.m.Source.Server.Encoding, j.leader.Encoding
	return source != target && source != "SQL_ASCII" && target != "SQL_ASCII"
}

// compare tells what is wrong with a table that was read back, and marks it.
func (g *proofGroup) compare(got format.Totals) error {
	if got.Rows == g.want.Rows && got.Digest == g.want.Digest {
		g.mark(progress.Proven, "")
		return nil
	}
	err := fmt.Errorf("table %s: expected %d rows with digest %s, found %d rows with digest %s", g.name, g.want.Rows, g.want.Digest, got.Rows, got.Digest)
	g.mark(progress.Mismatch, err.Error())
	return err
}

func (g *proofGroup) mark(p progress.Proof, note string) {
	for _, t := range g.tables {
		t.progress.SetProof(p, note)
	}
}

// provenBefore is for a resumed restore whose proof an earlier run has brought.
func (j *job) provenBefore() {
	for _, t := range j.plan.tables {
		if t.config() || j.o.OnExisting == Append {
			t.progress.SetProof(progress.NotProven, "")
			continue
		}
		t.progress.SetProof(progress.Proven, "before this run")
		j.sum.Proven++
	}
}
