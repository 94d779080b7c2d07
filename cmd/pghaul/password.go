package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/show"
)

// passwords are psql's options about asking for one.
type passwords struct{ always, never bool }

func (p *passwords) flags(f flags) {
	f.boolean(&p.never, "no-password", "w", "never ask for a password")
	f.boolean(&p.always, "password", "W", "ask for a password before connecting")
}

// login asks for a password at the terminal when the server wants one and none is known, or when -W says so. The answer stays in memory, for all sessions
// of the program and for the private password files of its children.
func (a *app) login(c *cobra.Command, p *passwords, servers ...*pg.DSN) error {
	if err := exclusive(c, "no-password", "password"); err != nil {
		return err
	}
	if p.never {
		return nil
	}
	tty, err := a.terminal()
	if err != nil {
		if p.always {
			return usagef("option --password asks for a password, and there is no terminal to ask at").hint("%s", pg.PasswordHint)
		}
		return nil // the server's refusal says more
	}
	defer tty.Close()
	for _, dsn := range servers {
		if !p.always && !dsn.NeedsPassword(c.Context()) {
			continue
		}
		password, err := a.askPassword(c.Context(), tty, dsn)
		if err != nil {
			return err
		}
		dsn.UsePassword(password)
	}
	return nil
}

// askPassword reads a line without showing it: the echo is off before the question comes. When ctx ends meanwhile, the terminal is as it was.
func (a *app) askPassword(ctx context.Context, tty *os.File, dsn *pg.DSN) (string, error) {
	fd := int(tty.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	again := func() { _ = term.Restore(fd, before) } // on a terminal that is gone nobody looks
	defer again()
	defer a.interrupt.onSecond(again)()
	type answer struct {
		text string
		err  error
	}
	typed := make(chan answer, 1)
	go func() { // ends with the program when the job is cancelled: not every terminal's read can be interrupted
		text, err := term.NewTerminal(tty, "").ReadPassword(fmt.Sprintf("Password for user %s at %s: ", show.Text(dsn.Config.User), show.Text(dsn.String())))
		typed <- answer{text, err}
	}()
	select {
	case got := <-typed:
		if errors.Is(got.err, io.EOF) { // ctrl-c and ctrl-d, which are no signals here
			again()
			if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
				return "", err
			}
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		return got.text, got.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
