package passes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// Saved is what the passes know about a function in addition to the text of its program. Values and operations have the
// names that they have in the text; an operation has the name of its first result.
type Saved struct {
	After          string            `json:"after"` // the pass that ran last
	VisibleOutputs int               `json:"visible_outputs"`
	States         []SavedState      `json:"states,omitempty"`
	Compressed     []SavedCompressed `json:"compressed,omitempty"`
	Decompressed   []string          `json:"decompressed,omitempty"` // constants made by decompressing
	// loop or condition -> why it is still there
	Stays      map[string]string          `json:"stays,omitempty"`
	Decomposed map[string]decomposedFrom  `json:"decomposed,omitempty"` // operations that decompose wrote
	NotFP16    map[string]*target.Refusal `json:"half,omitempty"`       // why operations stayed in fp32
	Named      int                        `json:"named"`                // values named by passes
	Folded     int64                      `json:"folded"`               // bytes that folding computed
	Copied     int                        `json:"copied"`               // operations copied by unrolling
}

// SavedState is the saved form of a StateBuffer.
type SavedState struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Result int    `json:"result"`
}

// SavedCompressed is the saved form of a Compressed.
type SavedCompressed struct {
	Name   string   `json:"name"`
	Pos    ir.Pos   `json:"pos"`
	Values []string `json:"values"`
	Form   string   `json:"form"`
	Stream string   `json:"stream,omitempty"`
	Stored int64    `json:"stored"`
	Inner  bool     `json:"inner,omitempty"`
}

// Save returns what Restore needs in addition to the function and its reference.
func (s *State) Save() Saved {
	out := Saved{
		After:          s.after,
		VisibleOutputs: s.VisibleOutputs,
		Named:          s.fresh,
		Folded:         s.folded,
		Copied:         s.copies,
	}
	values, _ := named(s.Func) // those that are in the text
	for _, st := range s.States {
		out.States = append(out.States, SavedState{Name: st.Name, Value: st.Value.Name, Result: st.Result})
	}
	for _, c := range s.Compressed {
		x := SavedCompressed{
			Name:   c.Name,
			Pos:    c.Pos,
			Form:   c.Form,
			Stream: c.Stream,
			Stored: c.Stored,
			Inner:  c.inner,
		}
		for _, v := range c.Values {
			if values[v.Name] == v {
				x.Values = append(x.Values, v.Name)
			}
		}
		out.Compressed = append(out.Compressed, x)
	}
	for v := range s.derived {
		if values[v.Name] == v {
			out.Decompressed = append(out.Decompressed, v.Name)
		}
	}
	slices.Sort(out.Decompressed)
	for op, why := range s.stays {
		if out.Stays == nil {
			out.Stays = map[string]string{}
		}
		out.Stays[op.Results[0].Name] = why
	}
	for _, op := range s.Func.Body.Ops {
		if no := s.notFP16[op]; no != nil {
			if out.NotFP16 == nil {
				out.NotFP16 = map[string]*target.Refusal{}
			}
			out.NotFP16[op.Results[0].Name] = no
		}
		if of, ok := s.parts[op]; ok {
			if out.Decomposed == nil {
				out.Decomposed = map[string]decomposedFrom{}
			}
			out.Decomposed[op.Results[0].Name] = of
		}
	}
	return out
}

// Restore returns the state after the pass named by saved of the only function of p, ready for Resume. ref is the
// function that keep-reference kept, nil before that pass.
func Restore(p *ir.Program, ref *ir.Func, saved Saved) (*State, error) {
	if !slices.Contains(Names(), saved.After) {
		return nil, fmt.Errorf("no pass %q", saved.After)
	}
	f := p.Funcs[0]
	if saved.VisibleOutputs < 0 || saved.VisibleOutputs > len(f.Body.Outputs) {
		return nil, fmt.Errorf("function %s has %d visible outputs of %d", f.Name, saved.VisibleOutputs,
			len(f.Body.Outputs))
	}
	s := &State{
		Program:        p,
		Func:           f,
		Reference:      ref,
		Fused:          map[*ir.Op][]*ir.Op{},
		VisibleOutputs: saved.VisibleOutputs,
		after:          saved.After,
		fresh:          saved.Named,
		folded:         saved.Folded,
		copies:         saved.Copied,
	}
	values, ops := named(f)
	for _, st := range saved.States {
		v := values[st.Value]
		if v == nil || st.Result >= len(f.Body.Outputs) {
			return nil, fmt.Errorf("state %q of function %s: no value %q with result %d", st.Name, f.Name, st.Value,
				st.Result)
		}
		s.States = append(s.States, StateBuffer{Name: st.Name, Value: v, Result: st.Result})
	}
	for _, x := range saved.Compressed {
		c := &Compressed{
			Name:   x.Name,
			Pos:    x.Pos,
			Form:   x.Form,
			Stream: x.Stream,
			Stored: x.Stored,
			inner:  x.Inner,
		}
		for _, n := range x.Values {
			if v := values[n]; v != nil {
				c.Values = append(c.Values, v)
			}
		}
		s.Compressed = append(s.Compressed, c)
	}
	for _, n := range saved.Decompressed {
		if v := values[n]; v != nil {
			if s.derived == nil {
				s.derived = map[*ir.Value]bool{}
			}
			s.derived[v] = true
		}
	}
	for n, why := range saved.Stays {
		if op := ops[n]; op != nil {
			if s.stays == nil {
				s.stays = map[*ir.Op]string{}
			}
			s.stays[op] = why
		}
	}
	for n, no := range saved.NotFP16 {
		if op := ops[n]; op != nil && no != nil {
			if s.notFP16 == nil {
				s.notFP16 = map[*ir.Op]*target.Refusal{}
			}
			s.notFP16[op] = no
		}
	}
	for n, of := range saved.Decomposed {
		if op := ops[n]; op != nil {
			if s.parts == nil {
				s.parts = map[*ir.Op]decomposedFrom{}
			}
			s.parts[op] = of
		}
	}
	return s, nil
}

// named returns the values of f by name, and its operations by the name of their first result.
func named(f *ir.Func) (map[string]*ir.Value, map[string]*ir.Op) {
	values, ops := map[string]*ir.Value{}, map[string]*ir.Op{}
	var walk func(b *ir.Block)
	walk = func(b *ir.Block) {
		add := func(vs []*ir.Value) {
			for _, v := range vs {
				values[v.Name] = v
			}
		}
		add(b.Params)
		for _, op := range b.Ops {
			for _, a := range op.Args {
				add(a)
			}
			add(op.Results)
			if len(op.Results) > 0 {
				ops[op.Results[0].Name] = op
			}
			for _, n := range op.Blocks {
				walk(n)
			}
		}
		add(b.Outputs)
	}
	walk(f.Body)
	return values, ops
}

// Resume applies the passes that follow the one after which s was restored. Passes that change nothing in the program
// run again, since their findings are not in its text.
func Resume(ctx context.Context, s *State, o Options) error {
	s.Options = o
	next := slices.Index(Names(), s.after) + 1
	for next > 0 && List[next-1].Finds {
		next--
	}
	if next > slices.Index(Names(), "place") {
		s.refusals()
	}
	return s.run(ctx, next)
}

// refusals determines again why operations on the CPU are there, for the report.
func (s *State) refusals() {
	for _, op := range s.Func.Body.Ops {
		if op.Place.Unit != ir.CPU {
			continue
		}
		var no *target.Refusal
		if _, err := s.accept(op); errors.As(s.asHalf(op, err), &no) {
			s.noteRefusal(op, no)
		}
	}
}
