package sim

import (
	"slices"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
)

// resident is a value that stays on the device from run to run. The casts that fill the surfaces of its readers run
// only when the host has a newer value, and the cast that empties the surface of its writer runs only when the host
// reads it. A run reads one frame and writes another, and a successful run exchanges the two without copying them, so a
// run that fails leaves the value unchanged.
type resident struct {
	c       *chain
	readers []string // ports that read the value, in one frame
	writer  string   // the port that a run writes the next value to; "" for none
	empty   *cast    // from the writer's surface to the host; nil without a writer
	loaded  bool     // the readers' frame has the value
}

// resident returns how the value of some operands, which a run replaces by the value of the operand written, if it
// writes it, stays on the device. It returns nil if it cannot: if anything but casts to and from surfaces of one layout
// uses the operands, if they are read after they were written, if something else uses the surfaces, or if the
// descriptor does not say that a state shares the writer's buffer.
func (c *chain) resident(reads []uint32, written uint32) *resident {
	r := &resident{c: c}
	var surfaces []uint32
	fits := func(surface uint32, host ir.Type) bool {
		surfaces = append(surfaces, surface)
		return c.alike(surfaces[0], surface) && lossless(host.DType, &c.fn.Operands[surface])
	}
	for _, i := range c.users().of(append(slices.Clone(reads), written)) {
		s := &c.steps[i]
		for _, id := range s.op.Inputs {
			switch read := slices.Contains(reads, id); {
			case !read && id != written:
			case !read, s.cast == nil, r.empty != nil, !fits(s.cast.to, s.cast.src):
				return nil
			default:
				r.readers = append(r.readers, c.fn.Operands[s.cast.to].Port.Name)
			}
		}
		if !slices.Contains(s.op.Outputs, written) {
			continue
		}
		if s.cast == nil || r.empty != nil || !fits(s.cast.from, s.cast.typ) {
			return nil
		}
		r.writer, r.empty = c.fn.Operands[s.cast.from].Port.Name, s.cast
	}
	if r.readers == nil || !c.exclusive(r, reads) {
		return nil
	}
	state := &c.fn.Operands[written]
	if state.Aperture == e5.HostState && r.writer != "" && !c.fn.shares(r.writer, state.Name) {
		return nil
	}
	for _, port := range r.readers[1:] {
		c.store.set(port, c.store.surface(r.readers[0]))
	}
	return r
}

// users are the steps of a chain that use an operand or a port, in order. The lists may repeat a step.
type users struct {
	operands [][]int32
	ports    map[string][]int32
}

// users returns the users of every operand and port, which it collects once.
func (c *chain) users() *users {
	if c.used != nil {
		return c.used
	}
	c.used = &users{operands: make([][]int32, len(c.fn.Operands)), ports: map[string][]int32{}}
	for i := range c.steps {
		s := &c.steps[i]
		for _, ids := range [][]uint32{s.op.Inputs, s.op.Outputs} {
			for _, id := range ids {
				c.used.operands[id] = append(c.used.operands[id], int32(i))
				if port := c.port(id); port != "" {
					c.used.ports[port] = append(c.used.ports[port], int32(i))
				}
			}
		}
		if s.proc == nil {
			continue
		}
		for _, b := range s.proc.bars {
			if b.write {
				c.used.ports[b.port] = append(c.used.ports[b.port], int32(i))
			}
		}
	}
	return c.used
}

// of returns the steps that use one of some operands and ports, in order.
func (u *users) of(operands []uint32, ports ...string) (steps []int32) {
	for _, id := range operands {
		steps = append(steps, u.operands[id]...)
	}
	for _, port := range ports {
		steps = append(steps, u.ports[port]...)
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}

// alike reports whether two operands are surfaces of one layout.
func (c *chain) alike(a, b uint32) bool {
	x, y := &c.fn.Operands[a], &c.fn.Operands[b]
	return e5.Alike(x, y) && c.fn.sizes[x.Port.Name] == c.fn.sizes[y.Port.Name]
}

// lossless reports whether the elements of a surface are unchanged by casts to the host's type and back.
func lossless(host ir.DType, surface *e5.Operand) bool {
	t := typeOf(&surface.Desc).DType
	return t == host || t == ir.FP16 && host == ir.FP32
}

// exclusive reports whether the surfaces of a resident value are used in the order of its casts and by nothing else:
// every reader is filled from the operands in reads before an inference reads it, and one inference writes the writer
// before its cast. No other resident value may be written to the writer: the first would take its frame away.
func (c *chain) exclusive(r *resident, reads []uint32) bool {
	if slices.Contains(r.readers, r.writer) || r.writer != "" && slices.ContainsFunc(c.kept, func(o *resident) bool {
		return o != nil && o.writer == r.writer
	}) {
		return false
	}
	filled, computed := map[string]bool{}, false
	for _, i := range c.users().of(reads, append(slices.Clone(r.readers), r.writer)...) {
		s := &c.steps[i]
		if s.cast != nil {
			port := c.fn.Operands[s.cast.to].Port.Name
			if c.fn.Operands[s.cast.to].Aperture == e5.Surface {
				if port == r.writer || slices.Contains(r.readers, port) != slices.Contains(reads, s.cast.from) {
					return false
				}
				filled[port] = true
			}
			if s.cast == r.empty && !computed {
				return false
			}
			continue
		}
		if s.proc == nil {
			continue
		}
		for _, id := range s.op.Inputs {
			port := c.fn.Operands[id].Port.Name
			if port == r.writer || slices.Contains(r.readers, port) && !filled[port] {
				return false
			}
		}
		for _, id := range s.op.Outputs {
			port := c.fn.Operands[id].Port.Name
			if slices.Contains(r.readers, port) || port == r.writer && computed {
				return false
			}
			computed = computed || port == r.writer
		}
		for _, b := range s.proc.bars {
			if b.write && slices.Contains(r.readers, b.port) {
				return false
			}
		}
	}
	return true
}

// start prepares a run on the value of a buffer.
func (r *resident) start(b *Buffer) {
	r.loaded = b.on == r
	if !r.loaded {
		b.fetch()
	}
}

// commit makes what a successful run has written the value of the buffer.
func (r *resident) commit(b *Buffer) {
	if r.writer != "" {
		s := r.c.store
		old, value := s.surface(r.readers[0]), s.surface(r.writer)
		for _, port := range r.readers {
			s.set(port, value)
		}
		s.set(r.writer, old)
		b.stale = true
	}
	b.on = r
}

// fetch copies the value to the host.
func (r *resident) fetch(to []byte) { r.empty.move.run(r.c.store.surface(r.readers[0]), to) }

// drop gives each reader a surface of its own again.
func (r *resident) drop() {
	for _, port := range r.readers[1:] {
		if port != r.readers[0] {
			r.c.store.set(port, make([]byte, r.c.fn.sizes[port]))
		}
	}
}

// hold prepares an operand on the host for a run on a buffer.
func (c *chain) hold(id uint32, b *Buffer) {
	r := c.kept[id]
	if r == nil {
		b.fetch()
		return
	}
	r.start(b)
}

// keep records that a successful run has replaced the value of an operand's buffer: on the device or, by the caller,
// in the host's memory.
func (c *chain) keep(id uint32, b *Buffer) {
	if r := c.kept[id]; r != nil {
		r.commit(b)
		return
	}
	b.on = nil
}

// clear sets the chain's memory to zeros, except for values that stay in it.
func (c *chain) clear() {
	c.store.clear(func(port string) bool {
		return slices.ContainsFunc(c.kept, func(r *resident) bool {
			return r != nil && r.loaded && slices.Contains(r.readers, port)
		})
	})
}
