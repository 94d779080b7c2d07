package format

import (
	"fmt"
	"strconv"
	"strings"
)

// Extensions of data files.
const (
	ExtPlain = ".pgcopy"
	ExtZstd  = ".pgcopy.zst"
)

// MaxLevel is the highest zstd level; levels above 10 are all the same to the encoder used here.
const MaxLevel = 22

// Compression says how the frames of a file are compressed. The zero value is none.
type Compression struct {
	Level int // of zstd, 1 to MaxLevel; 0: not compressed
}

// ParseCompression reads "none", "zstd" (level 1) or "zstd:LEVEL".
func ParseCompression(s string) (Compression, error) {
	name, level, given := strings.Cut(s, ":")
	switch {
	case s == "none":
		return Compression{}, nil
	case name != "zstd":
		return Compression{}, fmt.Errorf("compression %q: want none, zstd or zstd:LEVEL", s)
	case !given:
		return Compression{Level: 1}, nil
	}
	n, err := strconv.Atoi(level)
	if err != nil || n < 1 || n > MaxLevel {
		return Compression{}, fmt.Errorf("compression %q: the level must be a number from 1 to %d", s, MaxLevel)
	}
	return Compression{Level: n}, nil
}

// String returns what [ParseCompression] reads.
func (c Compression) String() string {
	if c.Level == 0 {
		return "none"
	}
	return "zstd:" + strconv.Itoa(c.Level)
}

// Ext returns the extension of such files.
func (c Compression) Ext() string {
	if c.Level == 0 {
		return ExtPlain
	}
	return ExtZstd
}
