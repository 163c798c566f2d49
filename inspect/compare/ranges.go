package compare

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/lower/td"
)

// Range is a run of bytes that differ. Offsets are those in the files; a range of only one side has -1 for the other.
type Range struct {
	File  string `json:"file"`  // container or descriptor
	A     int64  `json:"a"`     // offset in the first file, -1 if it lacks the bytes
	B     int64  `json:"b"`     // offset in the second file, -1 if it lacks the bytes
	Size  int64  `json:"size"`  // bytes
	Owner string `json:"owner"` // what the bytes belong to
}

// region is a range of a container with one owner.
type region struct {
	key   string
	off   int64 // in the file
	data  []byte
	owner func(at, n int) string
}

// Bytes lists the byte ranges in which two pairs differ, with their owners: a task and its fields, a constant, a
// section, the load commands. Regions are aligned as in Compare. If a side has no pair, Bytes returns the reason as an
// error.
func Bytes(a, b *Side) ([]Range, error) {
	p := newPairing(a, b)
	if why := p.missing(needsPair); why != "" {
		return nil, fmt.Errorf("there are no bytes to compare: %s", why)
	}
	ra, rb, err := p.regions()
	if err != nil {
		return nil, err
	}
	out := []Range{}
	to, from := matchBy(ra, rb, func(x *region) string { return x.key })
	for i := range ra {
		x := &ra[i]
		if to[i] < 0 {
			out = append(out, Range{
				File:  "container",
				A:     x.off,
				B:     -1,
				Size:  int64(len(x.data)),
				Owner: x.owner(0, len(x.data)),
			})
			continue
		}
		out = append(out, spans(x, &rb[to[i]])...)
	}
	for j := range rb {
		if y := &rb[j]; from[j] < 0 {
			out = append(out, Range{
				File:  "container",
				A:     -1,
				B:     y.off,
				Size:  int64(len(y.data)),
				Owner: y.owner(0, len(y.data)),
			})
		}
	}
	if !a.pair.Alone() && !b.pair.Alone() {
		owner := func(int, int) string { return "descriptor" }
		x, y := &region{data: a.pair.Descriptor, owner: owner}, &region{data: b.pair.Descriptor, owner: owner}
		for _, r := range spans(x, y) {
			r.File = "descriptor"
			out = append(out, r)
		}
	}
	return out, nil
}

// near is the maximum number of equal bytes inside a range.
const near = 3

// spans lists the ranges in which two paired regions differ.
func spans(x, y *region) (out []Range) {
	m := min(len(x.data), len(y.data))
	for i := 0; i < m; {
		if x.data[i] == y.data[i] {
			i++
			continue
		}
		last := i
		k := i + 1
		for ; k < m && k-last <= near; k++ {
			if x.data[k] != y.data[k] {
				last = k
			}
		}
		out = append(out, Range{
			File:  "container",
			A:     x.off + int64(i),
			B:     y.off + int64(i),
			Size:  int64(last + 1 - i),
			Owner: x.owner(i, last+1-i),
		})
		i = last + 1
	}
	if n := len(x.data) - m; n > 0 {
		out = append(out, Range{File: "container", A: x.off + int64(m), B: -1, Size: int64(n), Owner: x.owner(m, n)})
	}
	if n := len(y.data) - m; n > 0 {
		out = append(out, Range{File: "container", A: -1, B: y.off + int64(m), Size: int64(n), Owner: y.owner(m, n)})
	}
	return out
}

func named(s string) func(int, int) string { return func(int, int) string { return s } }

// regions divides both containers into paired regions.
func (p *pairing) regions() (a, b []region, err error) {
	for _, x := range []struct {
		s   *Side
		out *[]region
	}{{p.a, &a}, {p.b, &b}} {
		x.s.sections(x.out)
		if x.s.db != nil {
			x.s.constantRegions(x.out)
		} else if c := x.s.file.ConstantBytes(); len(c) > 0 {
			*x.out = append(*x.out, region{
				key:   "constants",
				off:   x.s.constantsAt(),
				data:  c,
				owner: named("constants"),
			})
		}
	}
	ca, cb, err := p.bothTasks()
	if err != nil {
		return nil, nil, err
	}
	for _, c := range p.chainPairs(ca, cb) {
		to, from := p.taskPairs(c[0], c[1])
		for i := range c[0].tasks {
			key := fmt.Sprintf("task %s/%d", c[0].name, i)
			a = append(a, p.a.taskRegion(&c[0].tasks[i], key))
			if to[i] >= 0 {
				b = append(b, p.b.taskRegion(&c[1].tasks[to[i]], key))
			}
		}
		for j := range c[1].tasks {
			if from[j] < 0 {
				b = append(b, p.b.taskRegion(&c[1].tasks[j], fmt.Sprintf("task of B %s/%d", c[1].name, j)))
			}
		}
	}
	byOffset := func(rs []region) {
		sort.SliceStable(rs, func(i, j int) bool { return rs[i].off < rs[j].off })
	}
	byOffset(a)
	byOffset(b)
	return a, b, nil
}

