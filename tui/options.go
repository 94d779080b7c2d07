package tui

import (
	"runtime"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/show"
	"github.com/bytehaul/pghaul/restore"
)

// JobOptions are what a job is started with. Which sides are used depends on Kind: a dump has From alone, a restore To.
type JobOptions struct {
	Kind  string // dump, restore, migrate
	From  dump.Options
	To    restore.Options
	Gates bool // of a migrate: it waits between phases
}

// option is one line of the form before a job. next goes on to the next value; open, where there is one, shows a screen that asks for it.
type option struct {
	name, detail string
	value        func() string
	next         func()
	open         func() tea.Cmd
}

// ready is the form before a job: what it will do, as a command line too, and the few options that are worth a look.
type ready struct {
	chooser
	home    *home
	o       JobOptions
	options []option
	needs   int64  // bytes that the job writes at most; 0: unknown
	folder  string // where a dump is written
	free    int64
	known   bool // free is
}

type freeMsg struct {
	of   *ready
	free int64
	ok   bool
}

// newReady makes the form. needs is the number of bytes that a dump may write.
func newReady(h *home, o JobOptions, needs int64) Screen {
	if h.o.Defaults != nil {
		h.o.Defaults(&o)
	}
	if o.jobs() == 0 {
		o.setJobs(min(runtime.NumCPU(), 8))
	}
	r := &ready{home: h, o: o, needs: needs, folder: o.From.Dir}
	r.title, r.enter = "Ready: "+o.Kind, "choose"
	r.options = r.forJob()
	r.items = r.list
	r.init = r.look
	r.on = func(m tea.Msg) tea.Cmd {
		switch m := m.(type) {
		case freeMsg:
			if m.of == r {
				r.free, r.known = m.free, m.ok
				r.refresh()
			}
		case tea.WindowSizeMsg:
			r.refresh()
		}
		return nil
	}
	return r
}

// look asks for the free space, outside of Update.
func (r *ready) look() tea.Cmd {
	if r.folder == "" {
		return nil
	}
	folder, ask := r.folder, r.home.o.Ask.Free
	return func() tea.Msg {
		free, ok := ask(folder)
		return freeMsg{r, free, ok}
	}
}

func (o *JobOptions) jobs() int {
	if o.Kind == "dump" {
		return o.From.Jobs
	}
	return o.To.Jobs
}

func (o *JobOptions) setJobs(n int) { o.From.Jobs, o.To.Jobs = n, n }

// list is the form: the start first, so that enter alone begins.
func (r *ready) list() []item {
	e := r.env
	r.lines = nil
	if r.home.o.Command != nil {
		for i, l := range wrap("$ "+show.Line(r.home.o.Command(r.o)), max(e.Width-4, 20)) {
			if i == 4 {
				break
			}
			r.lines = append(r.lines, e.Styles.Muted.On(l))
		}
	}
	if r.known {
		r.lines = append(r.lines, r.space())
	}
	items := []item{{left: "Start", right: "enter", detail: "begins as it stands here", sign: e.Glyphs.Running, look: e.Styles.Accent, choose: func() tea.Cmd {
		o, jobs := r.o, r.home.o.Jobs
		return startRun(func() RunOptions {
			switch o.Kind {
			case "dump":
				return jobs.Dump(o.From)
			case "migrate":
				return jobs.Migrate(o.From, o.To, o.Gates)
			}
			return jobs.Restore(o.To)
		})
	}}}
	for _, op := range r.options {
		items = append(items, item{group: "options", left: op.name, right: op.value(), detail: op.detail + "; enter changes it", sign: e.Glyphs.Dot, choose: func() tea.Cmd {
			if op.open != nil {
				return op.open()
			}
			op.next()
			r.refresh()
			return nil
		}})
	}
	return items
}

// space says whether there is room for the dump.
func (r *ready) space() string {
	e := r.env
	text := show.Size(r.free) + " free there"
	if r.needs > 0 {
		text += ", rows ~" + show.Size(r.needs) + " uncompressed"
	}
	if r.needs > r.free {
		return e.Styles.Warn.On(e.Glyphs.Warn + " " + text + ": may not be enough")
	}
	return e.Styles.Muted.On(text)
}

// cycle is an option with a few values; the present one is among them.
func cycle[T comparable](name, detail string, p *T, text func(T) string, values ...T) option {
	at := -1
	for i, v := range values {
		if v == *p {
			at = i
		}
	}
	if at < 0 {
		values, at = append([]T{*p}, values...), 0
	}
	return option{name: name, detail: detail, value: func() string { return text(*p) }, next: func() {
		at = (at + 1) % len(values)
		*p = values[at]
	}}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// forJob are the options of the job's kind.
func (r *ready) forJob() []option {
	o := &r.o
	jobs := o.jobs()
	list := []option{cycle("jobs", "connections side by side, to each server", &jobs, strconv.Itoa, 1, 2, 4, 8, 16)}
	next := list[0].next
	list[0].next = func() { next(); o.setJobs(jobs) }
	yes := func(no bool) string { return onOff(!no) }
	size := func(n int64) string {
		if n == 0 {
			return "never split"
		}
		return show.Size(n)
	}
	segment := cycle("segment size", "how much of a table goes into one piece", &o.From.SegmentSize, size, 64<<20, 256<<20, 1<<30, 0)
	switch o.Kind {
	case "dump":
		return append(list, cycle("compression", "none: larger and less work; a higher level: smaller and more work", &o.From.Compression, format.Compression.String,
			format.Compression{Level: 1}, format.Compression{Level: 3}, format.Compression{Level: 9}, format.Compression{}), segment)
	case "migrate":
		list = append(list, r.choice(), cycle("gates", "waits for you between the phases", &o.Gates, onOff, true, false), segment)
	case "restore":
		if !o.To.Resume { // which goes on with those that it began with
			list = append(list, r.choice())
		}
		if o.To.DataOnly {
			list = append(list, cycle("rows that are there", "fail: refuses; truncate: destroys them, after the database's name was typed in; append: leaves them", &o.To.OnExisting,
				func(x restore.OnExisting) string { return string(x) }, restore.Fail, restore.Truncate, restore.Append))
		}
	}
	return append(list, cycle("proof", "reads every row back and compares", &o.To.NoProve, yes, false, true),
		cycle("statistics", "ANALYZE at the end", &o.To.NoAnalyze, yes, false, true),
		cycle("owners", "off: all belongs to the role that connects (--no-owner)", &o.To.NoOwner, yes, false, true))
}
