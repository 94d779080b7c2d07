package workbench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/internal/pg"
)

// appName is what pg_stat_activity shows of us.
const appName = "pghaul"

// Server is what a server says of itself to a role.
type Server struct {
	Version   string // 15.4
	Encoding  string
	Database  string // that was connected to
	Role      pg.RoleInfo
	Databases []pg.DatabaseInfo
}

// May says in words what the role may do.
func (s *Server) May() string {
	switch r := s.Role; {
	case r.Superuser:
		return "superuser"
	case r.CreateDB && r.ReadAll:
		return "may read all tables and make databases"
	case r.ReadAll:
		return "may read all tables, make no databases"
	case r.CreateDB:
		return "may make databases; reads what it was granted"
	}
	return "reads what it was granted; makes no databases"
}

// Ask connects and asks who and what is there.
func Ask(ctx context.Context, dsn *pg.DSN) (*Server, error) {
	return asked(ctx, dsn, func(ctx context.Context, c *pg.Conn) (_ *Server, err error) {
		s := &Server{Encoding: c.Encoding, Database: dsn.Config.Database, Version: fmt.Sprintf("%d.%d", c.Version/10000, c.Version%10000)}
		if s.Role, err = c.RoleInfo(ctx); err != nil {
			return nil, err
		}
		s.Databases, err = c.Databases(ctx)
		return s, err
	})
}

// asked is what a question gets for an answer, over a session of its own and within Limit.
func asked[T any](ctx context.Context, dsn *pg.DSN, question func(context.Context, *pg.Conn) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	c, err := pg.Connect(ctx, dsn, pg.Options{Purpose: pg.ForCatalog, AppName: appName})
	if err != nil {
		return answer, err
	}
	defer c.Close()
	return question(ctx, c)
}

// WrongPassword tells errors that another password may cure.
func WrongPassword(err error) bool {
	switch pg.State(err) {
	case "28P01", "28000":
		return true
	}
	return strings.Contains(err.Error(), "password")
}

// Tables lists a database's relations, with what a dump would do with them.
func Tables(ctx context.Context, dsn *pg.DSN) ([]dump.Surveyed, error) {
	return asked(ctx, dsn, dump.Survey)
}

// Estimate is how long a job of so many bytes may take, and what that rests on.
type Estimate struct {
	Took  time.Duration // 0: unknown
	Basis string        // in words; When stands behind it
	When  time.Time     // the end of the job that it rests on
}

// Estimate looks for the last good job of that kind.
func (s *State) Estimate(kind string, bytes int64) Estimate {
	for _, j := range s.Jobs() {
		if j.Kind == kind && j.OK && j.Bytes >= minBasis && j.Millis > 0 {
			rate := float64(j.Bytes) / float64(j.Millis)
			return Estimate{Took: max(time.Duration(float64(bytes)/rate)*time.Millisecond, time.Second), Basis: "as on", When: j.Ended}
		}
	}
	return Estimate{Basis: "unknown before the first " + kind + " from here"}
}

// minBasis is the least that a job must have moved for its pace to say something.
const minBasis = 1 << 20
