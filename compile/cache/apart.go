package cache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/regularfile"
)

// An entry whose container is in the file KEY.hwx beside it, so that the system can copy it:
//
//	0   8  magic
//	8   32 key
//	40  8  bytes of the container
//	48  8  bytes of the descriptor
//	56  32 SHA-256 of the container
//	88  8  time of the container's last change, ns
//	96  8  time from which on the container had these bytes, ns
//	104 32 SHA-256 of everything before it and of everything after it
//	136 ...descriptor, and the summary to the end of the file
//
// The container's file is written before its entry and removed after it. The size and the time of the last change show
// whether the file has been changed since; only if they do not is it read and compared with its SHA-256.
const (
	apartMagic  = "ZINCE5C2"
	apartHeader = 136
	apartSuffix = ".hwx"
)

// apartBytes is the size from which a container has a file of its own.
const apartBytes = 1 << 20

// Entry is an entry whose container is in a file.
type Entry struct {
	Container  string // path of its file
	Descriptor []byte
	Summary    string // pair.Pair.Summary

	size             int64
	sum              [sha256.Size]byte
	changed, checked int64 // ns
}

func apartPath(folder string, k pair.Key) string {
	return filepath.Join(folder, k.String()+apartSuffix)
}

// bytes returns the bytes of the entry of a key.
func (e *Entry) bytes(k pair.Key) []byte {
	b := append(append(make([]byte, 0, apartHeader+len(e.Descriptor)+len(e.Summary)), apartMagic...), k[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.size))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(e.Descriptor)))
	b = append(b, e.sum[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.changed))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.checked))
	h := sha256.New()
	h.Write(b)
	h.Write(e.Descriptor)
	h.Write([]byte(e.Summary))
	return append(append(h.Sum(b), e.Descriptor...), e.Summary...)
}

// readApart reads an entry of size bytes. It looks at the container's file, but does not read it.
func readApart(folder string, k pair.Key, size int64, r io.Reader) (*Entry, error) {
	path := entryPath(folder, k)
	bad := func(format string, args ...any) error { return &EntryError{path, fmt.Sprintf(format, args...)} }
	b, err := io.ReadAll(io.LimitReader(r, size))
	if err != nil || len(b) < apartHeader {
		return nil, bad("%d bytes of its header of %d: %v", len(b), apartHeader, err)
	}
	c, d := binary.LittleEndian.Uint64(b[40:]), binary.LittleEndian.Uint64(b[48:])
	rest := b[apartHeader:]
	if c > MaxEntryBytes || d > uint64(len(rest)) {
		return nil, bad("container of %d and descriptor of %d bytes in a file of %d, limit %d", c, d, size,
			int64(MaxEntryBytes))
	}
	e := &Entry{
		Container: apartPath(folder, k), Descriptor: rest[:d:d], Summary: string(rest[d:]), size: int64(c),
		sum:     [sha256.Size]byte(b[56:]),
		changed: int64(binary.LittleEndian.Uint64(b[88:])), checked: int64(binary.LittleEndian.Uint64(b[96:])),
	}
	switch {
	case !bytes.Equal(b[8:40], k[:]):
		return nil, bad("key %x is not that of its name", b[8:40])
	case !bytes.Equal(b, e.bytes(k)):
		return nil, bad("the checksum is not that of the bytes")
	}
	info, err := os.Lstat(e.Container)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, bad("%v", err)
	case !info.Mode().IsRegular() || info.Size() != e.size:
		return nil, bad("its container %s is not a file of %d bytes", e.Container, e.size)
	}
	return e, nil
}

// pair reads the container and checks it.
func (e *Entry) pair() (pair.Pair, error) {
	b, err := regularfile.Read(e.Container)
	if errors.Is(err, fs.ErrNotExist) {
		return pair.Pair{}, err
	}
	if err == nil && sha256.Sum256(b) != e.sum {
		err = errors.New("the checksum is not that of the bytes")
	}
	if err != nil {
		return pair.Pair{}, &EntryError{e.Container, err.Error()}
	}
	return pair.Pair{Container: b, Descriptor: e.Descriptor, Summary: e.Summary}, nil
}

// Files are the files of the pair to write, given the path of one of them. The system copies the container.
func (e *Entry) Files(path string) []atomicfile.File {
	at := pair.PathsOf(path)
	return []atomicfile.File{
		{Path: at.Container, From: e.Container},
		atomicfile.Bytes(at.Descriptor, e.Descriptor),
	}
}

