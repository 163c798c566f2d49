package provenance

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"strings"
)

// The layout of a bbolt file, version 2: pages of one size, of which the first two
// are meta pages (the one with the later transaction is valid), and a B+ tree for
// each bucket.
const (
	pageSize     = 4096
	pageHeader   = 16 // u64 id, u16 flags, u16 count, u32 overflow
	boltMagic    = 0xed0cdaed
	boltVersion  = 2
	metaSize     = 64
	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagMeta     = 0x04
	leafElem     = 16 // u32 flags, pos, key size, value size
	branchElem   = 16 // u32 pos, key size, u64 page
	bucketHeader = 16 // u64 root page, u64 sequence
	leafBucket   = 0x01
	// maxDepth bounds the tree; every branch page has at least two children.
	maxDepth = 64
)

var le = binary.LittleEndian

// Is reports whether b begins like a bbolt file.
func Is(b []byte) bool {
	return len(b) >= pageHeader+metaSize && le.Uint16(b[8:])&flagMeta != 0 && le.Uint32(b[pageHeader:]) == boltMagic
}

// pair is a key and its value; off is where the key is in the file.
type pair struct {
	key, value []byte
	off        int64
}

// boltReader walks the tree of one file. It reads no page twice, and the elements of
// a page must not be longer than the page in total, so that its result is never
// longer than the file.
type boltReader struct {
	b    []byte
	seen map[uint64]bool
	last []byte // previous key, which must be smaller
	out  []pair
}

