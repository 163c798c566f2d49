package hazard

import "github.com/zinc-compiler/zinc/lower/td"

// maxOver bounds how many earlier writes a write records as overwritten by it.
const maxOver = 64

// write is one write into L2.
type write struct {
	task, off int
	defined   bool // its content may be read
	result    bool // a result, rather than a source on its way
	from, to  int64
	td.Grid
	runs  int64 // rows that are in different places
	field td.Field
	read  bool  // a task has read some of it
	over  []int // writes that it has partly overwritten, at most maxOver
}

// writes is a list of writes, in blocks, so that it grows without copies.
type writes struct {
	blocks []*[writeBlock]write
	n      int
}

const writeBlock = 256

func (l *writes) at(i int) *write { return &l.blocks[i/writeBlock][i%writeBlock] }

func (l *writes) add(w *write) {
	if l.n == len(l.blocks)*writeBlock {
		l.blocks = append(l.blocks, new([writeBlock]write))
	}
	l.n++
	*l.at(l.n - 1) = *w
}

// l2 says for each granule which write of the current procedure it contains. Pages that contain only one write, as most
// do, are kept as one.
type l2 struct {
	*memory
	owner  []*[pageGranules]int // of mixed pages, by granule: index of writes plus base; below base for none
	page   []int                // by page: the same of all its granules, or mixed
	base   int
	writes writes
	hit    []int // writes that the current access meets, each once
	mark   []int // by write: the last access that met it
	stamp  int
}

const (
	pageGranules = 256
	mixed        = -1
)

func newL2(m *memory) *l2 {
	pages := m.granules / pageGranules
	return &l2{memory: m, owner: make([]*[pageGranules]int, pages), page: make([]int, pages)}
}

// reset empties the memory for another procedure.
func (m *l2) reset() {
	m.base += m.writes.n + 1
	m.writes.n, m.mark = 0, m.mark[:0]
}

// meet lists the writes that an access finds instead of its bytes, and the first byte that was never written, or -1.
func (m *l2) meet(a *access) (hit []int, gap int64) {
	m.hit, gap = m.hit[:0], -1
	m.stamp++
	see := func(w int, at int64) {
		switch w -= m.base; {
		case w < 0:
			if gap < 0 {
				gap = at * m.granule
			}
		case m.mark[w] != m.stamp:
			m.mark[w] = m.stamp
			m.hit = append(m.hit, w)
		}
	}
	a.stretches(func(page, from, to int64) {
		if w := m.page[page]; w != mixed {
			see(w, from)
			return
		}
		last := mixed
		for g, w := range m.owner[page][from-page*pageGranules : to-page*pageGranules] {
			if w != last {
				see(w, from+int64(g))
				last = w
			}
		}
	})
	return m.hit, gap
}

// own assigns an access's granules to a write.
func (m *l2) own(a *access, w int) {
	w += m.base
	a.stretches(func(page, from, to int64) {
		if to-from == pageGranules {
			m.page[page] = w
			return
		}
		if all := m.page[page]; all != mixed {
			if m.owner[page] == nil {
				m.owner[page] = new([pageGranules]int)
			}
			for g := range m.owner[page] {
				m.owner[page][g] = all
			}
			m.page[page] = mixed
		}
		for g := from; g < to; g++ {
			m.owner[page][g-page*pageGranules] = w
		}
	})
}

// put records that an access was written.
func (m *l2) put(a *access, w write) {
	w.from, w.to = a.Span()
	w.Grid, w.runs = a.Grid, a.runs()
	old, gap := m.meet(a)
	n := m.writes.n
	part := w.result && gap < 0 && m.pieces(old)
	for _, i := range old {
		o := m.writes.at(i)
		// Writing the same place again loses nothing, and has the same relation to the writes below.
		if w.from == o.from && w.to == o.to && w.Row == o.Row && w.runs == o.runs {
			for _, k := range o.over {
				w.overwrites(k)
			}
			continue
		}
		// This is an update: a buffer may be filled first, in one piece or several, and a part of it, or all of it,
		// written after that.
		if w.result && o.result && !o.read && (part || w.from >= o.from && w.to <= o.to) {
			continue
		}
		w.overwrites(i)
	}
	m.writes.add(&w)
	m.mark = append(m.mark, 0)
	m.own(a, n)
}

// overwrites records that w has overwritten a part of write i.
func (w *write) overwrites(i int) {
	if len(w.over) < maxOver {
		w.over = append(w.over, i)
	}
}

// pieces reports whether writes may belong to one buffer that is still being assembled: none was read, and all have the
// same layout.
func (m *l2) pieces(l []int) bool {
	for _, i := range l {
		if o := m.writes.at(i); !o.result || o.read || !sameLayout(&o.Grid, &m.writes.at(l[0]).Grid) {
			return false
		}
	}
	return true
}

// inL2 checks that an access is inside the memory.
func (c *checker) inL2(a *access) bool {
	from, to := a.Span()
	switch {
	case from >= c.l2.bytes:
		c.findField(a.FirstFrom, from, c.l2.bytes, "the %s begins past the end of L2", a.Name)
	case to > c.l2.bytes:
		c.findField(a.furthest(), to, c.l2.bytes, "the %s ends past the end of L2", a.Name)
	default:
		return true
	}
	return false
}

// readL2 checks that what a source reads is there: defined, and not partly overwritten by another task.
func (c *checker) readL2(a *access) {
	hit, gap := c.l2.meet(a)
	from, _ := a.Span()
	if gap >= 0 && a.runs() <= a.granules {
		c.findField(a.FirstFrom, gap, from, "the %s, from the limit on in L2, reads a byte that no earlier task wrote",
			a.Name)
	}
	for _, i := range hit {
		w := c.l2.writes.at(i)
		w.read = true
		if !w.defined {
			c.findField(a.FirstFrom, from, w.to,
				"the %s reads in L2 what a source of task %d passing through (up to the limit) has written over",
				a.Name, w.task)
			return
		}
		for _, k := range w.over {
			if c.l2.mark[k] == c.l2.stamp {
				c.findField(a.FirstFrom, from, w.to,
					"the %s reads in L2 a result of task %d that task %d, going up "+
						"to the limit, has partly overwritten", a.Name, c.l2.writes.at(k).task, w.task)
				return
			}
		}
	}
}

// stage records what a source that comes by DMA leaves in L2 on its way.
func (c *checker) stage(t *td.Task, a *access) {
	onchip, ok := a.OnChip(t)
	if !a.InDRAM || !ok {
		return
	}
	l := &access{onchip, a.memory}
	tall := int64(t.Get(td.TileHeight))
	retained := a.Stream == &td.Streams[td.StreamSource1] && td.SourceType(t.Get(td.SrcType)) == td.SourceResident
	whole := tall == 0 || tall >= t.Extent(td.Hout) || retained
	if !whole {
		l.Count[td.AxisRow] = min(l.Count[td.AxisRow], tall)
	}
	if c.inL2(l) {
		c.l2.put(l, write{task: c.task, off: c.off, defined: whole, field: l.FirstFrom})
	}
}
