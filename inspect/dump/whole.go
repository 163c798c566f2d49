package dump

import (
	"os"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/internal/regularfile"
)

// longFile is the size from which Whole maps a file.
const longFile = 1 << 20

// Whole returns what stdin.Read does, from a mapping if the file is long. The bytes must not be changed, and not
// be used after close.
func Whole(path string, stdin *regularfile.Input) (data []byte, close func() error, err error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() >= longFile &&
		!stdin.IsStdin(path) {
		return blobfile.Map(path)
	}
	data, err = stdin.Read(path)
	return data, func() error { return nil }, err
}
