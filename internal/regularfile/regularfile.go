// Package regularfile reads whole files that are regular.
//
// In: a path. Out: all bytes of the file behind it, of which there is at least one.
//
// Invariants: a pipe, a device or a folder is an error before it is opened,
// since reading it could wait or go on for ever.
package regularfile

import (
	"errors"
	"fmt"
	"os"
)

// Read returns the bytes of the regular file at path. Errors are those of the file
// system, or say that the file is none or empty.
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
