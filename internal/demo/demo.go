// Package demo is the sample shop of "pghaul demo": a throwaway server, a database that looks like a real one, and a comparison of two databases
// that does not rest on what dump and restore say of themselves.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster"
)

// The databases of the demo.
const (
	Source = "shop"
	Target = "shop_copy"
)

// minVersion is the first server with generated columns.
const minVersion = 120000

//go:embed sql/*.sql
var scripts embed.FS

// settings make a server fast that nobody will miss.
var settings = map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "shared_buffers": "128MB", "max_wal_size": "2GB"}

// Start starts the server, in a folder of its own below parent. The caller stops it.
func Start(ctx context.Context, parent string) (*pgcluster.Cluster, error) {
	return pgcluster.Start(ctx, pgcluster.Options{Parent: parent, Settings: settings})
}

// DSN is a database of the server.
func DSN(c *pgcluster.Cluster, database string) (*pg.DSN, error) {
	return pg.ParseDSN(c.DSN(database), pg.Flags{})
}

// Fill makes the shop: about 380,000 rows in a few seconds. It returns the server's version.
func Fill(ctx context.Context, c *pgcluster.Cluster) (version string, err error) {
	admin, err := connect(ctx, c, "postgres")
	if err != nil {
		return "", err
	}
	defer admin.Close()
	version = admin.PgConn().ParameterStatus("server_version")
	if admin.Version < minVersion {
		return "", fmt.Errorf("the demo needs PostgreSQL 12 or later; %s has version %s", c.BinDir(), version)
	}
	if err := admin.Exec(ctx, "CREATE DATABASE "+pg.QuoteIdent(Source)); err != nil {
		return "", err
	}
	shop, err := connect(ctx, c, Source)
	if err != nil {
		return "", err
	}
	defer shop.Close()
	if err := shop.Exec(ctx, "SET search_path = public"); err != nil {
		return "", err
	}
	names, err := fs.Glob(scripts, "sql/*.sql")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		sql, err := scripts.ReadFile(name)
		if err != nil {
			return "", err
		}
		if err := shop.Exec(ctx, string(sql)); err != nil {
			return "", pg.Wrap(err, "%s", name)
		}
	}
	return version, nil
}

func connect(ctx context.Context, c *pgcluster.Cluster, database string) (*pg.Conn, error) {
	dsn, err := DSN(c, database)
	if err != nil {
		return nil, err
	}
	conn, err := pg.Connect(ctx, dsn, pg.Options{AppName: "pghaul demo"})
	if err != nil {
		return nil, errors.Join(err, errors.New(c.LogTail(5)))
	}
	return conn, nil
}
