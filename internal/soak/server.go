package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/internal/netfault"
	"github.com/bytehaul/pghaul/internal/pgcluster"
)

// startLimit bounds the start of a server, crash recovery included.
const startLimit = 2 * time.Minute

// server is a throwaway one, with the network that leads to it.
type server struct {
	cluster *pgcluster.Cluster
	proxy   *netfault.Proxy
}

// startServer starts one. What was committed must outlive its death: everything that a crash could hide behind stays as it is by default.
func startServer(ctx context.Context) (*server, error) {
	cluster, err := pgcluster.Start(ctx, pgcluster.Options{Settings: map[string]string{
		"synchronous_commit": "on", "full_page_writes": "on", "max_connections": "60", "autovacuum": "on", "log_min_messages": "warning"}})
	if err != nil {
		return nil, err
	}
	proxy, err := netfault.New("unix", fmt.Sprintf("%s/.s.PGSQL.%d", cluster.SocketDir(), cluster.Port()), netfault.Rule{})
	if err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	return &server{cluster, proxy}, nil
}

func (s *server) stop() error { return errors.Join(s.proxy.Close(), s.cluster.Stop()) }

// end is a database that rows come from or go to.
type end struct {
	*server
	database string
}

// direct leads to the database past the proxy.
func (e end) direct() string { return e.cluster.DSN(e.database) }

// dsn leads through the proxy.
func (e end) dsn() string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=postgres sslmode=disable dbname=%s", e.proxy.Port(), e.database)
}

// fresh makes the database anew, empty.
func (e end) fresh(ctx context.Context) error {
	c, err := pgx.Connect(ctx, e.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	defer hangUp(ctx, c)
	if _, err := c.Exec(ctx, "DROP DATABASE IF EXISTS "+e.database+" WITH (FORCE)"); err != nil {
		return err
	}
	_, err = c.Exec(ctx, "CREATE DATABASE "+e.database+" TEMPLATE template0")
	return err
}
