package flow

import "github.com/bytehaul/pghaul/format"

// What a row and a field cost a server beside their bytes, in bytes of a long value. Of the tables that `make bench` measures, COPY TO takes 80 ns for each row, 60 ns for
// each field and 2.5 ns for each byte; COPY FROM 217, 42 and 3 ns. One weight for both is near enough to put work in order.
const (
	rowEffort   = 50
	fieldEffort = 20
)

// Effort estimates what it costs a server to send or to take rows, for their order and for their balance between connections: so many bytes of so many rows of so
// many columns. By bytes alone, tables of many numbers would come too late, and then keep one connection at work when the others have ended.
func Effort(bytes, rows int64, columns int) float64 {
	return float64(bytes) + float64(max(rows, 0))*float64(rowEffort+fieldEffort*columns)
}

// A table that takes more than half of a connection's share of the work would keep one connection busy when the others have ended. It is cut into pieces of an
// eighth of a share, which can be put where there is time left.
const (
	piecesPerJob = 8
	longPieces   = 4 // half a share
)

// SmallestPiece is the least size of a piece in bytes: a piece of a dump costs a file, and a transaction when it is restored.
const SmallestPiece = 32 << 20

// PieceBytes gives the size of the pieces, none below smallest, into which a table of so many bytes should be cut for so many connections, when it takes so much effort out
// of total for all tables; 0: it should stay whole.
func PieceBytes(bytes int64, effort, total float64, jobs int, smallest int64) int64 {
	piece := total / float64(jobs*piecesPerJob)
	if jobs <= 1 || effort <= longPieces*piece {
		return 0
	}
	return max(smallest, int64(float64(bytes)*piece/effort))
}

// maxRanges bounds the pieces of one table.
const maxRanges = 100_000

// PageRanges cuts a heap of so many pages, which with its TOAST is so many bytes, into ranges of about piece bytes; one nil range when it stays whole. The last one is
// open-ended: rows that are younger than the page count are invisible to the snapshot anyway.
func PageRanges(pages, bytes, piece int64) []*format.CTIDRange {
	if piece <= 0 || bytes <= piece || pages < 2 {
		return []*format.CTIDRange{nil}
	}
	n := min((bytes+piece-1)/piece, pages, maxRanges)
	ranges := make([]*format.CTIDRange, n)
	for i := range ranges {
		ranges[i] = &format.CTIDRange{From: uint32(int64(i) * pages / n), To: uint32(int64(i+1) * pages / n)}
	}
	ranges[n-1].To = 0
	return ranges
}
