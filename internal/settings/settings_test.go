package settings

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := Parse([]byte("# mine\njobs = 1_0\nquiet = true\n\n[dump]\ncompress = \"zstd:3\"\n'segment-size' = '64MB'\n[prune]\nkeep-daily = 7\n"))
	want := []Setting{{"", "jobs", "10", 2}, {"", "quiet", "true", 3}, {"dump", "compress", "zstd:3", 6}, {"dump", "segment-size", "64MB", 7}, {"prune", "keep-daily", "7", 9}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := Parse([]byte("dump.jobs = 2")); err != nil || got[0] != (Setting{"dump", "jobs", "2", 1}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1\njobs = \n":                                     "line 2: ",
		"jobs = 1\njobs = 2":                                   "line 2: ",
		"\n\njobs = [1, 2]":                                    "line 3: jobs: must be",
		"jobs = 1.5":                                           "must be",
		"[dump]\n[dump.more]\nx = 1":                           "line 2: there are no tables within tables",
		"[[dump]]\nx = 1":                                      "there are no tables within tables",
		"[dump]\na.b = 1":                                      "line 2: there are no tables within tables",
		"password = 'x'":                                       "line 1: \"password\": passwords have no place",
		"PGPASSWORD = 'hunter2'":                               "no place in this file",
		"x = 'postgres://me:hunter2@db/shop'":                  "a password has no place",
		"x = 'host=db password=hunter2'":                       "a password has no place",
		"[dump]\nnotify = 'PGPASSWORD=h mail'":                 "line 2: notify: a password",
		"jobs = 1\nx = '" + strings.Repeat("x", MaxFile) + "'": "more than 1048576",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the password is in the error: %v", text, err)
		}
	}
}

func TestCheck(t *testing.T) {
	keys := func(table string) []string {
		return map[string][]string{"": {"jobs", "compress", "keep-daily"}, "dump": {"jobs", "compress"}}[table]
	}
	for text, want := range map[string][2]string{
		"jobs = 1":                 {},
		"[dump]\ncompress = 'x'":   {},
		"jbos = 1":                 {"line 1: there is no setting \"jbos\"", "did you mean \"jobs\"?"},
		"\nkeep_daily = 1":         {"line 2: there is no setting \"keep_daily\"", "did you mean \"keep-daily\"?"},
		"[dumb]\njobs = 1":         {"line 2: there is no command \"dumb\"", "did you mean \"dump\"?"},
		"[dump]\nkeep-daily = 1":   {"line 2: \"keep-daily\" is no setting of dump", "there are: jobs, compress"},
		"some-other-thing = 'abc'": {"line 1: there is no setting", "there are: jobs, compress, keep-daily"},
	} {
		list, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		err = Check(list, []string{"dump"}, keys)
		if want[0] == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Error(), want[0]) || e.Hint() != want[1] {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct{ xdg, home, want string }{
		{"/x", "/home/me", "/x/pghaul/pghaul.toml"},
		{"", "/home/me", "/home/me/.config/pghaul/pghaul.toml"},
		{"relative", "/home/me", "/home/me/.config/pghaul/pghaul.toml"},
		{"", "", ""},
	} {
		if got := Path(func(k string) string { return map[string]string{"XDG_CONFIG_HOME": c.xdg, "HOME": c.home}[k] }); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"abc", "abc", 0}, {"jbos", "jobs", 2}, {"dump", "dumb", 1}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q %q: %d", c.a, c.b, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("jobs = 4\n[dump]\ncompress = \"zstd\"\n"))
	f.Add([]byte("a.b.c = {x = 1}\n[[q]]\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		list, err := Parse(p)
		if err != nil {
			return
		}
		lines := strings.Count(string(p), "\n") + 1
		for _, s := range list {
			if s.Line < 1 || s.Line > lines || IsSecret(s.Key, s.Value) {
				t.Fatalf("%+v", s)
			}
		}
	})
}
