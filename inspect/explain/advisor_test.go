package explain

import (
	"testing"
)

// TestAFailedRunSpoilsNoOtherAdvice runs a rewrite that fails before advice to compile in another way.
func TestAFailedRunSpoilsNoOtherAdvice(t *testing.T) {
	p := model(t, "tensor<fp16, [1, 16]> x", "tensor<fp16, [1, 16]> y = relu(x = x)",
		"tensor<fp16, [1, 16]> z = tanh(x = y)")
	f := sideOf(p.Funcs[0])
	wrong := placed{site: site{names: []string{"none"}}, was: f, is: f}
	s := &advisor{ctx: t.Context(), p: p, left: DefaultWork, out: Search{Tried: make([]Attempt, 2)}}
	s.weighed = []*weighed{
		{c: &candidate{recipe: recipeNamed("silu")}, edits: &edits{program: p, sites: []placed{wrong}}},
		{Advice: Advice{Precision: "fp16"}, c: &candidate{precision: "fp16"}, attempt: 1},
	}
	if err := s.runAll(); err != nil {
		t.Fatal(err)
	}
	if s.out.Tried[0].Why == "" || s.out.Tried[1].Why != "" || len(s.out.Advice) != 1 {
		t.Errorf("advice %+v, tried %+v", s.out.Advice, s.out.Tried)
	}
}
