package lower

import (
	"reflect"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/target"
)

// copyOf returns a copy of a segment, as another placement of its function has it.
func copyOf(a *Segment) *Segment {
	f := &ir.Func{Body: &ir.Block{Params: a.Inputs, Ops: a.Ops, Outputs: a.Outputs}}
	c := ir.CloneFunc(f, "copy").Body
	b := &Segment{Name: a.Name, Codec: a.Codec, Ops: c.Ops, Inputs: c.Params, Outputs: c.Outputs,
		Fused: map[*ir.Op][]*ir.Op{}, Ports: map[*ir.Value]string{}}
	for i, v := range a.Inputs {
		b.Ports[b.Inputs[i]] = a.Ports[v]
	}
	for i, v := range a.Outputs {
		b.Ports[b.Outputs[i]] = a.Ports[v]
	}
	for i, op := range a.Ops {
		for _, f := range a.Fused[op] {
			b.Fused[b.Ops[i]] = append(b.Fused[b.Ops[i]], b.Ops[slices.Index(a.Ops, f)])
		}
	}
	return b
}

// block returns a segment of a projection, a table and a product with a constant.
func block() *Segment {
	g := irbuild.New(1)
	y := g.Op("sigmoid", "x", g.Op("linear", "x", g.Input(16, 64), "weight", g.Weights(96, 64)))
	y = g.Op("relu", "x", g.Op("linear", "x", y, "weight", g.Weights(32, 96), "bias", g.Weights(32)))
	seg := segmentOf(g, y)
	seg.Keep = false
	return seg
}

// TestAgainIsLower compares what a segment is lowered to again with what it is lowered to, in a section that has
// another constant already.
func TestAgainIsLower(t *testing.T) {
	a := block()
	b := copyOf(a)
	var first, again, lowered weights.Section
	for _, s := range []*weights.Section{&first, &again, &lowered} {
		s.Track()
	}
	for _, s := range []*weights.Section{&again, &lowered} {
		if _, err := s.AddSurface(1, 64, make([]byte, 64)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Lower(a, target.H13, &first)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Again(b, a, &again, &first)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Lower(b, target.H13, &lowered)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Constants) != 2 || len(want.Tables) != 1 {
		t.Fatalf("%d constants and %d tables", len(want.Constants), len(want.Tables))
	}
	for _, p := range []*Procedure{got, want} {
		p.Tables[0].Worst, p.Tables[0].Table = nil, nil // functions are never equal
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if !reflect.DeepEqual(again.Extents(), lowered.Extents()) {
		t.Errorf("extents %v, want %v", again.Extents(), lowered.Extents())
	}
}

// TestDigestsTellSegmentsApart compares digests of segments that differ in one thing.
func TestDigestsTellSegmentsApart(t *testing.T) {
	a := block()
	want := a.Digest()
	if copyOf(a).Digest() != want {
		t.Error("the digest of a copy is another one")
	}
	for _, c := range []struct {
		name   string
		change func(s *Segment)
	}{
		{"shape", func(s *Segment) { s.Inputs[0].Type.Shape[0]++ }},
		{"element type", func(s *Segment) { s.Inputs[0].Type.DType = ir.Int8 }},
		{"weights", func(s *Segment) {
			c := *s.Ops[0].Arg(ir.ParamWeight).Const
			s.Ops[0].Arg(ir.ParamWeight).Const = &c
		}},
		{"bias", func(s *Segment) {
			v := s.Ops[2].Arg(ir.ParamBias)
			c := *v.Const
			c.Data = slices.Clone(c.Data)
			c.Data[0]++
			v.Const = &c
		}},
		{"rule", func(s *Segment) { s.Ops[0].Place.Rule = "other" }},
		{"operand", func(s *Segment) { s.Ops[1].Args[0][0] = s.Inputs[0] }},
		{"fused", func(s *Segment) { clear(s.Fused) }},
		{"output", func(s *Segment) {
			v := s.Ops[0].Results[0]
			s.Outputs, s.Ports[v] = append(s.Outputs, v), "z"
		}},
		{"order of ports", func(s *Segment) { s.Ports[s.Inputs[0]], s.Ports[s.Outputs[0]] = "b", "a" }},
	} {
		s := copyOf(a)
		c.change(s)
		if s.Digest() == want {
			t.Errorf("%s: the digest is the same", c.name)
		}
	}
}
