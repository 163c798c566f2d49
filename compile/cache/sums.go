package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zinc-compiler/zinc/compile/pair"
)

// A Store remembers the SHA-256 of zinc's executable and of the files of models, so that a file that was not changed is
// read only once. What is known about one file is in a file of its own, whose name is the SHA-256 of device, inode,
// size and the times of the last changes of contents and status, and whose contents are the SHA-256 of the file and of
// both.
const (
	sumSuffix = ".sum"
	sumDomain = "zinc file 1"
	// sumsAfter is the age from which what is known about a file is forgotten.
	sumsAfter = 90 * 24 * time.Hour
	// sumBytes is the size from which a file is remembered.
	sumBytes = 64 << 10
)

// FileSum returns a pair.SumFunc that reads a file only if it may have changed since it was read last, or if all is
// set.
func (s Store) FileSum(all bool) pair.SumFunc {
	return func(ctx context.Context, path string) (string, error) {
		began := time.Now()
		info, err := os.Stat(path)
		id, ok := "", false
		if err == nil && info.Size() >= sumBytes && s.Check() == nil {
			id, ok = identity(info)
		}
		if ok && !all {
			if sum, known := s.known(id); known {
				return sum, nil
			}
		}
		sum, err := pair.HashFile(ctx, path)
		if err != nil || !ok {
			return sum, err
		}
		if info, err = os.Stat(path); err != nil {
			return sum, nil // it is gone, but had this sum
		}
		if now, _ := identity(info); now == id && !racy(info.ModTime(), began) && !racy(statusTime(info), began) {
			s.remember(id, sum)
		}
		return sum, nil
	}
}

func (s Store) sumPath(id string) string { return filepath.Join(s.Folder, id+sumSuffix) }

func sealed(id, sum string) []byte {
	seal := sha256.Sum256([]byte(sumDomain + id + sum))
	return append([]byte(sum), seal[:]...)
}

// known returns the sum of the file with an identity.
func (s Store) known(id string) (sum string, ok bool) {
	b, err := os.ReadFile(s.sumPath(id))
	if err != nil || len(b) != 2*sha256.Size {
		return "", false
	}
	sum = string(b[:sha256.Size])
	return sum, string(b) == string(sealed(id, sum))
}

// remember stores the sum of the file with an identity. If it fails, the file is read again the next time.
func (s Store) remember(id, sum string) {
	if os.MkdirAll(s.Folder, 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(s.Folder, "."+id+".*"+tempSuffix)
	if err != nil {
		return
	}
	_, err = f.Write(sealed(id, sum))
	if err2 := f.Close(); err != nil || err2 != nil || os.Rename(f.Name(), s.sumPath(id)) != nil {
		os.Remove(f.Name())
	}
}

// forgotten reports whether a file of the folder is what was known about a file long ago.
func forgotten(name string, info fs.FileInfo) bool {
	digits, ok := strings.CutSuffix(name, sumSuffix)
	_, isKey := keyOfName(digits + entrySuffix)
	return ok && isKey && time.Since(info.ModTime()) > sumsAfter
}

// identify returns the SHA-256 of numbers, in hexadecimal.
func identify(numbers ...int64) string {
	b := []byte(sumDomain)
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return pair.Key(sha256.Sum256(b)).String()
}
