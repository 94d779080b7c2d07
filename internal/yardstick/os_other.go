//go:build unix && !linux

package yardstick

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func freeOf(s *unix.Statfs_t) int64 { return int64(s.Bavail) * int64(s.Bsize) }

// directFlag is none here.
const directFlag = 0

// forget cannot be asked for here.
func forget(*os.File) error { return errors.ErrUnsupported }
