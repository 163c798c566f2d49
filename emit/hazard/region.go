package hazard

import (
	"cmp"
	"slices"

	"github.com/zinc-compiler/zinc/emit/hwx"
)

// region is a buffer of the container.
type region struct {
	name        string
	addr        uint64
	size        int64
	read, write bool
	blank       bool // contains nothing before a task writes it
}

// bar is what a buffer-access register points at: a region, from a byte on.
type bar struct {
	region int
	at     int64
}

// regions lists the buffers that tasks may use: windows, scratch and constants, by
// address.
func regions(f *hwx.File) []region {
	var out []region
	names := map[uint64]string{}
	for _, p := range f.Ports() {
		names[uint64(p.Addr)] = "port " + p.Name
	}
	for _, s := range f.Segments() {
		read, write := s.InitProt&hwx.ProtRead != 0, s.InitProt&hwx.ProtWrite != 0
		switch s.Name.String() {
		case hwx.SegPort:
			if len(s.Sections) > 0 {
				out = append(out, region{
					name:  names[s.VMAddr],
					addr:  s.VMAddr,
					size:  size(s.Sections[0].Size),
					read:  read,
					write: write,
					blank: write && !read,
				})
			}
		case hwx.SegScratch:
			out = append(out, region{
				name:  "scratch",
				addr:  s.VMAddr,
				size:  size(s.VMSize),
				read:  true,
				write: true,
				blank: true,
			})
		}
	}
	constants := region{name: "the constants", read: true}
	for i, s := range f.ConstantSections() {
		if i == 0 {
			constants.addr = s.Addr
		}
		constants.size += size(s.Size)
	}
	if constants.addr != 0 {
		out = append(out, constants)
	}
	slices.SortStableFunc(out, func(a, b region) int { return cmp.Compare(a.addr, b.addr) })
	return out
}

// size limits the sizes in a hostile file to values that can be added without overflow.
func size(n uint64) int64 { return int64(min(n, hwx.AddrLimit)) }

// resolve finds the region of each buffer-access register.
func (c *checker) resolve() map[int]bar {
	out := map[int]bar{}
	c.written = map[int]*intervals{}
	for i, addr := range c.proc.Bars {
		k, found := slices.BinarySearchFunc(c.regions, addr, func(r region, at uint64) int {
			return cmp.Compare(r.addr, at)
		})
		if !found {
			k--
		}
		if k < 0 {
			continue
		}
		if r := &c.regions[k]; addr-r.addr < uint64(max(r.size, 1)) {
			out[i] = bar{k, int64(addr - r.addr)}
			if r.blank && c.written[k] == nil {
				c.written[k] = &intervals{}
			}
		}
	}
	return out
}

// intervals is a set of bytes as disjoint ranges in order.
type intervals struct{ l []interval }

type interval struct{ from, to int64 }

// add puts a range in.
func (s *intervals) add(from, to int64) {
	i, _ := slices.BinarySearchFunc(s.l, from, func(x interval, at int64) int { return int(min(max(x.to-at, -1), 1)) })
	k := i
	for ; k < len(s.l) && s.l[k].from <= to; k++ {
		from, to = min(from, s.l[k].from), max(to, s.l[k].to)
	}
	s.l = slices.Replace(s.l, i, k, interval{from, to})
}

// find returns the first range that ends after at.
func (s *intervals) find(at int64) (interval, bool) {
	i, _ := slices.BinarySearchFunc(s.l, at, func(x interval, at int64) int { return int(min(max(x.to-at-1, -1), 1)) })
	if i == len(s.l) {
		return interval{}, false
	}
	return s.l[i], true
}

// holds reports whether the whole range is in the set.
func (s *intervals) holds(from, to int64) bool {
	x, ok := s.find(from)
	return ok && x.from <= from && to <= x.to
}

// meets reports whether any of the range is in the set.
func (s *intervals) meets(from, to int64) bool {
	x, ok := s.find(from)
	return ok && x.from < to
}

// end returns where the set ends.
func (s *intervals) end() int64 {
	if len(s.l) == 0 {
		return 0
	}
	return s.l[len(s.l)-1].to
}
