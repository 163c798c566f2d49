package weights

import (
	"fmt"
	"slices"
)

// Role says what bytes of the section are for.
type Role uint8

// Roles. Reserved is space that recorded tasks leave between lanes and that nothing reads; Padding fills a row or a
// part up to Granule.
const (
	Padding Role = iota
	Reserved
	Values // coefficients, or elements of a tensor
	Bias
	Scale
	Lookup   // a table of an activation
	Codebook // values of the indices or masks of a part
	Length   // of the zero-skipping body after it
	Indices  // of values in a codebook
	NumRoles
)

var roleNames = [NumRoles]string{"padding", "reserved", "values", "bias", "scale", "table", "codebook", "length",
	"indices"}

// String returns the role's name.
func (r Role) String() string {
	if r < NumRoles {
		return roleNames[r]
	}
	return "unknown"
}

// Run is a run of bytes with one role.
type Run struct {
	Role Role
	Size uint32
}

// Repeat is a sequence of runs that occurs a number of times.
type Repeat struct {
	Times uint32
	Runs  []Run
}

// Extent is one stored constant: its position in the section and its runs of bytes, whose sum is Size.
type Extent struct {
	Offset int64
	Size   uint32
	Layout []Repeat
}

// Track makes the section record the extents of everything added from now on.
func (s *Section) Track() { s.tracked = true }

// Tracked reports whether the section records its extents.
func (s *Section) Tracked() bool { return s.tracked }

// Extents returns the constants stored since Track, in the order of their offsets, without gaps if nothing was stored
// before. They must not be modified. The layouts are found here, since a trial of a placement needs none.
func (s *Section) Extents() []Extent {
	for _, c := range s.stored[len(s.extents):] {
		s.extents = append(s.extents, c.extent())
	}
	return s.extents
}

// Last returns the offset of the extent that the last call of an Add method stored, or found already stored; only
// tracked sections know it.
func (s *Section) Last() int64 { return s.last }

// extent returns the extent of a constant of a tracked section. No input reaches the panic: layouts are declared by the
// rules that add constants.
func (c *constant) extent() Extent {
	x := Extent{Offset: c.base, Size: uint32(c.piece.size)}
	if c.layout == nil {
		x.Layout = []Repeat{{1, []Run{{Values, x.Size}}}}
		return x
	}
	x.Layout = c.layout()
	if got := layoutSize(x.Layout); got != uint64(x.Size) {
		panic(fmt.Sprintf("weights: the layout of a constant has %d bytes, but the constant has %d", got, x.Size))
	}
	return x
}

func layoutSize(l []Repeat) (n uint64) {
	for _, r := range l {
		for _, x := range r.Runs {
			n += uint64(r.Times) * uint64(x.Size)
		}
	}
	return n
}

// layout collects repeats.
type layout []Repeat

// runs appends runs that occur n times, without empty ones.
func (l *layout) runs(n int, rs ...Run) {
	rs = slices.DeleteFunc(rs, func(r Run) bool { return r.Size == 0 })
	if n <= 0 || len(rs) == 0 {
		return
	}
	if k := len(*l); k > 0 && slices.Equal((*l)[k-1].Runs, rs) {
		(*l)[k-1].Times += uint32(n)
		return
	}
	*l = append(*l, Repeat{uint32(n), rs})
}

func run1(r Role, n int) Run { return Run{r, uint32(n)} }

