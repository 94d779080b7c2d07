package flow

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
