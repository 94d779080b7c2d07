package format

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// encoderWindow is how far back the encoder looks. Frames are about 1 MiB, so more would only cost memory.
const encoderWindow = 2 << 20

// Encoder makes zstd frames. It is not safe for concurrent use; each goroutine has its own.
type Encoder struct {
	zstd  *zstd.Encoder
	large bool // the last frame was larger than the window
}

// NewEncoder returns an encoder of a level from 1 to [MaxLevel].
func NewEncoder(level int) (*Encoder, error) {
	if level < 1 || level > MaxLevel {
		return nil, fmt.Errorf("zstd level %d is not from 1 to %d", level, MaxLevel)
	}
	z, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
		zstd.WithWindowSize(encoderWindow),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(true),
		zstd.WithSingleSegment(true), // else frames below 256 bytes come without content size
	)
	if err != nil {
		return nil, err
	}
	return &Encoder{zstd: z}, nil
}

// AppendFrame appends one complete frame, with content size and checksum, that holds raw: whole rows, and the trailer after the last. It keeps neither slice.
// raw must not be empty, nor longer than [MaxFrameContent] unless it is a single row. The frame is at most a hundredth longer than raw, and 1 KiB.
func (e *Encoder) AppendFrame(dst, raw []byte) []byte {
	if large := len(raw) > encoderWindow; large != e.large {
		// A decoder must have the whole of a single segment in memory, and stock zstd refuses one above 128 MiB.
		if err := e.zstd.ResetWithOptions(nil, zstd.WithSingleSegment(!large)); err != nil {
			panic(err) // the option is a constant
		}
		e.large = large
	}
	return e.zstd.EncodeAll(raw, dst)
}
