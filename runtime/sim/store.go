package sim

import "fmt"

// store is the memory of one function: the surfaces of its ports and the scratch of its procedures. Each is allocated
// at its full size when it is first used and stays the same slice from run to run, so that surfaces mapped into an
// engine's address space stay mapped. The ports of a resident value exchange two slices.
type store struct {
	sizes    map[string]int64             // of the surfaces, by port
	surfaces map[string][]byte            // by port
	scratch  map[uint64][]byte            // by address of its segment
	ports    map[string]map[string][]byte // by procedure, as passed to a Dispatcher
	readers  map[string][]string          // ports that have the surface of another one, by that port
	proc     *procedure                   // running now
}

func newStore(fn *function) *store {
	return &store{
		sizes:    fn.sizes,
		surfaces: map[string][]byte{},
		scratch:  map[uint64][]byte{},
		ports:    map[string]map[string][]byte{},
		readers:  map[string][]string{},
	}
}

// clear sets all of the memory to zeros, except for the surfaces of some ports.
func (s *store) clear(except func(port string) bool) {
	for port, b := range s.surfaces {
		if !except(port) {
			clear(b)
		}
	}
	for _, b := range s.scratch {
		clear(b)
	}
}

// surface returns the surface of a port.
func (s *store) surface(port string) []byte {
	b, ok := s.surfaces[port]
	if !ok {
		b = make([]byte, s.sizes[port])
		s.surfaces[port] = b
	}
	return b
}

// share gives a port the surface of another one of the same size.
func (s *store) share(port, reader string) {
	s.readers[port] = append(s.readers[port], reader)
	s.set(reader, s.surface(port))
}

// set replaces the surface of a port, and of those that share it, by another of the same size.
func (s *store) set(port string, b []byte) {
	s.surfaces[port] = b
	for _, reader := range s.readers[port] {
		s.set(reader, b)
	}
	for _, m := range s.ports {
		if old, ok := m[port]; ok {
			m[port] = b[:len(old):len(old)]
		}
	}
}

// portsOf returns the surfaces of a procedure's ports, each of the size that the container states.
func (s *store) portsOf(p *procedure) map[string][]byte {
	m, ok := s.ports[p.name]
	if ok {
		return m
	}
	m = map[string][]byte{}
	for _, b := range p.bars {
		if b.port != "" && int64(len(m[b.port])) < b.size {
			m[b.port] = s.surface(b.port)[:b.size:b.size]
		}
	}
	s.ports[p.name] = m
	return m
}

// window returns the window of a buffer-access register if bytes off to off+n of it may be read, or written.
func (p *procedure) window(i int, off, n int64, write bool) (bar, error) {
	b, ok := p.bars[i]
	if !ok {
		return b, fmt.Errorf("buffer-access register %d does not point at a window", i)
	}
	if off < 0 || n < 0 || off > b.size || n > b.size-off {
		return b, fmt.Errorf("bytes %#x to %#x of buffer-access register %d are outside its window of %#x bytes", off,
			off+n, i,
			b.size)
	}
	if write && !b.write {
		return b, fmt.Errorf("write to buffer-access register %d, whose window is read-only", i)
	}
	return b, nil
}

// Window implements engine.Memory for the running procedure.
func (s *store) Window(i int, off, n int64, write bool) ([]byte, error) {
	b, err := s.proc.window(i, off, n, write)
	if err != nil {
		return nil, err
	}
	switch {
	case b.consts:
		return s.proc.consts[b.at+off : b.at+off+n], nil
	case b.scratch:
		m := s.scratch[b.segment]
		if m == nil {
			m = make([]byte, b.at+b.size) // the whole segment
			s.scratch[b.segment] = m
		}
		return m[b.at+off : b.at+off+n], nil
	}
	return s.surface(b.port)[off : off+n], nil
}
