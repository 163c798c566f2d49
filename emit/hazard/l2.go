package hazard

import "github.com/zinc-compiler/zinc/lower/td"

// L2 is 2 MiB, addressed in granules of 16 bytes: bases and strides are whole
// granules, so no two rows share one unless they overlap.
const (
	l2Size   = 2 << 20
	granule  = 16
	granules = l2Size / granule
)

// write is one write into L2.
type write struct {
	task, off int
	defined   bool // its content may be read
	result    bool // a result, rather than a source on its way
	from, to  int64
	row, runs int64 // bytes of a row, and rows
	field     td.Field
	read      bool         // a task has read some of it
	lost      int          // the first write that went over it before anything read it, plus one
	over      map[int]bool // writes of which it has overwritten a part, 64 at most
}

// l2 says for each granule which write it holds, as index of writes plus one.
type l2 struct {
	owner  []int32
	writes []write
	hit    []int // writes that the current access meets, each once
	mark   []int // by write: the last access that met it
	stamp  int
}

func newL2() *l2 { return &l2{owner: make([]int32, granules)} }

// meet lists the writes that an access finds in place of its bytes, and the
// first byte where there is none, or -1.
func (m *l2) meet(a *access) (hit []int, gap int64) {
	m.hit, gap = m.hit[:0], -1
	m.stamp++
	a.each(func(from, to int64) {
		for g := from / granule; g < (to+granule-1)/granule; g++ {
			w := int(m.owner[g]) - 1
			switch {
			case w < 0:
				if gap < 0 {
					gap = g * granule
				}
			case m.mark[w] != m.stamp:
				m.mark[w] = m.stamp
				m.hit = append(m.hit, w)
			}
		}
	})
	return m.hit, gap
}

// put notes that an access was written.
func (m *l2) put(a *access, w write) {
	w.from, w.to = a.extent()
	w.row, w.runs = a.row, a.runs()
	old, _ := m.meet(a)
	n := len(m.writes)
	for _, i := range old {
		o := &m.writes[i]
		// The same buffer written anew is no loss: a margin may be filled first and
		// the whole be written over it.
		again := w.from == o.from && w.to == o.to && w.row == o.row && w.runs == o.runs
		if !o.read && o.lost == 0 && !again {
			o.lost = n + 1
		}
		// What lies wholly inside is an update of the whole, unless that had its
		// readers already.
		if w.from < o.from || w.to > o.to || o.read && !again {
			if w.over == nil {
				w.over = map[int]bool{}
			}
			if len(w.over) < 64 {
				w.over[i] = true
			}
		}
	}
	m.writes, m.mark = append(m.writes, w), append(m.mark, 0)
	a.each(func(from, to int64) {
		for g := from / granule; g < (to+granule-1)/granule; g++ {
			m.owner[g] = int32(n + 1)
		}
	})
}

// inL2 checks that an access lies inside the memory.
func (c *checker) inL2(a *access) bool {
	from, to := a.extent()
	switch {
	case from >= l2Size:
		c.findField(a.base, from, l2Size, "the %s begins past the end of L2", a.name)
	case to > l2Size:
		c.findField(a.furthest(), to, l2Size, "the %s ends past the end of L2", a.name)
	default:
		return true
	}
	return false
}

// readL2 checks that what a source reads is there: defined, and not what another
// task has partly written over.
func (c *checker) readL2(a *access) {
	hit, gap := c.l2.meet(a)
	from, _ := a.extent()
	if gap >= 0 && a.runs() <= granules {
		c.findField(a.base, gap, from, "the %s, from the limit on in L2, reads a byte that no task before wrote",
			a.name)
	}
	for _, i := range hit {
		w := &c.l2.writes[i]
		w.read = true
		if !w.defined {
			c.findField(a.base, from, w.to,
				"the %s reads in L2 what a source of task %d passing through (up to the limit) has written over",
				a.name, w.task)
			return
		}
		for _, k := range hit {
			if w.over[k] {
				c.findField(a.base, from, w.to, "the %s reads in L2 a result of task %d of which task %d, going up "+
					"to the limit, has overwritten a part", a.name, c.l2.writes[k].task, w.task)
				return
			}
		}
	}
}

// stage notes what a source that comes by DMA leaves in L2 on its way.
func (c *checker) stage(t *td.Task, a *access) {
	if !a.dma {
		return
	}
	l := a.place(t, a.dim, t.On(a.swap), false)
	if l.stride == [4]int64{} {
		return
	}
	tall, out := int64(t.Get(td.TileHeight)), ext(t, td.Hout)
	whole := tall == 0 || tall >= out || a.stream == &source1 && t.Get(td.SrcType) == 1
	if !whole {
		l.count[axH] = min(l.count[axH], tall)
	}
	if c.inL2(&l) {
		c.l2.put(&l, write{task: c.task, off: c.off, defined: whole, field: l.base})
	}
}

// lost reports results in L2 that a task wrote over before anything had read any
// of them. Nobody read them afterwards either: what was left of one counts.
func (c *checker) lost() {
	for i := range c.l2.writes {
		w := &c.l2.writes[i]
		if !w.result || w.read || w.lost == 0 {
			continue
		}
		by := &c.l2.writes[w.lost-1]
		c.task, c.off = by.task, by.off
		c.findField(by.field, by.from, w.to,
			"overwrites in L2 the result of task %d, which ends at the limit, before any task has read it", w.task)
	}
}
