package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/zinc-compiler/zinc/compile/cost"
)

// writePprof writes the estimated time of a call as a profile that go tool pprof reads: a sample for each operation and
// each dispatch, at the lines of the model's text, under the scopes of the operation and the function. The samples add
// up to Report.CallTime. A plan, which has no estimates, has the times of the CPU alone.
func writePprof(w io.Writer, d *Document) error {
	p := &pprofile{d: d, functions: map[string]*profile.Function{}, locations: map[location]*profile.Location{}}
	p.SampleType = []*profile.ValueType{
		{Type: "operations", Unit: "count"}, {Type: "dma", Unit: "bytes"}, {Type: "time", Unit: "nanoseconds"},
	}
	p.DefaultSampleType = "time"
	p.PeriodType, p.Period = p.SampleType[2], 1
	p.DurationNanos = int64(d.Report.CallTime())
	p.Comments = []string{"times are estimated by zinc, nothing was measured"}
	if e := d.Report.Estimate; e != nil {
		p.Comments = append(p.Comments, "the estimate is "+e.Known)
	}
	for _, f := range d.Report.Each() {
		at := 0
		for _, l := range Layers(f) {
			switch l.Kind {
			case KindOp:
				o := &f.Ops[at]
				at++
				stack := append(scopeNames(o.Scope), o.Op+" "+o.Name)
				p.sample(f.Function, stack, o.Line, l.Unit, 1, l.DMABytes, l.Time)
			case KindDispatch:
				p.sample(f.Function, []string{"dispatch"}, 0, l.Unit, 0, 0, l.Time)
			}
		}
	}
	if err := p.CheckValid(); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return p.Write(w)
}

// scopeNames are the names of a scope and of those around it, outermost first.
func scopeNames(scope string) []string {
	if scope == "" {
		return nil
	}
	var out []string
	for i, c := range scope {
		if c == '/' {
			out = append(out, scope[:i])
		}
	}
	return append(out, scope)
}

// pprofile is a profile that is being written.
type pprofile struct {
	profile.Profile
	d         *Document
	functions map[string]*profile.Function
	locations map[location]*profile.Location
}

// location is a line of a frame.
type location struct {
	name string
	line int64
}

// sample adds a sample whose frames are the function of the model and then stack; the last one is at a line of the
// text.
func (p *pprofile) sample(function string, stack []string, line int32, unit string, count, dma int64, t cost.Time) {
	if t == 0 && dma == 0 {
		return // go tool pprof counts operations that take time
	}
	s := &profile.Sample{
		Value: []int64{count, dma, int64(t)},
		Label: map[string][]string{"unit": {unit}},
	}
	frames := append([]string{function}, stack...)
	for i := len(frames) - 1; i >= 0; i-- { // the innermost first
		at := int64(0)
		if i == len(frames)-1 {
			at = int64(line)
		}
		s.Location = append(s.Location, p.location(location{frames[i], at}))
	}
	p.Profile.Sample = append(p.Profile.Sample, s)
}

func (p *pprofile) location(k location) *profile.Location {
	if l := p.locations[k]; l != nil {
		return l
	}
	f := p.functions[k.name]
	if f == nil {
		f = &profile.Function{
			ID:         uint64(len(p.Function) + 1),
			Name:       strings.ToValidUTF8(k.name, "?"),
			SystemName: strings.ToValidUTF8(k.name, "?"),
			Filename:   p.d.Model,
			StartLine:  k.line,
		}
		p.functions[k.name] = f
		p.Function = append(p.Function, f)
	}
	l := &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: f, Line: k.line}}}
	p.locations[k] = l
	p.Location = append(p.Location, l)
	return l
}
