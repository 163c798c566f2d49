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

// bind gives every port of the request's procedures a surface and writes them into the request. then are the segments
// of the procedures after the first.
func (s *bindings) bind(svc Services, procs []Procedure, then []Segment, passing bool) error {
	r := &s.request
	surfaces := s.surfaces
	for k := range procs {
		ports := procs[k].Ports
		at := s.place(r.Procedure+k, len(ports))
		for i := range ports {
			known := &s.ports[at+i]
			b := surfaces[i]
			id, passed, err := s.passed(procs, then, k, ports[i].Name)
			if err == nil && !passed {
				id, err = s.surface(svc, known, b, passing)
			}
			if err != nil {
				return fmt.Errorf("port %q: %w", ports[i].Name, err)
			}
			if ports[i].Output {
				r.Outputs = append(r.Outputs, id)
			} else {
				r.Inputs = append(r.Inputs, id)
			}
		}
		surfaces = surfaces[len(ports):]
	}
	return nil
}

// place returns the index of a procedure's first port in s.ports.
func (s *bindings) place(p, ports int) int {
	for len(s.start) <= p {
		s.start = append(s.start, -1)
	}
	if s.start[p] < 0 {
		s.start[p] = len(s.ports)
		s.ports = append(s.ports, make([][]bound, ports)...)
	}
	return s.start[p]
}

// passed returns the surface of a port of the k-th procedure that reads what an earlier one writes.
func (s *bindings) passed(procs []Procedure, then []Segment, k int, port string) (id uint32, ok bool, err error) {
	if k == 0 {
		return 0, false, nil
	}
	from, ok := then[k-1].Passed[port]
	if !ok {
		return 0, false, nil
	}
	n := 0 // outputs before
	for i := range procs[:k] {
		for _, p := range procs[i].Ports {
			if p.Output && p.Name == from {
				return s.request.Outputs[n], true, nil
			}
			if p.Output {
				n++
			}
		}
	}
	return 0, false, errorf(mEvaluate, BadArgument, "no earlier procedure of the request writes port %q", from)
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

// copyBack copies the surfaces of the set back to the caller's slices.
func (s *bindings) copyBack(procs []Procedure) {
	surfaces := s.surfaces
	for k := range procs {
		ports := procs[k].Ports
		for i := range ports {
			if !ports[i].Output {
				continue
			}
			if x := s.ports[s.start[s.request.Procedure+k]+i][0]; x.own {
				copy(surfaces[i], x.bytes)
			}
		}
		surfaces = surfaces[len(ports):]
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
