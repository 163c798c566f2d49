package verify

import (
	"encoding/binary"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// materialised is a value that tasks of the engine wrote.
type materialised struct {
	t     interp.Tensor
	by    *watcher
	value *lower.Materialised
	last  int // the last task that wrote to the buffer
}

// task returns the task that wrote an element last. Padding that no task wrote counts for the last task of the buffer.
func (h *materialised) task(element int) int {
	place := int64(-1)
	h.value.Rows(func(i, n int, at, step int64) {
		if i <= element && element < i+n {
			place = at + int64(element-i)*step
		}
	})
	for task := h.last; task >= 0; task-- {
		s, wrote := h.by.stores[task], false
		if s == nil || s.Buffer != h.value.Buffer {
			continue
		}
		s.Rows(h.by.extents[task], func(_, n int, at, step int64) {
			off := place - at
			wrote = wrote || off >= 0 && off < int64(n)*step && off%step == 0
		})
		if wrote {
			return task
		}
	}
	return h.last
}

// watcher follows the tasks of one procedure.
type watcher struct {
	p       *lower.Procedure
	stores  map[int]*lower.Store // by task
	extents map[int][5]int       // of the results of the tasks so far
	buffer  map[int][]uint16     // the elements of each buffer
	whole   map[int][]int        // by task, the values that are complete once it has run, as indices of p.Materialised
	room    map[int]int64        // bytes of each buffer that contains values
}

func watch(p *lower.Procedure) *watcher {
	w := &watcher{
		p:       p,
		stores:  map[int]*lower.Store{},
		extents: map[int][5]int{},
		buffer:  map[int][]uint16{},
		whole:   map[int][]int{},
		room:    map[int]int64{},
	}
	last := map[int]int{}
	for i := range p.Stores {
		s := &p.Stores[i]
		w.stores[s.Task] = s
		last[s.Buffer] = s.Task
	}
	for i := range p.Materialised {
		if p.Materialised[i].Value.Type.DType != ir.FP16 {
			continue
		}
		b := p.Materialised[i].Buffer
		w.whole[last[b]] = append(w.whole[last[b]], i)
		w.room[b] = max(w.room[b], p.Materialised[i].Room())
	}
	return w
}

// write records the result of a task.
func (w *watcher) write(task int, extent [5]int, patterns []uint16) {
	s := w.stores[task]
	if s == nil || w.room[s.Buffer] == 0 {
		return
	}
	w.extents[task] = extent
	to := w.buffer[s.Buffer]
	if to == nil {
		to = make([]uint16, w.room[s.Buffer]/2)
	}
	s.Rows(extent, func(i, n int, at, step int64) {
		if more := int(at+int64(n-1)*step)/2 + 1 - len(to); more > 0 {
			to = append(to, make([]uint16, more)...)
		}
		row := to[at/2:]
		if step == 2 {
			copy(row, patterns[i:i+n])
			return
		}
		for k, pattern := range patterns[i : i+n] {
			row[int64(k)*step/2] = pattern
		}
	})
	w.buffer[s.Buffer] = to
}

// finish calls see with every value that is complete after a task, until it returns an error.
func (w *watcher) finish(task int, see func(v *ir.Value, h *materialised) error) error {
	whole := make([]*materialised, len(w.whole[task]))
	for k, i := range w.whole[task] {
		whole[k] = w.read(&w.p.Materialised[i], task)
	}
	if len(whole) > 0 {
		delete(w.buffer, w.stores[task].Buffer)
	}
	for k, i := range w.whole[task] {
		if err := see(w.p.Materialised[i].Value, whole[k]); err != nil {
			return err
		}
	}
	return nil
}

// read returns a value from its buffer, in which memory that no task wrote is zero, as padding should be.
func (w *watcher) read(value *lower.Materialised, last int) *materialised {
	from := w.buffer[value.Buffer]
	data := make([]byte, value.Value.Type.Bytes())
	value.Rows(func(i, n int, at, step int64) {
		row, patterns := data[min(2*i, len(data)):min(2*(i+n), len(data))], from[min(int(at/2), len(from)):]
		for k := 0; len(row) >= 2 && k < len(patterns); k += int(step / 2) {
			binary.LittleEndian.PutUint16(row, patterns[k])
			row = row[2:]
		}
	})
	t := interp.Tensor{Type: value.Value.Type, Data: data}
	return &materialised{t: t, by: w, value: value, last: last}
}
