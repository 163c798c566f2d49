package cache

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zinc-compiler/zinc/compile/pair"
)

// An entry of the cache is one file, so that it is replaced whole. If the container is large, it is in a file of its
// own (apart.go); otherwise it is in the entry:
//
//	0   8  magic
//	8   32 key
//	40  8  bytes of the container
//	48  8  bytes of the descriptor
//	56  32 SHA-256 of everything before it and of everything after it
//	88  ...container, descriptor, and the summary to the end of the file
const (
	entryMagic  = "ZINCE5C3"
	entryHeader = 88
	entrySumAt  = 56
	entrySuffix = ".e5cache"
	tempSuffix  = ".tmp"
)

// MaxEntryBytes bounds an entry of the cache.
const MaxEntryBytes = 8 << 30

// EntryError reports a corrupt or incomplete cache entry.
type EntryError struct{ Path, Rule string }

func (e *EntryError) Error() string { return "cache: entry " + e.Path + ": " + e.Rule }

// entrySize returns the bytes that a pair takes in the folder.
func entrySize(p pair.Pair) int64 {
	return entryHeader + int64(len(p.Container)) + int64(len(p.Descriptor)) + int64(len(p.Summary))
}

func entryPath(folder string, k pair.Key) string {
	return filepath.Join(folder, k.String()+entrySuffix)
}

// readEntry reads an entry. The error is fs.ErrNotExist if there is none, and an *EntryError if it is corrupt.
func readEntry(folder string, k pair.Key) (pair.Pair, error) {
	path := entryPath(folder, k)
	bad := func(format string, args ...any) (pair.Pair, error) {
		return pair.Pair{}, &EntryError{path, fmt.Sprintf(format, args...)}
	}
	// failed handles an error of the file system. Another process may remove the entry at any time, which is
	// fs.ErrNotExist.
	failed := func(what string, err error) (pair.Pair, error) {
		if errors.Is(err, fs.ErrNotExist) {
			return pair.Pair{}, err
		}
		return bad("%s%v", what, err)
	}
	// Before it is opened: opening a pipe would wait for its other end.
	info, err := os.Lstat(path)
	if err != nil {
		return failed("", err)
	}
	if !info.Mode().IsRegular() {
		return bad("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return failed("", err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return failed("", err)
	}
	var h [entryHeader]byte
	if _, err := io.ReadFull(f, h[:]); err != nil {
		return failed(fmt.Sprintf("header of %d bytes: ", entryHeader), err)
	}
	if string(h[:8]) == apartMagic {
		e, err := readApart(folder, k, info.Size(), io.MultiReader(bytes.NewReader(h[:]), f))
		if err != nil {
			return pair.Pair{}, err
		}
		return e.pair()
	}
	if string(h[:8]) != entryMagic {
		return bad("magic %q, want %q", h[:8], entryMagic)
	}
	if !bytes.Equal(h[8:40], k[:]) {
		return bad("key %x is not that of its name", h[8:40])
	}
	c, d := binary.LittleEndian.Uint64(h[40:]), binary.LittleEndian.Uint64(h[48:])
	if size := uint64(info.Size()); size > MaxEntryBytes || c > size || d > size || c+d+entryHeader > size {
		return bad("container of %d and descriptor of %d bytes in a file of %d, limit %d", c, d, size,
			int64(MaxEntryBytes))
	}
	// The file may be sparse or truncated: read what there is, in steps.
	want := info.Size() - entryHeader
	body, err := io.ReadAll(io.LimitReader(f, want))
	if err != nil {
		return failed("", err)
	}
	if int64(len(body)) != want {
		return bad("%d bytes after the header of a file of %d", len(body), info.Size())
	}
	if sum := entrySum(h[:entrySumAt], body); !bytes.Equal(sum, h[entrySumAt:]) {
		return bad("the checksum is not that of the bytes")
	}
	return pair.Pair{Container: body[:c:c], Descriptor: body[c : c+d : c+d], Summary: string(body[c+d:])}, nil
}

// entrySum returns the SHA-256 of an entry: of the header before it, and of what follows it.
func entrySum(header []byte, body ...[]byte) []byte {
	h := sha256.New()
	h.Write(header)
	for _, b := range body {
		h.Write(b)
	}
	return h.Sum(nil)
}

// writeEntry writes an entry atomically. A concurrent writer of the same entry writes the same bytes.
func writeEntry(folder string, k pair.Key, p pair.Pair) (err error) {
	if n := entrySize(p); n > MaxEntryBytes {
		return fmt.Errorf("cache: the entry has %d bytes; the limit of an entry is %d", n, int64(MaxEntryBytes))
	}
	if len(p.Container) >= apartBytes {
		return putApart(folder, k, p)
	}
	h := append(append(make([]byte, 0, entryHeader), entryMagic...), k[:]...)
	h = binary.LittleEndian.AppendUint64(h, uint64(len(p.Container)))
	h = binary.LittleEndian.AppendUint64(h, uint64(len(p.Descriptor)))
	body := [][]byte{p.Container, p.Descriptor, []byte(p.Summary)}
	h = append(h, entrySum(h, body...)...)
	return place(folder, k, entrySuffix, func(w *os.File) error {
		for _, b := range append([][]byte{h}, body...) {
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
		return nil
	})
}

// place writes the file of a key with a suffix under a temporary name, and renames it. Other users' processes may read
// a shared folder, as far as the user's mask lets them.
func place(folder string, k pair.Key, suffix string, write func(f *os.File) error) (err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	temp := filepath.Join(folder, "."+k.String()+"."+rand.Text()+tempSuffix)
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	// Sync before the rename, so that a crash cannot leave a name without its bytes.
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(folder, k.String()+suffix)) // replaces a link, not what it points to
}
