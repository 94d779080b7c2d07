//go:build linux && (amd64 || arm64)

package pgcluster

import "syscall"

// removeSegment removes a System V shared memory segment; id -1 does nothing.
func removeSegment(id int) {
	if id < 0 {
		return
	}
	const ipcRmid = 0 // IPC_RMID, see shmctl(2)
	_, _, _ = syscall.Syscall(syscall.SYS_SHMCTL, uintptr(id), ipcRmid, 0)
}
