package explore

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/inspect/compare"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// flat lists changes with their effects.
func flat(cs []diffChange) (out []diffChange) {
	for _, c := range cs {
		out = append(append(out, c), flat(c.Effects)...)
	}
	return out
}

// TestFlexibleInputsAreCompiledInOtherShapes also checks the errors.
func TestFlexibleInputsAreCompiledInOtherShapes(t *testing.T) {
	corpus := filepath.Join(shareddir.Find(t), "corpus", "rb-flexible-gather")
	c := newClient(t, small, corpus)
	var list modelList
	c.must("/api/models", nil, &list)
	if d := list.Models[0].Shapes["indices"]; !slices.Equal(d, []int64{2, 4}) {
		t.Fatalf("shapes %v", list.Models[0].Shapes)
	}
	name := list.Models[0].Name
	own, other := c.compile(Config{Model: name}), c.compile(Config{
		Model:  name,
		Shapes: map[string][]int64{"indices": {1, 3}},
	})
	if !own.OK || !other.OK || own.Key == other.Key {
		t.Fatalf("%+v, %+v", own, other)
	}
	var run runAnswer
	c.must("/api/view/"+other.Key+"/run", runRequest{Seed: 1, Numerics: "ane"}, &run)
	if len(run.Outputs) != 1 || run.Outputs[0].Type != "tensor<fp32, [1, 3, 2]>" {
		t.Errorf("%+v", run.Outputs)
	}
	var d diffAnswer
	c.must("/api/diff", diffQuery{
		A: Config{Model: name},
		B: Config{Model: name, Shapes: map[string][]int64{"indices": {1, 3}}},
	}, &d)
	if len(d.Changes) != 1 || d.Changes[0].Subject != "shape" {
		t.Errorf("%+v", d.Changes)
	}
	for _, s := range []map[string][]int64{{"none": {1}}, {"indices": {1}}, {"indices": {-1, 1 << 60}}, {"data": nil}} {
		if x := c.compile(Config{Model: name, Shapes: s}); x.OK || x.Error == "" {
			t.Errorf("shapes %v: %+v", s, x)
		}
	}
}

func TestComparisonsNameTheirLinks(t *testing.T) {
	c := newClient(t, small, digits)
	var src sourceText
	c.must("/api/source?model=digits", nil, &src)
	other := strings.Replace(src.Text, "relu(x = conv1)", "sigmoid(x = conv1)", 1)
	at := strings.Count(src.Text[:strings.Index(src.Text, "relu(x = conv1)")], "\n") + 1
	wrong := strings.Replace(src.Text, "relu(x = conv1)", "relu(x = conv9)", 1)
	for _, x := range []struct {
		name    string
		b       Config
		query   diffQuery
		changes int
		want    []string // level: part of subject or details, of changes or their effects
		missing string   // part of why a level is not compared
	}{
		{name: "itself", b: Config{Model: "digits"}},
		{name: "itself, run", b: Config{Model: "digits"}, query: diffQuery{Outputs: true, Seed: 1, Bytes: true}},
		{name: "an operation", b: Config{Model: "digits", Text: &other}, query: diffQuery{Outputs: true, Seed: 1,
			Bytes: true}, changes: 1,
			want: []string{"mil: sigmoid", "ir: conv1_relu", "tasks: NE.", "outputs: probs"}},
		{name: "an operation, by statements alone", b: Config{Model: "digits", Text: &other},
			query: diffQuery{Levels: []string{"mil"}}, changes: 1, want: []string{"mil: sigmoid"}},
		{name: "a flag", b: Config{Model: "digits", Join: true}, changes: 1,
			want: []string{"settings: split-kernel-section", "container: __KERN_0"}},
		{name: "a target", b: Config{Model: "digits", Target: "h19"}, changes: 1,
			want:    []string{"settings: h13 -> h19", "limits: "},
			missing: "zinc writes no programs for target h19"},
		{name: "an error", b: Config{Model: "digits", Text: &wrong}},
	} {
		q := x.query
		q.A, q.B = Config{Model: "digits"}, x.b
		var d diffAnswer
		c.must("/api/diff", q, &d)
		if x.name == "an error" {
			if d.Same || d.B.OK || d.B.Error != "1 error" || len(d.B.Places) != 1 || d.B.Places[0].Line != at ||
				!d.A.OK {
				t.Errorf("%s: %+v", x.name, d)
			}
			continue
		}
		if len(d.Changes) != x.changes || d.Same != (x.changes == 0) || !d.A.OK || !d.B.OK {
			t.Errorf("%s: %d changes, want %d: %+v", x.name, len(d.Changes), x.changes, d)
			continue
		}
		list := flat(d.Changes)
		for _, w := range x.want {
			level, part, _ := strings.Cut(w, ": ")
			if !slices.ContainsFunc(list, func(ch diffChange) bool {
				return string(ch.Level) == level && strings.Contains(ch.Subject+" "+strings.Join(ch.Details, " "), part)
			}) {
				t.Errorf("%s: no change at level %s with %q in %+v", x.name, level, part, d.Changes)
			}
		}
		missing := ""
		for _, l := range d.Levels {
			missing += l.Missing
		}
		if !strings.Contains(missing, x.missing) || x.missing == "" && missing != "" {
			t.Errorf("%s: levels %+v", x.name, d.Levels)
		}
		if q.Bytes != (len(d.Ranges) > 0) && x.changes > 0 {
			t.Errorf("%s: %d ranges, asked %v", x.name, len(d.Ranges), q.Bytes)
		}
		if x.name == "an operation" && (d.Changes[0].LineA != at || d.Changes[0].LineB != at) {
			t.Errorf("the change is at lines %d and %d, want %d", d.Changes[0].LineA, d.Changes[0].LineB, at)
		}
	}
	// What compare says of two sides is what it says of two models that it opens itself.
	x, y := Config{Model: "digits"}, Config{Model: "digits", Precision: "fp16", Text: &other}
	var d diffAnswer
	c.must("/api/diff", diffQuery{A: x, B: y}, &d)
	var sides [2]*compare.Side
	for i, cfg := range []*Config{&x, &y} {
		if err := cfg.resolve(c.s.models[0], nil); err != nil {
			t.Fatal(err)
		}
		s, err := c.s.newSide(t.Context(), c.s.models[0], cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sides[i] = s
	}
	r, err := compare.Compare(t.Context(), sides[0], sides[1], compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var want []diffChange
	for _, ch := range r.Changes {
		want = append(want, c.s.changeView(ch))
	}
	if !reflect.DeepEqual(d.Changes, want) {
		t.Errorf("%+v\nwant %+v", d.Changes, want)
	}
}
