//go:build !unix

package notify

import "os/exec"

// inGroup does nothing: there are no process groups here, and the command alone is killed.
func inGroup(*exec.Cmd) {}
