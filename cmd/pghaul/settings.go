package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/internal/settings"
)

// settable are the options whose defaults a settings file and the environment may give: what is a habit. What decides about data is not among them.
var settable = []string{"jobs", "progress", "theme", "ascii", "compress", "segment-size", "lock-timeout", "pg-bindir", "journal-schema", "notify", "notify-timeout",
	"keep-last", "keep-daily", "keep-weekly", "keep-monthly", "log-file", "log-format", "verbose", "quiet"}

// variableOf is the environment variable of an option.
func variableOf(option string) string {
	return "PGHAUL_" + strings.ToUpper(strings.ReplaceAll(option, "-", "_"))
}

// toldBelow are options whose variables are read where they are used.
const toldBelow = "pg-bindir"

// applySettings gives the options that are not on the command line their defaults: from the environment, else from the settings file, there from what is for the
// command alone, else from what is for all. Such an option counts as not given.
func (a *app) applySettings(c *cobra.Command) error {
	if strings.HasPrefix(c.Name(), "__") || slices.Contains([]string{"completion", "man", "version"}, c.Name()) {
		return nil // of use when the file is broken
	}
	path, list, err := a.readSettings(c)
	if err != nil {
		return err
	}
	for _, name := range settable {
		flag := c.Flags().Lookup(name)
		if flag == nil || flag.Changed {
			continue
		}
		value, from := "", ""
		for _, s := range list {
			if s.Key == name && (s.Table == c.Name() || s.Table == "" && from == "") {
				value, from = s.Value, fmt.Sprintf("%s: line %d: %s", path, s.Line, name)
			}
		}
		if v := os.Getenv(variableOf(name)); v != "" {
			if name == toldBelow {
				continue
			}
			value, from = v, variableOf(name)
		}
		if from == "" {
			continue
		}
		if err := flag.Value.Set(value); err != nil {
			return usagef("%s: %q: %v", from, value, err)
		}
	}
	return nil
}

// readSettings reads the settings file, if there is one.
func (a *app) readSettings(c *cobra.Command) (path string, list []settings.Setting, err error) {
	path = a.config
	for _, p := range []string{os.Getenv("PGHAUL_CONFIG"), settings.Path(os.Getenv)} {
		if path == "" {
			path = p
		}
	}
	if path == "" {
		return "", nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && path != a.config && path != os.Getenv("PGHAUL_CONFIG") {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, usagef("settings: %v", err).hint("give a file that is there with --config or PGHAUL_CONFIG")
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o002 != 0 {
		return "", nil, usagef("%s: anybody may write to it, and it can name a command that is run", path).hint("chmod o-w %s", path)
	}
	p, err := io.ReadAll(io.LimitReader(f, settings.MaxFile+1))
	if err == nil {
		list, err = settings.Parse(p)
	}
	if err == nil {
		err = checkSettings(c.Root(), list)
	}
	var at *settings.Error
	switch {
	case errors.As(err, &at):
		return "", nil, usagef("%s: %v", path, at).hint("%s", at.Hint())
	case err != nil:
		return "", nil, usagef("%s: %v", path, err)
	}
	return path, list, nil
}

// checkSettings refuses what no command has.
func checkSettings(root *cobra.Command, list []settings.Setting) error {
	var commands []string
	for _, c := range root.Commands() {
		commands = append(commands, c.Name())
	}
	return settings.Check(list, commands, func(table string) []string {
		if table == "" {
			return settable
		}
		for _, c := range root.Commands() {
			if c.Name() == table {
				return settableOf(c)
			}
		}
		return nil
	})
}

// settableOf lists the settable options of a command; empty, never nil.
func settableOf(c *cobra.Command) []string {
	names := []string{}
	for _, name := range settable {
		if c.Flags().Lookup(name) != nil || c.InheritedFlags().Lookup(name) != nil {
			names = append(names, name)
		}
	}
	return names
}
