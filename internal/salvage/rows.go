package salvage

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/bytehaul/pghaul/format"
)

// What must speak for a row that was searched for, in bits: a few rows in a chain, or the last rows and the end of the file behind them.
const (
	bitsChain   = 192
	bitsCut     = 64      // the end of the file
	bitsTrailer = 32      // the trailer, and then the end of the file
	maxChain    = 64      // rows that are followed at most
	maxCrossing = 1 << 20 // the same, while they do not lead over a place that they must
)

// checkEvery is how many rows or places are looked at between two looks at the context.
const checkEvery = 4096

// rowScan is a walk over the rows of a plain file.
type rowScan struct {
	*damaged
	w, ahead window        // of the walk, and of looks ahead
	run      int64         // where the rows that follow each other began
	last     int64         // where the last of them begins; -1: none
	before   format.Totals // without the last
}

// scanRows walks over a plain file.
func (d *damaged) scanRows(ctx context.Context) error {
	s := &rowScan{damaged: d, w: window{src: d.src}, ahead: window{src: d.src}, last: -1}
	off, err := s.first(ctx)
	if err != nil {
		return err
	}
	s.run = off
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		end, _, v := s.shape.row(&s.w, off)
		if v == aRow && s.src.lost(off, end) {
			v = noField
		}
		if v == aRow {
			s.before, s.last = s.totals, off
			s.totals = s.totals.Add(format.Totals{Rows: 1, Length: end - off, Digest: format.DigestRow(s.w.at(off, int(end-off)))})
			off = end
			continue
		}
		next, err := s.mend(ctx, off, v)
		if err != nil || next < 0 {
			return err
		}
		off, s.run, s.last = next, next, -1
	}
}

// first finds the first row, of a file whose header may be damaged.
func (s *rowScan) first(ctx context.Context) (int64, error) {
	if s.certain {
		return s.start, nil
	}
	if c := s.chain(s.start, -1); c.sure() || c.trailer || s.endsAt(s.start) {
		return s.start, nil
	}
	c, err := s.search(ctx, s.start, s.size, -1)
	if err != nil {
		return 0, err
	}
	if c.at < 0 {
		s.lose(format.Lost{Offset: s.start, Bytes: s.size - s.start, Why: "no rows are found behind the header"})
		return s.size, nil
	}
	s.unsure = true
	s.say("the first row was searched for and found at offset %d (%s); whether rows stood before it can't be told", c.at, c)
	return c.at, nil
}

// endsAt tells whether the trailer stands at an offset and nothing behind it.
func (s *rowScan) endsAt(off int64) bool {
	_, _, v := s.shape.row(&s.ahead, off)
	return v == trailer && off+trailerLen == s.size
}

// isEnd tells whether the trailer at an offset is the file's: it is the last thing in it, all rows are there, or another file begins behind it.
func (s *rowScan) isEnd(off int64) bool {
	whole := s.totals
	whole.Length += trailerLen
	behind := s.w.at(off+trailerLen, len(format.Signature))
	return off+trailerLen == s.size || s.header.TotalsKnown && whole == s.header.Totals || string(behind) == format.Signature
}

// keep ends the run of good rows.
func (s *rowScan) keep(to int64) {
	if to > s.run {
		s.pieces = append(s.pieces, piece{at: s.run, stored: to - s.run, raw: to - s.run})
	}
}

