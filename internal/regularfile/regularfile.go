// Package regularfile reads whole regular files.
//
// It takes a path and returns all bytes of the file, at least one. An Input also
// reads standard input.
//
// Invariants: a pipe, a device or a folder is an error before it is opened,
// because reading it could block or never end.
package regularfile

import (
	"errors"
	"fmt"
	"os"
)

// Read returns the bytes of the regular file at path. An error is one of the file system, or reports that the file is
// not regular or is empty.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		err = errors.New(path + ": the file is empty")
	}
	return b, err
}
