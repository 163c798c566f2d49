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
	"math"
	"os"

	"github.com/zinc-compiler/zinc/internal/memlimit"
)

// Read returns the bytes of the regular file at path. An error is one of the file system, or reports that the file is
// not regular, is empty or does not fit the limit of memory.
func Read(path string) ([]byte, error) { return ReadUpTo(path, math.MaxInt64) }

// ReadUpTo is the function Read for files of at most limit bytes.
func ReadUpTo(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	if info.Size() > limit {
		return nil, tooLong(path, info.Size(), limit)
	}
	if err := memlimit.Room(info.Size()); err != nil {
		return nil, fmt.Errorf("%s: reading the file %w", path, err)
	}
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		err = errors.New(path + ": the file is empty")
	}
	return b, err
}

func tooLong(path string, size, limit int64) error {
	return fmt.Errorf("%s: the file has %d bytes, the limit is %d", path, size, limit)
}
