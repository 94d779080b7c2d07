package workbench

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
)

// Kinds of a place.
const (
	FromService     = "service"
	FromEnvironment = "environment"
	FromRecent      = "recent"
)

// Place is a server that may be meant.
type Place struct {
	Kind   string
	Name   string // for people
	Detail string // host and database, where that is known
	DSN    string // to connect with; "" for the environment's
}

// Places are the connections that can be known without a server: PG* variables, services, and those that were used.
func (s *State) Places() []Place {
	list := []Place{environmentPlace()}
	for _, f := range serviceFiles() {
		list = append(list, services(f)...)
	}
	for _, c := range s.Connections() {
		if c.DSN != "" && !strings.HasPrefix(c.DSN, "service=") {
			list = append(list, Place{Kind: FromRecent, Name: c.DSN, Detail: "last used " + c.Used.Local().Format("2006-01-02 15:04"), DSN: c.DSN})
		}
	}
	return list
}

func environmentPlace() Place {
	var parts []string
	for _, v := range []string{"PGSERVICE", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE"} {
		if value := os.Getenv(v); value != "" {
			parts = append(parts, v+"="+value)
		}
	}
	detail := strings.Join(parts, " ")
	if detail == "" {
		detail = "the defaults, as for psql"
	}
	return Place{Kind: FromEnvironment, Name: "PG* environment", Detail: detail}
}

// serviceFiles are libpq's, the user's first.
func serviceFiles() (paths []string) {
	if p := os.Getenv("PGSERVICEFILE"); p != "" {
		paths = append(paths, p)
	} else if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, filepath.Join(home, ".pg_service.conf"))
	}
	if dir := os.Getenv("PGSYSCONFDIR"); dir != "" {
		paths = append(paths, filepath.Join(dir, "pg_service.conf"))
	}
	return paths
}

// maxServices bounds what is read of a service file.
const maxServices = 500

// services reads the names of a service file, with host and database. A file that is not there has none, and passwords in it are not looked at.
func services(path string) (list []Place) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // it was only read
	lines := bufio.NewScanner(f)
	for lines.Scan() && len(list) < maxServices {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			name := line[1 : len(line)-1]
			list = append(list, Place{Kind: FromService, Name: name, DSN: "service=" + quoteValue(name)})
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || len(list) == 0 {
			continue
		}
		last := &list[len(list)-1]
		switch strings.TrimSpace(key) {
		case "host", "hostaddr", "port", "dbname", "user":
			last.Detail = strings.TrimSpace(last.Detail + " " + strings.TrimSpace(key) + "=" + strings.TrimSpace(value))
		}
	}
	return list
}

// quoteValue quotes a value of a connection string.
func quoteValue(s string) string {
	if s != "" && !strings.ContainsAny(s, ` '\`) {
		return s
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
