package hazard

import (
	"fmt"
	"iter"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
)

// Finding is one hazard.
type Finding struct {
	Procedure string `json:"procedure"`
	Task      int    `json:"task"`   // index in the chain
	Offset    int    `json:"offset"` // of the task in the task section, in bytes
	Field     string `json:"field"`  // as docs/registers.md names it, or of the command: Procedure.Tasks
	Value     int64  `json:"value"`  // what the field leads to: itself, or an address
	Limit     int64  `json:"limit"`  // the limit for Value
	Rule      string `json:"rule"`
}

// String returns place, field, value, limit and rule in one line.
func (f Finding) String() string {
	return fmt.Sprintf("procedure %s: task %d at %#x: %s: %#x, limit %#x: %s", f.Procedure, f.Task, f.Offset, f.Field,
		f.Value, f.Limit, f.Rule)
}

// MaxFindings limits the findings of Check.
const MaxFindings = 1000

// Report is the result of Check.
type Report struct {
	Procedures int       `json:"procedures"`
	Tasks      int       `json:"tasks"`
	Hazards    []Finding `json:"hazards"` // in order of tasks, at most MaxFindings; never nil
}

// Check examines every procedure of a container. It returns an error for generations whose tasks are not known.
func Check(f *hwx.File) (*Report, error) {
	t, err := f.Target()
	if err != nil {
		return nil, err
	}
	codec, err := td.CodecFor(f.TaskVersion())
	if err != nil {
		return nil, err
	}
	r := &Report{Hazards: []Finding{}}
	seen := map[int]bool{} // tasks by offset, of every chain
	mem := memoryOf(t)
	l, l2, text := regions(f), newL2(mem), f.Text()
	for _, p := range f.Procedures() {
		l2.reset()
		c := &checker{codec: codec, report: r, proc: p, text: text, regions: l, l2: l2, now: accesses{memory: mem}}
		c.bars = c.resolve()
		c.chain(seen)
		r.Procedures++
	}
	return r, nil
}

// checker is the state of one procedure.
type checker struct {
	codec   *td.Codec
	report  *Report
	proc    hwx.Procedure
	text    hwx.Text
	regions []region
	bars    map[int]bar
	written map[int]*intervals // by region
	l2      *l2
	now     accesses // of the task
	task    int
	off     int
}

func (c *checker) find(field string, value, limit int64, format string, args ...any) {
	if len(c.report.Hazards) < MaxFindings {
		c.report.Hazards = append(c.report.Hazards, Finding{
			Procedure: c.proc.Name,
			Task:      c.task,
			Offset:    c.off,
			Field:     field,
			Value:     value,
			Limit:     limit,
			Rule:      fmt.Sprintf(format, args...),
		})
	}
}

func (c *checker) findField(f td.Field, value, limit int64, format string, args ...any) {
	c.find(f.String(), value, limit, format, args...)
}

// step looks at one task.
func (c *checker) step(t *td.Task) {
	if t.On(td.TDSkip) {
		return
	}
	x := &c.now
	x.take(t)
	for i := range x.sources {
		c.source(t, &x.sources[i])
	}
	c.kernel(t)
	c.conflicts(t, x)
	for i := range x.sources {
		c.stage(t, &x.sources[i])
	}
	c.result(t, &x.result)
}

// source checks where a source comes from.
func (c *checker) source(t *td.Task, a *access) {
	if !a.InDRAM {
		if !c.inL2(a) {
			return
		}
		c.readL2(a)
		return
	}
	r, from, to, ok := c.window(t, a, false)
	if !ok {
		return
	}
	if w := c.written[r]; w != nil {
		row := a.Row
		for _, at := range [2][2]int64{{from, from + 2}, {to - min(row, 2), to}} {
			if !w.holds(at[0], at[1]) {
				c.findField(a.FirstFrom, at[0], w.end(),
					"%s reads byte %#x of %s, which no earlier task wrote; written so far up to the limit", a.Name,
					at[0], c.regions[r].name)
				break
			}
		}
	}
}

