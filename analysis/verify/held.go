package verify

import (
	"encoding/binary"
	"sort"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// cells are the elements last written to a buffer, one for every two bytes.
type cells struct {
	patterns []uint16
	tasks    []int32 // index of the task plus one; 0 where nothing was written
}

// extend makes room for the element at a byte offset and all before it.
func (c *cells) extend(at int64) {
	if n := int(at/2) + 1 - len(c.tasks); n > 0 {
		c.patterns = append(c.patterns, make([]uint16, n)...)
		c.tasks = append(c.tasks, make([]int32, n)...)
	}
}

// put notes an element that a task wrote.
func (c *cells) put(at int64, pattern uint16, task int) {
	if int(at/2) >= len(c.tasks) {
		c.extend(at)
	}
	c.patterns[at/2], c.tasks[at/2] = pattern, int32(task)+1
}

// row notes elements that follow each other, and returns how many.
func (c *cells) row(at int64, patterns []uint16, task int) int {
	c.extend(at + 2*int64(len(patterns)) - 2)
	copy(c.patterns[at/2:], patterns)
	tasks := c.tasks[at/2:][:len(patterns)]
	for i := range tasks {
		tasks[i] = int32(task) + 1
	}
	return len(patterns)
}

// get returns the element at a byte offset, and the task that wrote it.
func (c *cells) get(at int64) (pattern uint16, task int, ok bool) {
	i := int(at / 2)
	if c == nil || i >= len(c.tasks) || c.tasks[i] == 0 {
		return 0, 0, false
	}
	return c.patterns[i], int(c.tasks[i]) - 1, true
}

// holding is a value that tasks of the engine wrote.
type holding struct {
	t         interp.Tensor
	procedure *lower.Procedure
	from      []int // first elements of runs that one task wrote
	tasks     []int // of each run
}

// task returns the task that wrote an element. Padding that no task wrote counts for the last task of the buffer.
func (h *holding) task(element int) int {
	i := sort.SearchInts(h.from, element+1) - 1
	if i < 0 {
		return 0
	}
	return h.tasks[i]
}

// watcher follows the tasks of one procedure.
type watcher struct {
	p      *lower.Procedure
	stores map[int]*lower.Store // by task
	buffer map[int]*cells
	whole  map[int][]int // by task, the values that are complete once it has run, as indices of p.Held
	room   map[int]int64 // bytes of each buffer that contains values
}

func watch(p *lower.Procedure) *watcher {
	w := &watcher{
		p:      p,
		stores: map[int]*lower.Store{},
		buffer: map[int]*cells{},
		whole:  map[int][]int{},
		room:   map[int]int64{},
	}
	last := map[int]int{}
	for i := range p.Stores {
		s := &p.Stores[i]
		w.stores[s.Task] = s
		last[s.Buffer] = s.Task
	}
	for i := range p.Held {
		if p.Held[i].Value.Type.DType != ir.FP16 {
			continue
		}
		b := p.Held[i].Buffer
		w.whole[last[b]] = append(w.whole[last[b]], i)
		w.room[b] = max(w.room[b], p.Held[i].Room())
	}
	return w
}

// write records the result of a task.
func (w *watcher) write(task int, extent [5]int, patterns []uint16) {
	s := w.stores[task]
	if s == nil || w.room[s.Buffer] == 0 {
		return
	}
	to := w.buffer[s.Buffer]
	if to == nil {
		n := w.room[s.Buffer] / 2
		to = &cells{make([]uint16, 0, n), make([]int32, 0, n)}
		w.buffer[s.Buffer] = to
	}
	to.extend(s.At(extent[0]-1, extent[1]-1, extent[2]-1, extent[3]-1, extent[4]-1))
	i := 0
	for g := range extent[0] {
		for d := range extent[1] {
			for c := range extent[2] {
				for h := range extent[3] {
					at := s.At(g, d, c, h, 0)
					step := s.At(g, d, c, h, 1) - at // the same along a row, unless it is of channels
					if step == 2 && !s.Swapped() {
						i += to.row(at, patterns[i:i+extent[4]], task)
						continue
					}
					for x := range extent[4] {
						if x > 1 && s.Swapped() {
							at = s.At(g, d, c, h, x)
						} else if x > 0 {
							at += step
						}
						to.put(at, patterns[i], task)
						i++
					}
				}
			}
		}
	}
}

// finish calls see with every value that is complete after a task, until it returns an error.
func (w *watcher) finish(task int, see func(v *ir.Value, h *holding) error) error {
	whole := make([]*holding, len(w.whole[task]))
	for k, i := range w.whole[task] {
		whole[k] = w.read(&w.p.Held[i], task)
	}
	if len(whole) > 0 {
		delete(w.buffer, w.stores[task].Buffer)
	}
	for k, i := range w.whole[task] {
		if err := see(w.p.Held[i].Value, whole[k]); err != nil {
			return err
		}
	}
	return nil
}

// read returns a value from its buffer, in which memory that no task wrote is zero, as padding should be.
func (w *watcher) read(held *lower.Held, last int) *holding {
	from := w.buffer[held.Buffer]
	h := &holding{procedure: w.p}
	data := make([]byte, held.Value.Type.Bytes())
	held.Each(func(i int, at int64) {
		pattern, task, ok := from.get(at)
		if !ok {
			task = last
		}
		if 2*i+2 <= len(data) {
			binary.LittleEndian.PutUint16(data[2*i:], pattern)
		}
		if n := len(h.tasks); n == 0 || h.tasks[n-1] != task {
			h.from, h.tasks = append(h.from, i), append(h.tasks, task)
		}
	})
	h.t = interp.Tensor{Type: held.Value.Type, Data: data}
	return h
}
