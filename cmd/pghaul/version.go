package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/format"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "show the versions of the program and its file format",
		GroupID:     groupOther,
		Args:        exactly(0, 0, ""),
		Annotations: map[string]string{exitLines: "0,2"},
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "pghaul %s\nfile format %d.%d, manifest %d\n%s %s/%s\n", toolVersion(), format.Major, format.Minor, format.ManifestVersion,
				runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
