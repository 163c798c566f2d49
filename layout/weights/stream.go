package weights

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/internal/sha256x2"
)

// piece is the bytes of one stored constant, either in memory or as what packs them. A packed constant is never whole
// in memory: it is packed window by window.
type piece struct {
	size int
	data []byte
	jobs iter.Seq[job] // in the order of the bytes; nil for a constant in memory
}

func inMemory(data []byte) piece { return piece{size: len(data), data: data} }

// paddedRows returns what copies rows of rowBytes to places stride bytes apart.
func paddedRows(data []byte, rowBytes, stride int) iter.Seq[job] {
	return func(yield func(job) bool) {
		for at := 0; at < len(data); at += rowBytes {
			if !yield(job{size: stride, rows: data[at : at+rowBytes], lanes: 1}) {
				return
			}
		}
	}
}

// same reports whether two pieces are packed from the same memory in the same way. Equal bytes in other memory are not
// looked at.
func (p *piece) same(q *piece) bool {
	if p.jobs == nil || q.jobs == nil {
		return p.jobs == nil && q.jobs == nil && sameMemory(p.data, q.data)
	}
	next, stop := iter.Pull(q.jobs)
	defer stop()
	for j := range p.jobs {
		if k, ok := next(); !ok || !j.same(&k) {
			return false
		}
	}
	_, more := next()
	return !more
}

// same reports whether two jobs pack the same rows in the same way.
func (j *job) same(k *job) bool {
	return bytes.Equal(j.lead, k.lead) && slices.Equal(j.book, k.book) && sameMemory(j.rows, k.rows) &&
		slices.Equal(j.bias, k.bias) && slices.Equal(j.scales, k.scales) && j.size == k.size && j.red == k.red &&
		j.lanes == k.lanes && j.step == k.step &&
		j.stride == k.stride
}

