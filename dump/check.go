package dump

import (
	"errors"

	"github.com/bytehaul/pghaul/internal/progress"
)

// step is one step of the plan: what it does, and what to say when it went well.
type step struct {
	name string
	run  func() error
	fine func() string
}

// check runs a step under its name, for observers.
func (o *Options) check(s step) error {
	end := o.Tracker.StartCheck(s.name)
	err := s.run()
	if err == nil {
		end(progress.CheckOK, s.fine())
		return nil
	}
	var details []string
	var refused *Refused
	if errors.As(err, &refused) {
		for _, p := range refused.Problems {
			line := "problem: " + p.Object + ": " + p.Why
			if p.Hint != "" {
				line += " (" + p.Hint + ")"
			}
			details = append(details, line)
		}
	}
	end(progress.CheckProblem, err.Error(), details...)
	return err
}
