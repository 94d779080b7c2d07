package screens

import (
	"strings"
	"time"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/tui"
)

// choosing are the screens before a job, each reached from the home screen by the keys that an operator presses. A short wait lets messages go.
func choosing(d func() *Desk, keys ...string) func(int, int) *Scene {
	return func(width, height int) *Scene {
		desk := d()
		s := Play(tui.Options{Screen: desk.Home()}, nil, width, height)
		for _, k := range keys {
			s.Press(k)
			s.Wait(100 * time.Millisecond)
		}
		return s
	}
}

// typed are the keys of a word.
func typed(word string) (keys []string) {
	for _, r := range word {
		keys = append(keys, string(r))
	}
	return keys
}

func locked() *Desk {
	d := ShopDesk()
	d.Password = "correct horse"
	return d
}

func emptyDesk() *Desk { return &Desk{Tables: survey()} }

// with is the shop's desk, at which this job is started.
func with(job func() *Job) func() *Desk {
	return func() *Desk {
		d := ShopDesk()
		d.Job = job()
		return d
	}
}

// chain puts keys behind each other.
func chain(parts ...[]string) (all []string) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// chosen are the shots of the choosing screens.
func chosen() []Shot {
	const enter, down = "enter", "down"
	server := []string{enter, down, enter} // Dump, the first service
	tables := chain(server, []string{enter})
	into := []string{down, down, enter, enter, down, enter}                 // Restore, the last dump, the first service
	ways := chain(into, []string{"/"}, typed("shop_test"), []string{enter}) // into a database that is there
	ready := chain(ways, []string{enter})
	begin := chain(ready, []string{enter})
	inspect := []string{down, down, down, down, enter, enter}
	wrong := chain(server, typed("swordfish"), []string{enter})
	refused := chain(tables, []string{"/"}, typed("attach"), []string{enter, down, "esc"})

	var all []Shot
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		w, h := size[0], size[1]
		all = append(all,
			Shot{"home", w, h, choosing(ShopDesk), true},
			Shot{"connection", w, h, choosing(ShopDesk, enter), true},
			Shot{"password", w, h, choosing(locked, wrong...), false},
			Shot{"databases", w, h, choosing(ShopDesk, server...), false},
			Shot{"tables", w, h, choosing(ShopDesk, chain(tables, []string{down, down, " "})...), true},
			Shot{"tables-refused", w, h, choosing(ShopDesk, refused...), false},
			Shot{"folder", w, h, choosing(ShopDesk, chain(tables, []string{enter})...), false},
			Shot{"databases-restore", w, h, choosing(ShopDesk, into...), false},
			Shot{"ways", w, h, choosing(ShopDesk, ways...), false},
			Shot{"ready-dump", w, h, choosing(ShopDesk, chain(tables, []string{enter, enter})...), false},
			Shot{"ready-restore", w, h, choosing(ShopDesk, ready...), false},
			Shot{"preflight", w, h, choosing(with(Preflight), begin...), true},
			Shot{"preflight-columns", w, h, choosing(with(Preflight), chain(begin, []string{enter})...), true},
			Shot{"preflight-begin", w, h, choosing(with(Warned), begin...), false},
			Shot{"confirm", w, h, choosing(with(Destructive), chain(begin, []string{enter}, typed("sho"))...), true},
			Shot{"inspect", w, h, choosing(ShopDesk, inspect...), false},
			Shot{"inspect-table", w, h, choosing(ShopDesk, chain(inspect, []string{enter})...), false},
			Shot{"report-migrate", w, h, reporting(migrated), true},
		)
	}
	return append(all,
		Shot{"home", 40, 10, choosing(ShopDesk), false},
		Shot{"tables", 40, 10, choosing(ShopDesk, tables...), false},
		Shot{"connection", 40, 10, choosing(ShopDesk, enter), false},
		Shot{"preflight", 40, 10, choosing(with(Preflight), begin...), false},
		Shot{"run-cancel", 40, 10, playing(Restore, RestorePhases, 72*time.Second, tui.Options{}, "c"), false},
		Shot{"home-empty", 80, 24, choosing(emptyDesk), false},
		Shot{"run-start", 80, 24, playing(Starting, RestorePhases, 0, tui.Options{}), false},
	)
}

// Starting is a restore whose first rows have not come yet.
func Starting() *Job {
	j := Restore()
	j.Width = 0
	return j
}

// Warned is a preflight that has found nothing but warnings, and asks whether to begin.
func Warned() *Job {
	j := Preflight()
	for i := range j.Checks {
		c := &j.Checks[i]
		switch c.State {
		case progress.CheckProblem:
			c.State, c.Text, c.Details = progress.CheckOK, "22 tables", nil
		case progress.CheckRunning:
			c.State, c.Text = progress.CheckOK, "nothing is in the way"
		}
	}
	j.GateAt = &tui.Gate{N: 1, Title: "Begin?", Done: []string{"warning: extension citext: version 1.6 in the dump, 1.5 at the target"},
		Next: []string{"nothing has been written yet; next: the database and its roles are looked at"}}
	return j
}

// Destructive is a preflight behind which rows are destroyed.
func Destructive() *Job {
	j := Warned()
	j.GateAt = &tui.Gate{N: 1, Title: "This destroys rows", Next: []string{"truncate 22 tables in database \"shop\" on db2:5432: all their rows are lost, 247,411,630 by the planner's estimate"}, Word: "shop"}
	return j
}

// migrated is the end of a migration.
func migrated() tui.Ended {
	j := played(Restore(), 200*time.Second)
	j.Name, j.Source = "migrate", "db1:5432/shop"
	end := EndOf(j, 0)
	end.Report.Outcome = strings.Replace(end.Report.Outcome, "restored", "migrated", 1)
	end.Next = []string{"point the application at db2:5432/shop", "keep db1:5432/shop until it has run there for a while: rows written there since the snapshot are not in the new database"}
	return end
}
