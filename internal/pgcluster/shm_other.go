//go:build !(linux && (amd64 || arm64))

package pgcluster

// removeSegment would remove a System V shared memory segment; here the system keeps it.
func removeSegment(int) {}
