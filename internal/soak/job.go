package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stepLimit is how long one run of the program may take. The databases are small: what takes longer hangs.
const stepLimit = 90 * time.Second

// dyingLimit is how long a run that was asked for its goroutines may take to print them.
const dyingLimit = 5 * time.Second

// errHangs is the end of a run that came to none.
var errHangs = errors.New("hangs")

// job is one run of the program.
type job struct {
	name   string
	cmd    *exec.Cmd
	phases chan string   // that have begun
	ended  chan struct{} // closed when it has
	code   int           // -1: a signal ended it
	log    string        // its standard error
	err    error         // of running it at all, or errHangs
	tail   strings.Builder
}

// start runs the program. What it says goes into a file of the round's folder, too.
func (r *round) start(ctx context.Context, name string, args ...string) (*job, error) {
	r.runs++
	j := &job{name: name, phases: make(chan string, 64), ended: make(chan struct{}), log: filepath.Join(r.dir, fmt.Sprintf("%02d-%s.log", r.runs, name))}
	log, err := os.Create(j.log)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "pghaul %s\n", strings.Join(args, " "))
	ctx, cancel := context.WithCancel(ctx)
	j.cmd = exec.CommandContext(ctx, r.pghaul, args...)
	j.cmd.Env = append(os.Environ(), "TMPDIR="+r.tmp)
	j.cmd.Stdout = log
	stderr, err := j.cmd.StderrPipe()
	if err == nil {
		err = j.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, errors.Join(err, log.Close())
	}
	var read sync.WaitGroup
	read.Go(func() { j.listen(io.TeeReader(stderr, log)) })
	go func() {
		defer close(j.ended)
		defer cancel()
		hang := time.AfterFunc(stepLimit, func() {
			j.err = fmt.Errorf("%s %w: no end after %s; its goroutines are in %s", name, errHangs, stepLimit, j.log)
			_ = j.cmd.Process.Signal(syscall.SIGQUIT)
			time.AfterFunc(dyingLimit, cancel)
		})
		read.Wait()
		werr := j.cmd.Wait()
		hang.Stop()
		var exit *exec.ExitError
		if werr != nil && !errors.As(werr, &exit) && j.err == nil {
			j.err = werr
		}
		j.code = j.cmd.ProcessState.ExitCode()
		fmt.Fprintf(log, "ended: %s\n", j.cmd.ProcessState)
		if err := log.Close(); j.err == nil {
			j.err = err
		}
	}()
	return j, nil
}

// listen reads the progress.
func (j *job) listen(r io.Reader) {
	defer close(j.phases)
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		var event struct{ Event, State, Phase string }
		if json.Unmarshal([]byte(line), &event) == nil && event.Event != "" {
			if event.Event == "phase" && event.State == "start" {
				select {
				case j.phases <- event.Phase:
				default: // there are fewer phases than places
				}
			}
		} else {
			j.tail.WriteString(line)
		}
		if err != nil {
			return
		}
	}
}

// wait gives the exit code of a run that came to its end.
func (j *job) wait() (int, error) {
	<-j.ended
	return j.code, j.err
}

// said tells whether the program said so outside its progress. It may be asked when the run has ended.
func (j *job) said(text string) bool { return strings.Contains(j.tail.String(), text) }

// failed is the error for a run that did not end as it should.
func (j *job) failed(want string) error {
	return fmt.Errorf("%s ended with code %d, want %s:\n%s", j.name, j.code, want, indent(j.tail.String()))
}

func indent(s string) string { return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") }
