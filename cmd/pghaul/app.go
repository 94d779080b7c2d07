package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bytehaul/pghaul/internal/watch"
)

// version is set by the linker: -X main.version=1.2.3.
var version string

// app is what all commands share.
type app struct {
	stdin  *os.File
	stdout *os.File
	stderr *os.File

	verbose, quiet bool
	logFile        string
	logFormat      string
	log            *watch.Log // nil: none

	interrupt *interrupt
	config    string  // file of settings, as given
	jobEnd    *jobEnd // nil: nobody is to be told
}

// run is the whole program but for its end: it returns the exit code.
func run(args []string, stdin, stdout, stderr *os.File) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, interrupt: &interrupt{}, logFormat: string(watch.LogText)}
	ctx, stop := a.interrupt.context(stderr)
	defer stop()
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.end(ctx, root.ExecuteContext(ctx))
}

// errInterrupted is the cause of a context that ctrl-c, a SIGTERM or a lost terminal has ended.
type errInterrupted struct{ signal os.Signal }

func (e errInterrupted) Error() string { return e.signal.String() }

// Cancelled tells the log that this is the operator's wish.
func (e errInterrupted) Cancelled() bool { return true }

// interrupt turns the first SIGINT, SIGTERM or SIGHUP into a cancelled context, and the second SIGINT or SIGTERM into the end of the program. A terminal
// that is lost cancels the job: who wants it to go on without one starts it under nohup, tmux or the like.
type interrupt struct {
	mu      sync.Mutex
	say     func(string)
	rescues []func()
	signals chan os.Signal
}

// trigger does what a signal of that kind would do: for the terminal UI, where ctrl-c is a key.
func (i *interrupt) trigger(s os.Signal) {
	select {
	case i.signals <- s:
	default: // two are waiting already
	}
}

// onSecond registers what must be done even when the program ends at once, and returns how to take that back. It must be quick.
func (i *interrupt) onSecond(f func()) (remove func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := len(i.rescues)
	i.rescues = append(i.rescues, f)
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.rescues[at] = nil
	}
}

// speak makes say print the word that the job is being cancelled, in place of a line on standard error; nil ends that.
func (i *interrupt) speak(say func(string)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.say = say
}

func (i *interrupt) context(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	i.signals = signals
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup leaves it
		signal.Notify(signals, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			cancel(errInterrupted{s})
			go i.announce(stderr) // which waits while a question is asked
		case <-done:
			return
		}
		for {
			select {
			case s := <-signals:
				if s != syscall.SIGHUP { // which a closed terminal sends more than once: by the kernel and by the shell
					i.leave()
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

func (i *interrupt) announce(stderr io.Writer) {
	const text = "cancelling; once more to leave at once"
	i.mu.Lock()
	say := i.say
	i.mu.Unlock()
	if say != nil {
		say(text)
		return
	}
	fmt.Fprintln(stderr, "pghaul: "+text)
}

func (i *interrupt) leave() {
	i.mu.Lock()
	rescues := i.rescues
	i.mu.Unlock()
	for _, f := range rescues {
		if f != nil {
			f()
		}
	}
	os.Exit(exitCancelled)
}

// root is the command without a name.
func (a *app) root() *cobra.Command {
	l := &look{}
	c := &cobra.Command{
		Use:   "pghaul",
		Short: "dumps, verifies and restores PostgreSQL tables as binary COPY files",
		Long: "pghaul dumps PostgreSQL databases into self-describing binary COPY files, checks\n" +
			"that a dump is whole and fits, and restores it with proof that every row arrived.",
		Version:           toolVersion(),
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := a.applySettings(c); err != nil {
				return err
			}
			return a.openLog(c)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q", args[0]).hint("%s", suggestion(c, args[0]))
			}
			if isTerminal(a.stdin) && isTerminal(a.stderr) && isTerminal(a.stdout) {
				return a.home(c, l)
			}
			return c.Help()
		},
	}
	c.SetVersionTemplate("pghaul {{.Version}}\n")
	c.SetHelpCommand(&cobra.Command{Use: "help", Hidden: true, RunE: helpTopic})
	c.CompletionOptions.DisableDefaultCmd = true
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%v", err).hint("see \"%s --help\"", c.CommandPath())
	})
	c.SetHelpFunc(printHelp)
	groupOf(c, "General options", true, func(f flags) {
		f.boolean(&a.verbose, "verbose", "v", "say more about what is done")
		f.boolean(&a.quiet, "quiet", "q", "say nothing but results, warnings and errors")
		f.text(&a.logFile, "log-file", "", "FILE", "append what is said to FILE too, with times")
		f.choice(&a.logFormat, "log-format", "", "how FILE is written: lines, or a JSON object a line\n(text)", string(watch.LogText), string(watch.LogJSON))
		f.text(&a.config, "config", "", "FILE", "defaults of options\n($XDG_CONFIG_HOME/pghaul/pghaul.toml, else under ~/.config)")
		f.boolean(new(bool), "help", "?", "show this help, then exit")
	})
	groupOf(c, "General options", false, func(f flags) {
		l.flags(f)
		f.boolean(new(bool), "version", "V", "output version information, then exit")
	})
	c.AddGroup(&cobra.Group{ID: groupJobs, Title: "Jobs"}, &cobra.Group{ID: groupLook, Title: "Without a server"}, &cobra.Group{ID: groupOther, Title: "Other commands"})
	c.AddCommand(a.commands()...)
	return c
}

// The groups of commands in the help.
const (
	groupJobs  = "jobs"
	groupLook  = "look"
	groupOther = "other"
)

func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.dumpCommand(),
		a.verifyCommand(),
		a.restoreCommand(),
		a.migrateCommand(),
		a.planCommand(),
		a.diffCommand(),
		a.inspectCommand(),
		a.catCommand(),
		a.salvageCommand(),
		a.listCommand(),
		a.pruneCommand(),
		a.benchCommand(),
		a.demoCommand(),
		a.completionCommand(),
		a.manCommand(),
		a.versionCommand(),
	}
}

// toolVersion is the version of this build.
func toolVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0.1.0-dev"
}

// tool is what dumps say about their maker.
func tool() string { return "pghaul " + toolVersion() }

// isTerminal tells whether a person sits at the other end of f.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
