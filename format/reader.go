package format

import (
	"errors"
	"io"
	"iter"
)

// Reader reads one file or stream, plain or compressed. Errors are [*Error] and stick. It is not safe for concurrent use.
type Reader struct{}

// NewReader finds out whether r is compressed and reads the header. The reader buffers; it reads r to its end.
func NewReader(r io.Reader) (*Reader, error) { return nil, errors.New("not written yet") }

// SetFile names the file in errors from now on.
func (r *Reader) SetFile(name string) {}

// Header returns the header.
func (r *Reader) Header() *Header { return nil }

// HeaderLen returns the length in bytes of the (decompressed) header: the offset of the first row.
func (r *Reader) HeaderLen() int64 { return 0 }

// Compressed says whether the file is zstd.
func (r *Reader) Compressed() bool { return false }

// Walker returns a new walker over the file's rows whose errors carry offsets in the file.
func (r *Reader) Walker() *Walker { return nil }

// ReadBlock reads the next bytes of rows into dst[:0] and returns them. From a plain file these are up to cap(dst) bytes, cut anywhere (cap(dst) must not be 0);
// from a compressed one they are one frame's content, whole rows, in a larger slice where dst does not suffice.
// It returns io.EOF at the end, after all checks of the container; rows are only checked by a [Walker].
func (r *Reader) ReadBlock(dst []byte) ([]byte, error) { return nil, errors.New("not written yet") }

// Totals returns what the file says about its rows: in the header, or at the end of a compressed stream; false where that is unknown.
func (r *Reader) Totals() (Totals, bool) { return Totals{}, false }

// Stored returns how many bytes of the file (as stored) have been taken so far.
func (r *Reader) Stored() int64 { return 0 }

// Finish compares the totals of a walk with those of the file; call it after ReadBlock returned io.EOF. Unknown totals (a plain stream) are not compared.
func (r *Reader) Finish(t Totals) error { return errors.New("not written yet") }

// Next returns the next row, valid until the following call, or io.EOF at the end, when everything has been checked.
// It must not be mixed with ReadBlock.
func (r *Reader) Next() (Row, error) { return nil, errors.New("not written yet") }

// Row is one row of a COPY stream: int16 field count, then each field's int32 length and bytes. A Row is well formed.
type Row []byte

// Fields yields each field's index from 0 and bytes; nil is NULL. The bytes are part of the row.
func (r Row) Fields() iter.Seq2[int, []byte] { return func(func(int, []byte) bool) {} }

// AppendFields appends each field's bytes to dst; nil is NULL.
func (r Row) AppendFields(dst [][]byte) [][]byte { return dst }
