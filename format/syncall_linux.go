package format

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// syncfsNumber is the number of the system call syncfs, which package syscall does not know on all machines; 0: unknown.
var syncfsNumber = map[string]uintptr{"amd64": 306, "386": 344, "arm": 373, "arm64": 267, "loong64": 267, "riscv64": 267, "ppc64le": 348, "s390x": 338}[runtime.GOARCH]

// canSyncAll tells whether syncfs reports what could not be written: it does from Linux 5.8 on.
var canSyncAll = sync.OnceValue(func() bool {
	var u syscall.Utsname
	if syncfsNumber == 0 || syscall.Uname(&u) != nil {
		return false
	}
	var release []byte
	for _, c := range u.Release {
		release = append(release, byte(c))
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(release), "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 5 || major == 5 && minor >= 8
})

// syncAll brings everything to disk that the file system of f has to write. done is false where the system can't.
func syncAll(f *os.File) (done bool, err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var errno syscall.Errno
	if err := c.Control(func(fd uintptr) { _, _, errno = syscall.Syscall(syncfsNumber, fd, 0, 0) }); err != nil {
		return false, err
	}
	switch {
	case errno == 0:
		return true, nil
	case errors.Is(errno, syscall.ENOSYS), errors.Is(errno, syscall.EPERM): // some sandboxes
		return false, nil
	}
	return false, &os.PathError{Op: "syncfs", Path: f.Name(), Err: errno}
}
