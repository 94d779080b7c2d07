package workbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/bytehaul/pghaul/internal/pg"
)

// Bounds on what is remembered.
const (
	maxConnections = 20
	maxJobs        = 50
	maxStateFile   = 1 << 20
)

// Connection is one that was used.
type Connection struct {
	DSN  string    `json:"dsn"` // as it was given; never with a password
	Used time.Time `json:"used"`
}

// Job is one that was run from the home screen.
type Job struct {
	Kind   string    `json:"kind"` // dump, verify, restore
	Source string    `json:"source"`
	Target string    `json:"target,omitempty"`
	Ended  time.Time `json:"ended"`
	Result string    `json:"result"` // in a few words
	OK     bool      `json:"ok"`
	Bytes  int64     `json:"bytes,omitempty"` // of rows that moved
	Millis int64     `json:"millis,omitempty"`
}

// Took is how long the job ran.
func (j Job) Took() time.Duration { return time.Duration(j.Millis) * time.Millisecond }

// State is what is remembered from one run of the program to the next. Its methods may be called from any goroutine.
type State struct {
	path string

	mu   sync.Mutex
	kept kept
}

type kept struct {
	Connections []Connection `json:"connections"`
	Jobs        []Job        `json:"jobs"`
}

// StatePath is where the state is kept: below $XDG_STATE_HOME, or ~/.local/state. Empty: there is no such place.
func StatePath() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "pghaul", "state.json")
}

// LoadState reads the state. One that is missing is empty; of one that cannot be read the error tells, and the state is empty too. With an empty path nothing
// is kept.
func LoadState(path string) (*State, error) {
	s := &State{path: path}
	if path == "" {
		return s, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer f.Close() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxStateFile+1))
	if err != nil {
		return s, err
	}
	var k kept
	if len(data) > maxStateFile {
		return s, fmt.Errorf("%s is larger than %d bytes", path, maxStateFile)
	}
	if err := json.Unmarshal(data, &k); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	s.kept = k
	s.bound()
	return s, nil
}

// bound drops what is too much, and connections that nobody should have written.
func (s *State) bound() {
	s.kept.Connections = slices.DeleteFunc(s.kept.Connections, func(c Connection) bool {
		_, err := pg.ParseDSN(c.DSN, pg.Flags{})
		return errors.Is(err, pg.ErrPasswordInDSN)
	})
	s.kept.Connections = s.kept.Connections[:min(len(s.kept.Connections), maxConnections)]
	s.kept.Jobs = s.kept.Jobs[:min(len(s.kept.Jobs), maxJobs)]
}

// Connections are those that were used, the last one first.
func (s *State) Connections() []Connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept.Connections)
}

// Jobs are those that were run, the last one first.
func (s *State) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept.Jobs)
}

// Remember notes a connection that has worked. A string with a password in it is refused.
func (s *State) Remember(dsn string, at time.Time) error {
	if _, err := pg.ParseDSN(dsn, pg.Flags{}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.DeleteFunc(s.kept.Connections, func(c Connection) bool { return c.DSN == dsn })
	s.kept.Connections = append([]Connection{{dsn, at.UTC()}}, list...)
	return s.save()
}

// Note notes a job that has ended.
func (s *State) Note(j Job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Jobs = append([]Job{j}, s.kept.Jobs...)
	return s.save()
}

// save writes the file beside the one that is there, and takes its place. The lock is held.
func (s *State) save() (err error) {
	s.bound()
	if s.path == "" {
		return nil
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	data, err := json.MarshalIndent(s.kept, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".state-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.path)
}
