package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/bytehaul/pghaul/internal/show"
)

// checkInput refuses a named pipe for a file: opening one waits without end for a program that writes into it, past a ctrl-c too. What a shell puts below /dev
// and /proc has its writer already. That a path is not there its reader tells.
func checkInput(path string) error {
	if !isNamedPipe(path) {
		return nil
	}
	return usagef("%s is a named pipe, and no file", show.Text(path)).hint("give \"-\" in its place and let the shell open the pipe: - < %s", shellWord(path))
}

func isNamedPipe(path string) bool {
	info, err := os.Stat(path)
	clean := filepath.Clean(path)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0 && !strings.HasPrefix(clean, "/dev/") && !strings.HasPrefix(clean, "/proc/")
}
