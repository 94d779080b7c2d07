//go:build !linux

package format

import "os"

// canSyncAll tells that files are brought to disk one by one.
func canSyncAll() bool { return false }

// syncAll does nothing where the system has no such call.
func syncAll(*os.File) (done bool, err error) { return false, nil }