func (s *Side) textAt() int64 {
	if x := s.file.Section(hwx.SegText, hwx.SectText); x != nil {
		return int64(x.Offset)
	}
	return 0
}

func (s *Side) constantsAt() int64 {
	if x := s.file.ConstantSections(); len(x) > 0 {
		return int64(x[0].Offset)
	}
	return 0
}

// sections adds the regions outside of tasks and constants: before the first section with bytes are the header and the
// commands, after the last one the tables.
func (s *Side) sections(out *[]region) {
	type span struct{ lo, hi int64 }
	var taken []span
	for _, x := range s.file.Sections() {
		if n := int64(len(x.Bytes())); n > 0 {
			taken = append(taken, span{int64(x.Offset), int64(x.Offset) + n})
			owned := x.Name.String() == hwx.SectText
			for _, c := range s.file.ConstantSections() {
				owned = owned || c == x
			}
			if !owned {
				name := "section " + x.Segment.String() + "," + x.Name.String()
				*out = append(*out, region{key: name, off: int64(x.Offset), data: x.Bytes(), owner: named(name)})
			}
		}
	}
	sort.Slice(taken, func(i, j int) bool { return taken[i].lo < taken[j].lo })
	taken = append(taken, span{int64(len(s.pair.Container)), int64(len(s.pair.Container))})
	at := int64(0)
	for i, x := range taken {
		if x.lo > at && x.lo <= int64(len(s.pair.Container)) {
			name := "between sections"
			switch {
			case at == 0:
				name = "header and load commands"
			case i == len(taken)-1:
				name = "symbols, strings and relocations"
			}
			*out = append(*out, region{
				key:   name,
				off:   at,
				data:  s.pair.Container[at:x.lo],
				owner: s.inCommands(at, name),
			})
		}
		at = max(at, x.hi)
	}
}

// inCommands returns the owner of bytes outside sections: a symbol table, or name.
func (s *Side) inCommands(base int64, name string) func(at, n int) string {
	return func(at, _ int) string {
		off := base + int64(at)
		for _, c := range s.file.Commands {
			y, ok := c.(*hwx.Symtab)
			switch {
			case !ok:
			case off >= int64(y.StrOff) && off-int64(y.StrOff) < int64(y.StrSize):
				return "names of symbols"
			case off >= int64(y.SymOff) && off < int64(y.StrOff) && len(y.Symbols) > 0 && y.SymOff < y.StrOff:
				return "symbols"
			}
		}
		return name
	}
}

func (s *Side) constantRegions(out *[]region) {
	base := s.constantsAt()
	for _, x := range s.extents() {
		*out = append(*out, region{key: x.key, off: base + int64(x.off), data: x.data, owner: named(x.subject)})
	}
}

// taskRegion returns the region of a task, whose owner names the fields of the words if they are known.
func (s *Side) taskRegion(t *task, key string) region {
	if t.Task == nil {
		return region{key: key, off: s.textAt() + int64(t.off), data: t.words, owner: t.wordOwner}
	}
	text := s.file.TextBytes()
	end := min(t.off+4*t.codec.Words(t.Task), len(text))
	r := region{key: key, off: s.textAt() + int64(t.off), data: text[t.off:end]}
	r.owner = func(at, n int) string {
		var fields []string
		for i := range fieldTable {
			if w, ok := t.codec.WordIndex(t.Task, td.Field(i)); ok {
				p := fieldTable[i].Place(t.codec)
				lo, hi := 4*w+int(p.Bit)/8, 4*w+int(p.Bit+p.Width-1)/8
				if lo < at+n && hi >= at {
					fields = append(fields, fieldTable[i].Name)
				}
			}
		}
		const most = 6
		if len(fields) > most {
			fields = append(fields[:most], "...")
		}
		return fmt.Sprintf("task %d of %s (%s): %s", t.index, t.procedure, t.subject, strings.Join(fields, " "))
	}
	return r
}

// RangesText writes byte ranges as text, one per line.
func RangesText(w io.Writer, rs []Range) error {
	b := bufio.NewWriter(w)
	at := func(x int64) string {
		if x < 0 {
			return "-"
		}
		return fmt.Sprintf("%#x", x)
	}
	for _, r := range rs {
		fmt.Fprintf(b, "%s %s %s %s: %s\n", r.File, at(r.A), at(r.B), diag.Count(int(r.Size), "byte", "bytes"), r.Owner)
	}
	if len(rs) == 0 {
		fmt.Fprintln(b, "no difference")
	}
	return b.Flush()
}
