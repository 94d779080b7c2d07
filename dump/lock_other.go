//go:build !unix || solaris || aix

package dump

import (
	"io"
	"os"
)

// lockFolder keeps nobody out: the name of the folder for data, which must be new, does.
func lockFolder(root *os.Root) (io.Closer, error) { return root.Open(".") }