// readBucket returns the pairs of the only bucket of a file, in order.
func readBucket(b []byte, name string) ([]pair, error) {
	root, err := rootPage(b)
	if err != nil {
		return nil, err
	}
	top := &boltReader{b: b, seen: map[uint64]bool{}}
	var at []byte
	var off int64
	err = top.walk(root, 0, func(flags uint32, p pair) error {
		if v, ok := strings.CutPrefix(string(p.key), bucketPrefix); ok && flags&leafBucket != 0 &&
			string(p.key) != name && at == nil {
			return badf(p.off, "version",
				"%.20q: this zinc reads version %s; compile the model again with a debug database",
				v, strings.TrimPrefix(name, bucketPrefix))
		}
		if flags&leafBucket == 0 || string(p.key) != name || at != nil {
			return badf(p.off, "bucket",
				"%.40q, want only the bucket %q: the file was written by another program", p.key, name)
		}
		at, off = p.value, p.off+int64(len(p.key))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(at) < bucketHeader {
		return nil, badf(off, "bucket", "%q has %d bytes, want at least %d", name, len(at), bucketHeader)
	}
	r := &boltReader{b: b, seen: top.seen}
	collect := func(flags uint32, p pair) error {
		if flags != 0 {
			return badf(p.off, "element flags", "%#x, want 0 for a record", flags)
		}
		r.out = append(r.out, p)
		return nil
	}
	if root := le.Uint64(at); root != 0 {
		err = r.walk(root, 0, collect)
	} else {
		// A small bucket is stored in its element, with its own page header.
		err = r.page(at[bucketHeader:], off+bucketHeader, 0, collect)
	}
	return r.out, err
}

// rootPage returns the page of the root bucket from the newer of the two meta pages.
func rootPage(b []byte) (uint64, error) {
	if !Is(b) {
		return 0, badf(0, "magic", "the first bytes are not those of a bbolt file")
	}
	if len(b)%pageSize != 0 || len(b) < 4*pageSize {
		return 0, badf(-1, "size", "%d bytes, want at least four whole pages of %d bytes", len(b), pageSize)
	}
	var root, tx uint64
	found := false
	for i := range 2 {
		m := b[i*pageSize+pageHeader:][:metaSize]
		h := fnv.New64a()
		h.Write(m[:metaSize-8])
		if le.Uint32(m) != boltMagic || le.Uint32(m[4:]) != boltVersion || le.Uint32(m[8:]) != pageSize ||
			le.Uint64(m[56:]) != h.Sum64() {
			continue
		}
		if id := le.Uint64(m[48:]); !found || id > tx {
			found, tx, root = true, id, le.Uint64(m[16:])
		}
	}
	if !found {
		return 0, badf(pageHeader, "meta", "neither meta page has version %d, pages of %d bytes and a valid checksum",
			boltVersion, pageSize)
	}
	return root, nil
}

// walk visits the elements below a page of the file.
func (r *boltReader) walk(id uint64, depth int, visit func(flags uint32, p pair) error) error {
	pages := uint64(len(r.b) / pageSize)
	if id < 2 || id >= pages {
		return badf(-1, "page", "number %d, want one of the data pages 2 to %d", id, pages-1)
	}
	off := id * pageSize
	head := r.b[off:][:pageHeader]
	if got := le.Uint64(head); got != id {
		return badf(int64(off), "page", "number %d, but the page states %d", id, got)
	}
	more := uint64(le.Uint32(head[12:]))
	if more >= pages-id {
		return badf(int64(off)+12, "overflow", "%d more pages run past the file's %d", more, pages)
	}
	for k := id; k <= id+more; k++ {
		if r.seen[k] {
			return badf(int64(off), "page", "number %d is used twice", k)
		}
		r.seen[k] = true
	}
	return r.page(r.b[off:(id+more+1)*pageSize], int64(off), depth, visit)
}

// page visits the elements of one page, at byte off of the file.
func (r *boltReader) page(b []byte, off int64, depth int, visit func(flags uint32, p pair) error) error {
	if depth > maxDepth {
		return badf(off, "tree", "it exceeds the depth limit of %d pages", maxDepth)
	}
	if len(b) < pageHeader {
		return badf(off, "page", "%d bytes, want at least the %d of the header", len(b), pageHeader)
	}
	flags, count := le.Uint16(b[8:]), int(le.Uint16(b[10:]))
	if flags != flagLeaf && flags != flagBranch {
		return badf(off+8, "page flags", "%#x, want a leaf (%#x) or a branch (%#x)", flags, flagLeaf, flagBranch)
	}
	if pageHeader+leafElem*count > len(b) {
		return badf(off+10, "count", "%d elements run past the page of %d bytes", count, len(b))
	}
	room := len(b) - pageHeader - leafElem*count
	// take returns n bytes at pos, counted from element e.
	take := func(e int, pos, n uint32) ([]byte, int64, error) {
		at := uint64(e) + uint64(pos)
		if at+uint64(n) > uint64(len(b)) || int64(n) > int64(room) {
			return nil, 0, badf(off+int64(e), "element", "%d bytes at %#x of the page run past its %d", n, at, len(b))
		}
		room -= int(n)
		return b[at : at+uint64(n) : at+uint64(n)], off + int64(at), nil
	}
	for i := range count {
		e := pageHeader + leafElem*i
		w := b[e:]
		if flags == flagBranch {
			if _, _, err := take(e, le.Uint32(w), le.Uint32(w[4:])); err != nil {
				return err
			}
			if err := r.walk(le.Uint64(w[8:]), depth+1, visit); err != nil {
				return err
			}
			continue
		}
		key, at, err := take(e, le.Uint32(w[4:]), le.Uint32(w[8:]))
		if err != nil {
			return err
		}
		if len(key) == 0 || r.last != nil && bytes.Compare(key, r.last) <= 0 {
			return badf(at, "key", "%x, want a non-empty key greater than the previous one", key)
		}
		r.last = key
		pos := uint64(le.Uint32(w[4:])) + uint64(len(key))
		if pos > 1<<32-1 {
			return badf(at, "element", "the position of its value, %#x, exceeds 32 bits", pos)
		}
		value, _, err := take(e, uint32(pos), le.Uint32(w[12:]))
		if err != nil {
			return err
		}
		if err := visit(le.Uint32(w), pair{key, value, at}); err != nil {
			return err
		}
	}
	return nil
}