func sameMemory(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// A window is windowBytes long, or as long as its only job, if that is longer. Windows of a pipeline are packed while
// those before them are in use. With 8 of them the goroutines of a pipeline seldom wait for each other: writing and
// hashing 257 MB takes 0.19 s with 3 windows, 0.15 s with 8 (two cores of an AMD EPYC, medians of 7).
const (
	windowBytes = 1 << 20
	windows     = 8
)

// window is consecutive bytes of a section: data, or what the jobs pack.
type window struct {
	size int
	data []byte
	jobs []job
}

// pack returns the bytes of the window, which are in buf if it is long enough.
func (w *window) pack(buf []byte) []byte {
	if w.data != nil {
		return w.data
	}
	if len(buf) < w.size {
		buf = make([]byte, w.size)
	}
	at := 0
	for i := range w.jobs {
		j := &w.jobs[i]
		j.do(buf[at : at+j.size])
		at += j.size
	}
	return buf[:w.size]
}

// windowsOf divides pieces into windows. The jobs of a window are valid until the next one is requested.
func windowsOf(pieces []piece) iter.Seq[*window] {
	return func(yield func(*window) bool) {
		var w window
		flush := func() bool {
			if w.size == 0 {
				return true
			}
			ok := yield(&w)
			w = window{jobs: w.jobs[:0]}
			return ok
		}
		for _, p := range pieces {
			if p.jobs == nil {
				for at := 0; at < p.size; at += windowBytes {
					n := min(windowBytes, p.size-at)
					if !flush() || !yield(&window{size: n, data: p.data[at : at+n]}) {
						return
					}
				}
				continue
			}
			for j := range p.jobs {
				if w.size+j.size > windowBytes && !flush() {
					return
				}
				w.jobs = append(w.jobs, j)
				w.size += j.size
			}
		}
		flush()
	}
}

// each calls near and far, which may be nil, with the bytes of the pieces, window by window in their order. With one
// worker it calls them in turn. Otherwise the goroutine that packs a window also calls near, while far is called with
// the windows before it.
func (s *Section) each(pieces []piece, near, far func([]byte) error) error {
	total := 0
	for _, p := range pieces {
		total += p.size
	}
	if s.workers() == 1 || total <= windowBytes || far == nil {
		if len(s.buf) < min(total, windowBytes) {
			s.buf = make([]byte, min(total, windowBytes))
		}
		return inSequence(pieces, s.buf, near, far)
	}
	return pipeline(pieces, near, far)
}

// inSequence is each without another goroutine. It packs windows into buf.
func inSequence(pieces []piece, buf []byte, uses ...func([]byte) error) error {
	for w := range windowsOf(pieces) {
		b := w.pack(buf)
		for _, use := range uses {
			if use == nil {
				continue
			}
			if err := use(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// pipeline is each with a goroutine that packs.
func pipeline(pieces []piece, near, far func([]byte) error) error {
	free, full, stop := make(chan []byte, windows), make(chan [2][]byte, windows), make(chan struct{})
	halt := sync.OnceFunc(func() { close(stop) })
	defer halt()
	for range windows {
		free <- make([]byte, windowBytes)
	}
	var failed error     // of near
	var g mapfault.Group // constants are in mapped files
	g.Go(func() {
		defer close(full)
		for w := range windowsOf(pieces) {
			select {
			case buf := <-free:
				b := w.pack(buf)
				if near != nil {
					if failed = near(b); failed != nil {
						return
					}
				}
				full <- [2][]byte{b, buf}
			case <-stop:
				return
			}
		}
	})
	var err error
	for b := range full {
		if err = far(b[0]); err != nil {
			break
		}
		free <- b[1]
	}
	halt()
	g.Wait()
	return cmp.Or(failed, err)
}

// WriteTo writes the section's bytes to w, which must not keep what it is passed.
func (s *Section) WriteTo(w io.Writer) (n int64, err error) { return s.write(nil, w) }

// WriteBoth writes the section's bytes to w and to also, each from a goroutine of its own unless there is one worker.
// Neither may keep what it is passed. It returns the number of bytes written to both.
func (s *Section) WriteBoth(w, also io.Writer) (int64, error) { return s.write(w, also) }

// write writes the section's bytes to near, unless it is nil, and to far.
func (s *Section) write(near, far io.Writer) (n int64, err error) {
	to := func(w io.Writer, n *int64) func([]byte) error {
		return func(b []byte) error {
			m, err := w.Write(b)
			*n += int64(m)
			return err
		}
	}
	if near == nil {
		err = s.each(s.pieces, nil, to(far, &n))
		return n, err
	}
	var first int64
	err = s.each(s.pieces, to(near, &first), to(far, &n))
	return min(first, n), err
}

// workers returns the number of goroutines that may pack constants.
func (s *Section) workers() int {
	if n := runtime.GOMAXPROCS(0); s.Workers <= 0 || n == 1 {
		return n
	}
	return s.Workers
}

// digests sets the SHA-256 of the constants that have none yet. Workers share the constants out, and each hashes two of
// them side by side if there are enough; if there are fewer constants than workers, each constant is packed by one
// goroutine while another, if there is one, hashes it.
func (s *Section) digests(of []*constant) {
	of = slices.DeleteFunc(slices.Clone(of), func(c *constant) bool { return c.all })
	workers := s.workers()
	if len(of) < workers {
		for _, c := range of {
			d := sha256x2.New()
			// It fails only if its argument does, and d does not.
			s.each([]piece{c.piece}, nil, func(b []byte) error { d.Write(b); return nil })
			c.end(d)
		}
		return
	}
	var next atomic.Int64
	take := func() *constant {
		if i := int(next.Add(1)) - 1; i < len(of) {
			return of[i]
		}
		return nil
	}
	lanes := 1
	if len(of) >= 2*workers {
		lanes = 2
	}
	run(workers, workers, func(int) { sideBySide(lanes, take) })
}

// lane is a constant that is being hashed, window by window.
type lane struct {
	constant *constant // nil if there are no more
	digest   *sha256x2.Digest
	next     func() (*window, bool)
	stop     func()
	rest     []byte // of the last window, which the digest has not got yet
	buf      *[]byte
}

// sideBySide sets the digests of the constants that take returns until it returns nil.
func sideBySide(lanes int, take func() *constant) {
	var l [2]lane
	for i := range lanes {
		l[i].buf = buffers.Get().(*[]byte)
		defer buffers.Put(l[i].buf)
		defer func() {
			if l[i].constant != nil {
				l[i].stop() // after a panic
			}
		}()
		l[i].begin(take())
	}
	a, b := &l[0], &l[1]
	for a.fill(take) && b.fill(take) {
		m, n := sha256x2.WriteBoth(a.digest, b.digest, a.rest, b.rest)
		a.rest, b.rest = a.rest[m:], b.rest[n:]
	}
	for _, l := range []*lane{a, b} {
		for l.fill(take) {
			l.digest.Write(l.rest)
			l.rest = nil
		}
	}
}

func (l *lane) begin(c *constant) {
	l.constant = c
	if c != nil {
		l.digest = sha256x2.New()
		l.next, l.stop = iter.Pull(windowsOf([]piece{c.piece}))
	}
}

// fill sees to it that there are bytes to hash, of the next constant if all of this one are. It reports whether there
// are any.
func (l *lane) fill(take func() *constant) bool {
	for l.constant != nil && len(l.rest) == 0 {
		if w, ok := l.next(); ok {
			if len(*l.buf) < w.size && w.data == nil {
				*l.buf = make([]byte, w.size)
			}
			l.rest = w.pack(*l.buf)
			continue
		}
		l.stop()
		l.constant.end(l.digest)
		l.begin(take())
	}
	return l.constant != nil
}

// buffers are of windows. A model may have many pairs of constants that begin alike, each of which needs two of them.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// beginningBytes tell nearly all constants of a model from each other.
const beginningBytes = 2 << 10

// beginning returns the digest of the constant if it ended after beginningBytes.
func (s *Section) beginning(c *constant) [sha256.Size]byte {
	d := sha256x2.New()
	if c.piece.jobs == nil {
		d.Write(c.piece.data[:min(len(c.piece.data), beginningBytes)])
		return c.sumOf(d)
	}
	n := 0
	for j := range c.piece.jobs {
		size := j.size
		if size > beginningBytes-n {
			j = j.beginning(beginningBytes - n)
		}
		if len(s.buf) < j.size {
			s.buf = make([]byte, max(j.size, 2*beginningBytes))
		}
		j.do(s.buf[:j.size])
		d.Write(s.buf[:min(j.size, beginningBytes-n)])
		if n += size; n >= beginningBytes {
			break
		}
	}
	return c.sumOf(d)
}

// end sets the digest of the constant, all of whose bytes d has.
func (c *constant) end(d *sha256x2.Digest) { c.sum, c.all = c.sumOf(d), true }

// sumOf returns the sum of d. The later tasks of a cut kernel add their number as four bytes, so that equal slices have
// different names.
func (c *constant) sumOf(d *sha256x2.Digest) [sha256.Size]byte {
	if c.task > 0 {
		d.Write(binary.LittleEndian.AppendUint32(nil, uint32(c.task)))
	}
	return d.Sum()
}
