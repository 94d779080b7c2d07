package tui

import (
	"context"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/workbench"
)

// Sources are what the choosing screens ask of servers and disks. All but Places are called outside of Update and may take their time. What is nil asks the
// real ones.
type Sources struct {
	Places   func() []workbench.Place // servers that may be meant
	Server   func(context.Context, *pg.DSN) (*workbench.Server, error)
	Tables   func(context.Context, *pg.DSN) ([]dump.Surveyed, error)
	Manifest func(dir string) (*format.Manifest, error)
	Meta     func(dir, file string) (*format.Meta, error) // of a data file
	Free     func(dir string) (bytes int64, ok bool)      // of the file system that a folder is in, or will be
}

// complete fills in what is nil.
func (s *Sources) complete(state *workbench.State) {
	if s.Places == nil {
		s.Places = state.Places
	}
	if s.Server == nil {
		s.Server = workbench.Ask
	}
	if s.Tables == nil {
		s.Tables = workbench.Tables
	}
	if s.Manifest == nil {
		s.Manifest = readManifest
	}
	if s.Free == nil {
		s.Free = workbench.Free
	}
	if s.Meta == nil {
		s.Meta = readMeta
	}
}
