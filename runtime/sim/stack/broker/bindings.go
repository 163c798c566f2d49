package broker

import (
	"fmt"
	"slices"
	"unsafe"
)

// maxBound is the number of different slices of one port that a set binds in place; further ones are copied through a
// surface of the set.
const maxBound = 4

// bindings is the set of surfaces of one evaluation at a time: for each port the surfaces of the caller's slices seen
// so far, and one to copy through.
type bindings struct {
	ports [][]bound // by procedure and port, flattened at first use
	start []int

	request  Request  // of the evaluation; its slices are reused
	surfaces [][]byte // the caller's
}

type bound struct {
	id    uint32
	bytes []byte
	own   bool // belongs to the set, for copying
}

// bind gives every port a surface and writes them into the request.
func (s *bindings) bind(svc Services, ports []Port, passing bool) error {
	r := &s.request
	p := r.Procedure
	for len(s.start) <= p {
		s.start = append(s.start, -1)
	}
	if s.start[p] < 0 {
		s.start[p] = len(s.ports)
		s.ports = append(s.ports, make([][]bound, len(ports))...)
	}
	for i := range ports {
		known := &s.ports[s.start[p]+i]
		id, err := s.surface(svc, known, s.surfaces[i], passing)
		if err != nil {
			return fmt.Errorf("port %q: %w", ports[i].Name, err)
		}
		if ports[i].Output {
			r.Outputs = append(r.Outputs, id)
		} else {
			r.Inputs = append(r.Inputs, id)
		}
	}
	return nil
}

// surface finds or creates the surface of a slice and moves it to the front.
func (s *bindings) surface(svc Services, known *[]bound, b []byte, passing bool) (uint32, error) {
	find := func(own bool) int {
		return slices.IndexFunc(*known, func(k bound) bool {
			return k.own == own && (own || len(b) > 0 && unsafe.SliceData(k.bytes) == unsafe.SliceData(b) &&
				len(k.bytes) == len(b))
		})
	}
	i := -1
	if !passing {
		i = find(false)
	}
	own := passing || i < 0 && len(*known) > maxBound
	if i < 0 && own {
		i = find(true)
	}
	if i < 0 {
		k := bound{bytes: b, own: own}
		if own {
			k.bytes = make([]byte, len(b))
		}
		if k.id = svc.CreateSurface(k.bytes); k.id == 0 {
			return 0, errNoSurface
		}
		*known = append(*known, k)
		i = len(*known) - 1
	}
	k := (*known)[i]
	copy((*known)[1:i+1], (*known)[:i])
	(*known)[0] = k
	if k.own {
		copy(k.bytes, b)
	}
	return k.id, nil
}

// settle copies the surfaces of the set back to the caller's slices.
func (s *bindings) settle(ports []Port) {
	for i := range ports {
		if k := s.ports[s.start[s.request.Procedure]+i][0]; ports[i].Output && k.own {
			copy(s.surfaces[i], k.bytes)
		}
	}
}

// release releases the surfaces.
func (s *bindings) release(svc Services) {
	for _, known := range s.ports {
		for _, k := range known {
			svc.ReleaseSurface(k.id)
		}
	}
}
