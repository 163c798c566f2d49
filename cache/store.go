package cache

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zinc-compiler/zinc/pair"
)

// Store is a folder of entries. It holds no state but the folder's: any number of
// stores, in any number of processes, may share one folder.
type Store struct {
	// Folder holds the entries; it is made when the first is put.
	Folder string
	// MaxBytes bounds the bytes of all entries together, 0 for no bound. The entries
	// that were used longest ago go first.
	MaxBytes int64
}

// Get returns the pair of a key and notes its use. An error is fs.ErrNotExist when
// there is none, an *EntryError when it is not whole.
func (s Store) Get(k pair.Key) (pair.Pair, error) {
	p, err := readEntry(s.Folder, k)
	if err == nil {
		now := time.Now()
		_ = os.Chtimes(s.Path(k), now, now) // in a folder that is only read, the order of use is lost, not the entry
	}
	return p, err
}

// Put keeps a pair, and then drops what the bound leaves no room for: of an entry
// that is larger than the bound itself nothing is kept, which is an error.
func (s Store) Put(k pair.Key, p pair.Pair) error {
	if n := entrySize(p); s.MaxBytes > 0 && n > s.MaxBytes {
		return fmt.Errorf("cache: an entry of %d bytes in a cache of at most %d", n, s.MaxBytes)
	}
	if err := writeEntry(s.Folder, k, p); err != nil {
		return err
	}
	if s.MaxBytes <= 0 {
		return nil
	}
	_, err := s.collect(s.MaxBytes, k)
	return err
}

// Path is where the entry of a key is, or would be.
func (s Store) Path(k pair.Key) string { return entryPath(s.Folder, k) }

// Info is one entry as the folder lists it.
type Info struct {
	Key  pair.Key
	Size int64     // bytes of its file
	Used time.Time // when it was last got or put
}

// List returns the entries, the one used last first. A folder that is not there
// holds none; files that are no entries, and folders, are left out.
func (s Store) List() ([]Info, error) {
	es, err := os.ReadDir(s.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, e := range es {
		k, ok := keyOfName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process collected it
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Info{k, info.Size(), info.ModTime()})
	}
	slices.SortFunc(out, func(a, b Info) int {
		return cmp.Or(b.Used.Compare(a.Used), slices.Compare(a.Key[:], b.Key[:]))
	})
	return out, nil
}

func keyOfName(name string) (k pair.Key, ok bool) {
	digits, ok := strings.CutSuffix(name, entrySuffix)
	if !ok || len(digits) != hex.EncodedLen(len(k)) || digits != strings.ToLower(digits) {
		return k, false
	}
	_, err := hex.Decode(k[:], []byte(digits))
	return k, err == nil
}

// Verify reads the entry of a key without noting a use. Its errors are those of
// Get.
func (s Store) Verify(k pair.Key) (pair.Pair, error) { return readEntry(s.Folder, k) }

// Remove drops the entry of a key; that there is none is not an error.
func (s Store) Remove(k pair.Key) error {
	if err := os.Remove(s.Path(k)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Collected says what a collection did.
type Collected struct {
	Removed, Kept           int
	RemovedBytes, KeptBytes int64
	Temporary               int // files that writers left behind and never renamed
}

// staleAfter is the age at which a file that was never renamed has no writer any
// more: no write of an entry takes an hour.
const staleAfter = time.Hour

// Collect drops entries, those used longest ago first, until the others take no
// more than maxBytes, and whatever interrupted writers left behind. What cannot be
// dropped is an error, and the others are dropped all the same.
func (s Store) Collect(maxBytes int64) (Collected, error) { return s.collect(maxBytes, pair.Key{}) }

// sweep drops what interrupted writers left behind and returns how many files.
func (s Store) sweep() (n int) {
	es, err := os.ReadDir(s.Folder)
	if err != nil {
		return 0
	}
	for _, e := range es {
		if !isTemporary(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < staleAfter {
			continue
		}
		if os.Remove(filepath.Join(s.Folder, e.Name())) == nil {
			n++
		}
	}
	return n
}

// isTemporary reports whether a name is one that writeEntry gives a file before it
// is whole.
func isTemporary(name string) bool {
	rest, ok := strings.CutPrefix(name, ".")
	if !ok || !strings.HasSuffix(rest, tempSuffix) {
		return false
	}
	digits, random, ok := strings.Cut(rest, ".")
	_, isKey := keyOfName(digits + entrySuffix)
	return ok && isKey && random != tempSuffix[1:]
}

// collect drops entries until maxBytes hold the rest. keep was put just now: it
// stays though the clock says that others are younger.
func (s Store) collect(maxBytes int64, keep pair.Key) (Collected, error) {
	var c Collected
	list, err := s.List()
	if err != nil {
		return c, err
	}
	c.Temporary = s.sweep()
	var errs []error
	if i := slices.IndexFunc(list, func(e Info) bool { return e.Key == keep }); i > 0 {
		kept := list[i]
		copy(list[1:i+1], list[:i])
		list[0] = kept
	}
	full := false
	for _, e := range list {
		// What was used before an entry that went goes too: the order is that of use,
		// not the best packing.
		if !full && c.KeptBytes+e.Size <= maxBytes {
			c.Kept++
			c.KeptBytes += e.Size
			continue
		}
		full = true
		path := s.Path(e.Key)
		if now, err := os.Lstat(path); err == nil && now.ModTime().After(e.Used) {
			// Another process has used it since the list was made.
			c.Kept++
			c.KeptBytes += now.Size()
			continue
		}
		if err := s.Remove(e.Key); err != nil {
			errs = append(errs, err)
			c.Kept++
			c.KeptBytes += e.Size
			continue
		}
		c.Removed++
		c.RemovedBytes += e.Size
	}
	return c, errors.Join(errs...)
}
