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

	"github.com/zinc-compiler/zinc/compile/pair"
)

// Store is a folder of entries. Its only state is the folder, which any number of stores and processes may share.
type Store struct {
	// Folder contains the entries and is created by the first Put.
	Folder string
	// MaxBytes bounds the total size of the entries; 0 means no bound. The least recently used entries are removed
	// first.
	MaxBytes int64
	// Trust uses the folder even if others may write to it. They then decide what runs.
	Trust bool
}

// TrustError reports a folder to which others can write.
type TrustError struct{ Folder, Rule string }

func (e *TrustError) Error() string {
	return fmt.Sprintf("cache folder %s: %s, so that others decide what runs; make it writable for its owner alone",
		e.Folder, e.Rule)
}

// Check returns a *TrustError if others can write to the folder, unless it is trusted. A missing folder is fine: Put
// creates one for its owner alone.
func (s Store) Check() error {
	if s.Trust {
		return nil
	}
	info, err := os.Stat(s.Folder)
	if err != nil {
		return nil // using the folder reports what is wrong
	}
	if rule := distrust(info); rule != "" {
		return &TrustError{s.Folder, rule}
	}
	return nil
}

// Get returns the pair of a key and records its use. The error is fs.ErrNotExist if there is none, an *EntryError if
// it is corrupt, and a *TrustError if others can write to the folder.
func (s Store) Get(k pair.Key) (pair.Pair, error) {
	p, err := s.Verify(k)
	if err == nil {
		s.use(k)
	}
	return p, err
}

// use records the use of an entry.
func (s Store) use(k pair.Key) {
	now := time.Now()
	_ = os.Chtimes(s.Path(k), now, now) // fails in a read-only folder, where only the order of use is lost
}

// Put stores a pair, then removes old entries beyond the bound. It refuses an entry larger than the bound.
func (s Store) Put(k pair.Key, p pair.Pair) error {
	return s.put(k, entrySize(p), func() error { return writeEntry(s.Folder, k, p) })
}

// put stores an entry of n bytes, which write writes.
func (s Store) put(k pair.Key, n int64, write func() error) error {
	if s.MaxBytes > 0 && n > s.MaxBytes {
		return fmt.Errorf("cache: the entry has %d bytes; the limit of the cache is %d", n, s.MaxBytes)
	}
	if err := s.Check(); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	if s.MaxBytes <= 0 {
		return nil
	}
	_, err := s.collect(s.MaxBytes, k)
	return err
}

// Path returns the path of the entry of a key, whether or not it exists.
func (s Store) Path(k pair.Key) string { return entryPath(s.Folder, k) }

// Info describes one entry.
type Info struct {
	Key  pair.Key
	Size int64     // bytes of its files
	Used time.Time // when it was last got or put
}

// List returns the entries, most recently used first. A missing folder is empty; other files and folders are ignored.
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
		size := info.Size()
		if c, err := os.Lstat(apartPath(s.Folder, k)); err == nil {
			size += c.Size()
		}
		out = append(out, Info{k, size, info.ModTime()})
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

// Verify reads the entry of a key without recording a use. Its errors are as in Get.
func (s Store) Verify(k pair.Key) (pair.Pair, error) {
	if err := s.Check(); err != nil {
		return pair.Pair{}, err
	}
	return readEntry(s.Folder, k)
}

// Remove removes the entry of a key. It is not an error if there is none.
func (s Store) Remove(k pair.Key) error {
	for _, path := range []string{s.Path(k), apartPath(s.Folder, k)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Collected is the result of a collection.
type Collected struct {
	Removed, Kept           int
	RemovedBytes, KeptBytes int64
	Temporary               int // temporary files that writers left
}

// staleAfter is the age from which a temporary file is abandoned: no write of an entry takes an hour.
const staleAfter = time.Hour

// Collect removes the least recently used entries until the others take at most maxBytes, and the files of interrupted
// writers. If a file cannot be removed, it continues and returns an error.
func (s Store) Collect(maxBytes int64) (Collected, error) { return s.collect(maxBytes, pair.Key{}) }

// sweep removes the files of interrupted writers and returns their number.
func (s Store) sweep() (n int) {
	es, err := os.ReadDir(s.Folder)
	if err != nil {
		return 0
	}
	for _, e := range es {
		info, err := e.Info()
		if err != nil || !isTemporary(e.Name()) && !s.orphan(e.Name()) && !forgotten(e.Name(), info) {
			continue
		}
		if !info.Mode().IsRegular() || time.Since(info.ModTime()) < staleAfter {
			continue
		}
		if os.Remove(filepath.Join(s.Folder, e.Name())) == nil {
			n++
		}
	}
	return n
}

// orphan reports whether a name belongs to a container whose entry is missing.
func (s Store) orphan(name string) bool {
	digits, ok := strings.CutSuffix(name, apartSuffix)
	k, isKey := keyOfName(digits + entrySuffix)
	if !ok || !isKey {
		return false
	}
	_, err := os.Lstat(s.Path(k))
	return errors.Is(err, fs.ErrNotExist)
}

// isTemporary reports whether a name belongs to a temporary file of writeEntry.
func isTemporary(name string) bool {
	rest, ok := strings.CutPrefix(name, ".")
	if !ok || !strings.HasSuffix(rest, tempSuffix) {
		return false
	}
	digits, random, ok := strings.Cut(rest, ".")
	_, isKey := keyOfName(digits + entrySuffix)
	return ok && isKey && random != tempSuffix[1:]
}

// collect removes entries until the rest takes at most maxBytes. keep has just been put and stays even if the clock
// says that others are newer.
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
		// Entries older than a removed one are removed too: the order of use matters, not the best packing.
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
