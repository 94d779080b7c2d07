// Package workbench is what the terminal UI asks of servers and disks while an operator chooses: which connections there may be, what a server and its
// databases hold, which dumps lie in a folder, how long a job may take.
//
// Every call may take its time and is made outside of the UI's own goroutine; it ends with its context, and after [Limit] in any case. Nothing is written but the
// state file, which remembers connections and jobs, never a password.
package workbench

import "time"

// Limit bounds a call that asks a server.
const Limit = 20 * time.Second