// result checks where the result goes, and records that it is there.
func (c *checker) result(t *td.Task, a *access) {
	if n, axis := a.aliased(); n > 1 {
		c.findField(a.StrideField(axis), a.Stride[axis], a.Row,
			"%d parts of the result, each of the limit's bytes, overlap", n)
	}
	if !a.InDRAM {
		if c.inL2(a) {
			c.l2.put(a, write{task: c.task, off: c.off, defined: true, result: true, field: a.FirstFrom})
		}
		return
	}
	r, from, to, ok := c.window(t, a, true)
	if ok && c.written[r] != nil {
		c.written[r].add(from, to)
	}
}

// window finds the buffer of a DMA and checks that it contains the access; from and to are bytes of the region.
func (c *checker) window(t *td.Task, a *access, write bool) (r int, from, to int64, ok bool) {
	if !t.On(a.BarValid) {
		c.findField(a.BarValid, 0, 1, "the DMA of the %s is on but names no buffer-access register", a.Name)
		return 0, 0, 0, false
	}
	b, ok := c.buffer(t, a.Bar, a.Name)
	if !ok {
		return 0, 0, 0, false
	}
	g := &c.regions[b.region]
	switch {
	case write && !g.write:
		c.findField(a.Bar, int64(t.Get(a.Bar)), 0, "the result goes to %s, which is only read", g.name)
		return 0, 0, 0, false
	case !write && !g.read && !g.write:
		c.findField(a.Bar, int64(t.Get(a.Bar)), 0, "the %s comes from %s, which cannot be read", a.Name, g.name)
		return 0, 0, 0, false
	}
	first, last := a.Span()
	size := g.size - b.at
	if first > size {
		c.findField(a.FirstFrom, first, size, "the %s begins past the end of %s", a.Name, g.name)
		return 0, 0, 0, false
	}
	if last > size {
		c.findField(a.furthest(), last, size, "the %s ends past the end of %s", a.Name, g.name)
		return 0, 0, 0, false
	}
	return b.region, b.at + first, b.at + last, true
}

// buffer finds what a buffer-access register points at.
func (c *checker) buffer(t *td.Task, f td.Field, name string) (bar, bool) {
	i := int(t.Get(f))
	b, ok := c.bars[i]
	if !ok {
		c.findField(f, int64(i), hwx.Bars, "the %s uses buffer-access register %d, which points at no buffer (%#x)",
			name, i, c.proc.Bars[i])
	}
	return b, ok
}

// kernel checks the coefficient lanes.
func (c *checker) kernel(t *td.Task) {
	needs := t.Multiplies() || t.UsesTable()
	if !t.On(td.KernelOn) {
		if needs {
			c.findField(td.KernelOn, 0, 1, "the task needs coefficients but streams none")
		}
		return
	}
	if !t.On(td.KBE0) {
		c.findField(td.KBE0, 0, 1, "the coefficients name no buffer-access register")
		return
	}
	b, ok := c.buffer(t, td.KBase0, "kernel")
	if !ok {
		return
	}
	g := &c.regions[b.region]
	room := g.size - b.at
	for _, parts := range [...]struct {
		what string
		all  iter.Seq[td.Part]
	}{{"lane", t.LaneParts()}, {"kernel stream", t.StreamParts()}} {
		for l := range parts.all {
			switch {
			case l.From > room:
				c.findField(l.Base, l.From, room, "%s %d begins past the end of %s", parts.what, l.Index, g.name)
			case l.To > room:
				c.findField(l.Size, l.To, room, "%s %d ends past the end of %s", parts.what, l.Index, g.name)
			case c.written[b.region] != nil && !c.written[b.region].meets(b.at+l.From, b.at+l.To):
				c.findField(l.Base, l.From, c.written[b.region].end(),
					"%s %d reads coefficients from %s, where no earlier task wrote", parts.what, l.Index, g.name)
			}
		}
	}
}
