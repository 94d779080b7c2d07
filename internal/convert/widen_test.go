package convert

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

// narrow are values of the types that can be widened, as the server reads them: the ends, what lies beside them, and what is special.
var narrow = map[format.Name][]string{
	"int2":   {"0", "1", "-1", "9999", "10000", "-10000", "10001", "32767", "-32768"},
	"int4":   {"0", "1", "-1", "9999", "10000", "-10000", "99999999", "100000000", "100000001", "16777217", "2147483647", "-2147483648"},
	"int8":   {"0", "1", "-1", "10000", "-100000000", "1000000000000", "1000000000000000000", "9007199254740993", "9223372036854775807", "-9223372036854775808", "10000000000000001"},
	"float4": {"0", "-0", "1", "-0.1", "3.4028235e38", "-3.4028235e38", "1.1754944e-38", "1e-45", "-1e-45", "NaN", "Infinity", "-Infinity", "16777217"},
}

// random is a value of a type as the server reads it, of any magnitude.
func random(rng *rand.Rand, typ format.Name) string {
	bits := rng.Uint64() >> rng.IntN(64)
	switch typ {
	case "int2":
		return fmt.Sprint(int16(bits))
	case "int4":
		return fmt.Sprint(int32(bits))
	case "int8":
		return fmt.Sprint(int64(bits))
	}
	return fmt.Sprint(math.Float32frombits(rng.Uint32()))
}

// TestWideningsAreTheServersCasts: every widening gives the very bytes of the server's cast, and the proof reads them back as those that were given.
func TestWideningsAreTheServersCasts(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), pgtest.DB(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rng := rand.New(rand.NewPCG(9, 10))
	for w := Keep + 1; int(w) < len(widenings); w++ {
		from, to := widenings[w].from, widenings[w].to
		t.Run(string(from+" to "+to), func(t *testing.T) {
			values := append([]string(nil), narrow[from]...)
			for range 2000 {
				values = append(values, random(rng, from))
			}
			sql := fmt.Sprintf(`SELECT v, w, %s FROM (SELECT v, v::%s AS w FROM (SELECT t::%s AS v FROM unnest($1::text[]) t) n) x`, pg.NarrowSQL("w", from), to, from)
			rows, err := conn.Query(t.Context(), sql, pgx.QueryResultFormats{pgx.BinaryFormatCode}, values)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			seen := 0
			for ; rows.Next(); seen++ {
				raw := rows.RawValues()
				got, err := w.append(nil, raw[0])
				if err != nil || !bytes.Equal(got, sized(same(raw[1]))[0]) {
					t.Errorf("%s: %x, %v; the server casts to %x", values[seen], got, err, raw[1])
				}
				if !bytes.Equal(raw[2], raw[0]) {
					t.Errorf("%s: %x is read back as %x", values[seen], raw[0], raw[2])
				}
			}
			if rows.Err() != nil || len(narrow[from]) == 0 || seen != len(values) {
				t.Errorf("%d of %d values, %v", seen, len(values), rows.Err())
			}
		})
	}
}

func TestWideningOf(t *testing.T) {
	for _, c := range []struct {
		from, to format.Name
		want     Widening
	}{{"int4", "numeric", Int4ToNumeric}, {"int2", "float4", Int2ToFloat4}, {"int4", "float4", Keep}, {"int8", "float8", Keep}, {"int8", "int4", Keep}, {"float8", "numeric", Keep}, {"int4", "int4", Keep}, {"", "", Keep}} {
		if got := WideningOf(c.from, c.to); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.from, c.to, got, c.want)
		}
	}
}

func TestWideningRefusesOtherLengths(t *testing.T) {
	for w := Keep + 1; int(w) < len(widenings); w++ {
		for n := range 20 {
			if _, err := w.append(nil, make([]byte, n)); errors.Is(err, ErrMalformed) == (n == widenings[w].size) {
				t.Errorf("%s of %d bytes to %s: %v", widenings[w].from, n, widenings[w].to, err)
			}
		}
	}
}

func TestWideningAllocatesNothing(t *testing.T) {
	dst, value := make([]byte, 0, 64), []byte{0x80, 0, 0, 0, 0, 0, 0, 0}
	for w := Keep + 1; int(w) < len(widenings); w++ {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := w.append(dst, value[:widenings[w].size]); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s to %s: %v allocations a value", widenings[w].from, widenings[w].to, n)
		}
	}
}

// FuzzNumeric: a numeric that was made of a whole number is that number, in the one form that the server has for it.
func FuzzNumeric(f *testing.F) {
	for _, n := range []int64{0, 1, -1, 9999, 10000, -100000000, math.MaxInt64, math.MinInt64} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		p := appendNumeric(nil, n)
		be := binary.BigEndian
		count, weight, sign, scale := int(be.Uint16(p[4:])), int(be.Uint16(p[6:])), be.Uint16(p[8:]), be.Uint16(p[10:])
		if int(be.Uint32(p)) != len(p)-4 || len(p) != 12+2*count || scale != 0 || sign != 0 && sign != numericNegative {
			t.Fatalf("%d: %x", n, p)
		}
		base, got := big.NewInt(numericBase), new(big.Int)
		for i := range weight + 1 {
			digit := uint16(0)
			if i < count {
				digit = be.Uint16(p[12+2*i:])
			}
			if digit >= numericBase || digit == 0 && (i == 0 || i == count-1) && n != 0 {
				t.Fatalf("%d: digit %d is %d: %x", n, i+1, digit, p)
			}
			got.Add(got.Mul(got, base), big.NewInt(int64(digit)))
		}
		if sign != 0 {
			got.Neg(got)
		}
		if count > weight+1 || !got.IsInt64() || got.Int64() != n {
			t.Fatalf("%d became %s: %x", n, got, p)
		}
	})
}

func BenchmarkWiden(b *testing.B) {
	for w := Keep + 1; int(w) < len(widenings); w++ {
		b.Run(string(widenings[w].from+" to "+widenings[w].to), func(b *testing.B) {
			p, err := NewPlan([]Column{{Name: "c", Widen: w}}, []uint32{0}, Graph{})
			if err != nil {
				b.Fatal(err)
			}
			one := row(sized(same([]byte{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0}[:widenings[w].size])))[0]
			rows := bytes.Repeat(one, 1<<20/len(one))
			dst := make([]byte, 0, 4<<20)
			b.SetBytes(int64(len(rows)))
			b.ReportAllocs()
			for b.Loop() {
				if dst, err = p.Append(dst[:0], rows); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