// mend deals with what is no row at an offset, and returns where rows go on, or -1 at the end.
func (s *rowScan) mend(ctx context.Context, off int64, v verdict) (int64, error) {
	if v == trailer && s.isEnd(off) {
		s.keep(off)
		s.trailer = true
		if behind := s.size - off - trailerLen; behind > 0 {
			s.say("%d bytes stand behind the trailer", behind)
		}
		return -1, nil
	}
	if off == s.size {
		s.keep(off)
		if len(s.note.Lost) == 0 || s.last >= 0 {
			s.lose(format.Lost{Offset: off, Why: "the file ends without a trailer: it was cut off, or not written to its end"})
		}
		return -1, nil
	}
	from, c := off, chain{at: -1}
	if s.last >= 0 {
		// The length of the last row's last field may be what is damaged: then that is none, and there are rows within it that lead over this place.
		var err error
		if c, err = s.search(ctx, s.last+1, off, off); err != nil {
			return -1, err
		}
		if c.at >= 0 || v == noCount || v == trailer {
			from = s.last
		}
	}
	if c.at < 0 {
		var err error
		if c, err = s.search(ctx, off+1, s.size, -1); err != nil {
			return -1, err
		}
	}
	if v == trailer && c.at < 0 {
		s.keep(off)
		s.trailer = true
		s.lose(format.Lost{Offset: off + trailerLen, Bytes: s.size - off - trailerLen, Why: "bytes behind the trailer, which are no rows"})
		return -1, nil
	}
	if from != off {
		s.totals = s.before
	}
	s.keep(from)
	l := format.Lost{Offset: from, Bytes: s.size - from, Why: why(v)}
	if c.at >= 0 {
		l.Bytes, l.Resumed = c.at-from, "searched for: "+c.String()
	}
	s.lose(l)
	return c.at, nil
}

func why(v verdict) string {
	switch v {
	case trailer:
		return "a trailer where more rows follow"
	case noCount:
		return "no row begins where the one before ends, so that is left out too: the damage may be in its last field"
	case noField:
		return "a field of a length that it can't have, or bytes that can't be read"
	}
	return "a row that the end of the file cuts off, or a length that is damaged"
}

// chain is what follows an offset: rows that lead from one to the next.
type chain struct {
	at, end int64 // -1: none
	rows    int
	bits    int
	trailer bool // follows, and then the end of the file
	cut     bool // the end of the file follows
	crosses bool
}

func (c chain) String() string {
	s := fmt.Sprintf("%d rows in a chain", c.rows)
	if c.rows >= maxChain {
		s = fmt.Sprintf("%d rows and more in a chain", maxChain)
	}
	if c.trailer || c.cut {
		s += " to the end"
	}
	return fmt.Sprintf("%s, %d bits speak for them", s, c.bits)
}

// sure tells whether what speaks for a chain is enough.
func (c chain) sure() bool {
	if c.rows == 0 || !c.crosses {
		return false
	}
	return c.bits >= bitsChain && c.rows > 1 || c.cut && c.bits >= bitsCut || c.trailer && c.bits >= bitsTrailer
}

// chain follows the rows from an offset. One that begins before the offset pass (-1: any) must lead over it without a row that begins there.
func (s *rowScan) chain(from, pass int64) chain {
	c := chain{at: from, end: from, crosses: from >= pass}
	for c.rows < maxChain || !c.crosses && c.rows < maxCrossing {
		end, bits, v := s.shape.row(&s.ahead, c.end)
		if v != aRow {
			c.trailer, c.cut = c.rows > 0 && v == trailer && c.end+trailerLen == s.size, c.rows > 0 && c.end == s.size
			break
		}
		c.rows++
		c.bits += bits
		c.end = end
		c.crosses = c.crosses || end > pass
		if end == pass {
			return chain{at: from}
		}
	}
	return c
}

// search finds the first offset before to at which rows begin that lead on; see chain for pass. Without columns there is nothing to search for.
func (s *rowScan) search(ctx context.Context, from, to, pass int64) (chain, error) {
	none := chain{at: -1}
	if len(s.shape) == 0 {
		return none, nil
	}
	count := binary.BigEndian.AppendUint16(nil, uint16(len(s.shape)))
	w := window{src: s.src}
	for from+2 <= s.size && from < to {
		if ctx.Err() != nil {
			return none, context.Cause(ctx)
		}
		p := w.at(from, int(min(windowSize, s.size-from, to+1-from)))
		i := bytes.Index(p, count)
		if i < 0 {
			from += int64(len(p)) - 1
			continue
		}
		from += int64(i)
		if c := s.chain(from, pass); c.sure() && !s.src.lost(from, c.end) {
			return c, nil
		}
		from++
	}
	return none, nil
}