// Layout returns what Pack writes, run by run.
func (p *Plan) Layout(k *Kernel) []Repeat {
	sizes, err := p.PartSizes(k)
	if err != nil {
		return nil
	}
	bias, scale := 0, 0
	if k.Bias != nil {
		bias = 2
	}
	if k.Scales != nil {
		scale = 2
	}
	values := Values
	if k.Book != nil {
		values = Indices
	}
	var l layout
	for c, size := range sizes {
		if size == 0 {
			continue
		}
		var part []Run
		if k.Table != nil {
			part = append(part, run1(Lookup, TableBytes))
		}
		if book := 2 * len(k.Book); book > 0 {
			part = append(part, run1(Codebook, book), run1(Padding, align(book)-book))
		}
		size -= k.leadBytes()
		if p.Form == Depthwise {
			n, one := (p.Out-c-1)/p.Cores+1, k.PlaneBytes(1)
			l.runs(1, part...)
			l.runs(n, run1(Scale, scale), run1(Bias, bias), run1(values, one-bias-scale))
			l.runs(1, run1(Padding, size-n*one))
			continue
		}
		plane := make([]Run, 0, 3*len(p.Groups)+1)
		n := 0
		for _, g := range p.Groups {
			if c < g.Live {
				all := k.PlaneBytes(g.Lanes)
				plane = append(plane, run1(Scale, scale*g.Lanes), run1(Bias, bias*g.Lanes),
					run1(values, all-(bias+scale)*g.Lanes))
				n += all
			}
		}
		plane = append(plane, run1(Padding, size/p.ConvGroups-n))
		if p.ConvGroups == 1 {
			l.runs(1, append(part, plane...)...) // equal cores repeat whole
			continue
		}
		l.runs(1, part...)
		l.runs(p.ConvGroups, plane...)
	}
	return l
}

// PairedLayout returns what PackPaired writes, run by run.
func (p *Plan) PairedLayout(k *Kernel) []Repeat {
	n := k.Red()
	bias := 0
	if k.Bias != nil {
		bias = 4
	}
	var l layout
	for c := range p.Cores {
		channels := 0
		if c < p.Out {
			channels = (p.Out-c-1)/p.Cores + 1
		}
		if k.Table != nil && c < p.Out {
			l.runs(1, run1(Lookup, TableBytes))
		}
		size := channels * (bias + 4*(n+1))
		l.runs(channels, run1(Bias, bias), run1(Values, 4*(n+1)))
		l.runs(1, run1(Padding, align(size)-size))
	}
	return l
}

// BodiesLayout returns what PackSkipping, or PackMasks when masks is set, has
// written into data, run by run. The bodies contain their lengths.
func (p *Plan) BodiesLayout(k *Kernel, data []byte, sizes [MaxCores]int, masks bool) []Repeat {
	bias := 0
	if k.Bias != nil {
		bias = 2 * k.columns()
	}
	var l layout
	for c, size := range sizes {
		if size == 0 {
			continue
		}
		if size > len(data) {
			return nil
		}
		part := data[:size]
		data = data[size:]
		at, lead := 0, 0
		if k.Table != nil {
			l.runs(1, run1(Lookup, TableBytes))
			lead += TableBytes
		}
		if masks {
			l.runs(1, run1(Codebook, 2), run1(Padding, Granule-2))
			lead += Granule
		}
		at = lead
		body := func(lanes int) bool {
			head := at + bias*lanes
			if head+3 > len(part) {
				return false
			}
			n := int(part[head]) | int(part[head+1])<<8 | int(part[head+2])<<16
			l.runs(1, run1(Bias, bias*lanes), run1(Length, 3), run1(Values, n))
			at = head + 3 + n
			return at <= len(part)
		}
		pad := func() {
			n := align(at-lead) - (at - lead)
			l.runs(1, run1(Padding, n))
			at += n
		}
		if p.Form == Depthwise {
			for ch := c; ch < p.Out; ch += p.Cores {
				if !body(1) {
					return nil
				}
			}
			pad()
			continue
		}
		for range p.ConvGroups {
			for _, g := range p.Groups {
				if c < g.Live && !body(g.Lanes) {
					return nil
				}
			}
			pad()
		}
	}
	return l
}

// rowsLayout returns the layout of rows of the given number of bytes, each padded to Granule.
func rowsLayout(rows, rowBytes int) []Repeat {
	var l layout
	if align(rowBytes) == rowBytes {
		l.runs(1, run1(Values, rows*rowBytes))
		return l
	}
	l.runs(rows, run1(Values, rowBytes), run1(Padding, align(rowBytes)-rowBytes))
	return l
}

// PairLayout returns what PairRows writes for n channels, run by run.
func PairLayout(n int) []Repeat {
	gap := align(2*n) - 2*n
	var l layout
	l.runs(1, run1(Bias, 2*n), run1(Padding, gap), run1(Scale, 2*n), run1(Padding, gap))
	return l
}