// Entry returns the entry of a key if its container is in a file, and records its use. It reads the container only if
// its file may have changed since the entry was written, or if all is set. The error is fs.ErrNotExist if there is no
// such entry; otherwise errors are as in Get.
func (s Store) Entry(k pair.Key, all bool) (*Entry, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	b, err := regularfile.Read(s.Path(k))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			err = &EntryError{s.Path(k), err.Error()}
		}
		return nil, err
	}
	if !bytes.HasPrefix(b, []byte(apartMagic)) {
		return nil, fs.ErrNotExist
	}
	e, err := readApart(s.Folder, k, int64(len(b)), bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(e.Container)
	if err != nil {
		return nil, err
	}
	if changed := info.ModTime(); all || changed.UnixNano() != e.changed || racy(changed, time.Unix(0, e.checked)) {
		now := time.Now()
		if _, err := e.pair(); err != nil {
			return nil, err
		}
		e.changed, e.checked = changed.UnixNano(), now.UnixNano()
		_ = e.write(s.Folder, k) // fails in a read-only folder, where the container is read again the next time
	}
	s.use(k)
	return e, nil
}

// racy reports whether a file could have been changed after it was read without a change of the time of its last
// change: that time is not long enough before the reading for the clock of the file system.
func racy(changed, read time.Time) bool {
	step := fineStep
	if changed.Nanosecond() == 0 {
		step = coarseStep
	}
	return !changed.Add(step).Before(read)
}

// Systems advance the times of files with the timer interrupt, unless the file system stores full or even seconds.
const (
	fineStep   = 20 * time.Millisecond
	coarseStep = 2 * time.Second
)

func (e *Entry) write(folder string, k pair.Key) error {
	return place(folder, k, entrySuffix, func(f *os.File) error { _, err := f.Write(e.bytes(k)); return err })
}

// placeApart writes the file of a container, which write writes, and sets the time of its last change to one that is
// long ago. Otherwise the file would be read the next time, because it could have been changed just after it was
// written. As long as it has a temporary name nobody else changes it, and later it gets another time.
func placeApart(folder string, k pair.Key, write func(f *os.File) error) error {
	return place(folder, k, apartSuffix, func(f *os.File) error {
		if err := write(f); err != nil {
			return err
		}
		_ = os.Chtimes(f.Name(), time.Time{}, time.Now().Add(-2*coarseStep)) // or it is read the next time
		return nil
	})
}

// putApart writes a pair as two files.
func putApart(folder string, k pair.Key, p pair.Pair) error {
	err := placeApart(folder, k, func(f *os.File) error { _, err := f.Write(p.Container); return err })
	if err != nil {
		return err
	}
	return entryOf(folder, k, int64(len(p.Container)), sha256.Sum256(p.Container), p)
}

// entryOf writes the entry of a pair whose container is in its file already.
func entryOf(folder string, k pair.Key, size int64, sum [sha256.Size]byte, p pair.Pair) error {
	now := time.Now()
	info, err := os.Lstat(apartPath(folder, k))
	if err != nil {
		return err
	}
	e := &Entry{
		Descriptor: p.Descriptor, Summary: p.Summary, size: size, sum: sum, changed: info.ModTime().UnixNano(),
		checked: now.UnixNano(),
	}
	return e.write(folder, k)
}

// PutFile stores a pair whose container is in a file of size bytes with the given SHA-256. The system copies the file,
// and shares its blocks where the file system can. The error is errors.ErrUnsupported if the file is too small to be
// worth it: Put stores it. p.Container is not used.
func (s Store) PutFile(k pair.Key, container string, size int64, sum [sha256.Size]byte, p pair.Pair) error {
	if size < apartBytes {
		return errors.ErrUnsupported
	}
	return s.put(k, size+apartHeader+int64(len(p.Descriptor)+len(p.Summary)), func() error {
		in, err := os.Open(container)
		if err != nil {
			return err
		}
		defer in.Close()
		err = placeApart(s.Folder, k, func(f *os.File) error {
			if n, err := atomicfile.Copy(f, in); err != nil || n != size {
				return cmp.Or(err, fmt.Errorf("%s has %d bytes, want %d", container, n, size))
			}
			return nil
		})
		if err != nil {
			return err
		}
		return entryOf(s.Folder, k, size, sum, p)
	})
}
