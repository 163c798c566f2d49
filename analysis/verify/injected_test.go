package verify

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/target"
)

// fault is a fault of a compiler: a change of one operation. It reports whether the operation has a place for it.
type fault struct {
	name   string
	change func(op *ir.Op) bool
}

// inject changes the first or, for at 1, the last operation of a function that a fault applies to, and returns the
// operation's result.
func (u *fault) inject(f *ir.Func, at int) (where string) {
	ops := slices.Clone(f.Body.Ops)
	if at == 1 {
		slices.Reverse(ops)
	}
	for _, op := range ops {
		if u.change(op) {
			return op.Results[0].Name
		}
	}
	return ""
}

// constant replaces a constant float operand of more than one element, or with one set exactly one, by what change
// makes of its elements. A change that has no effect is not one.
func constant(op *ir.Op, p ir.ParamName, one bool, change func(vs []float64)) bool {
	v := op.Arg(p)
	if v == nil || !v.IsConst() || !v.Type.DType.IsFloat() || (v.Type.Elems() == 1) != one {
		return false
	}
	vs := v.Const.Floats()
	change(vs)
	c := &ir.Const{Type: v.Type}
	for _, x := range vs {
		c.Data = ir.AppendElem(c.Data, v.Type.DType, x)
	}
	op.SetArg(p, &ir.Value{Name: v.Name, Type: v.Type, Const: c, Pos: v.Pos})
	return !slices.Equal(c.Floats(), v.Const.Floats())
}

func largest(vs []float64) float64 {
	m := 0.0
	for _, v := range vs {
		m = max(m, math.Abs(v))
	}
	return m
}

// ofWeights returns a fault of the constant weights of a product.
func ofWeights(change func(vs []float64)) func(op *ir.Op) bool {
	return func(op *ir.Op) bool {
		switch {
		case op.Is(ir.OpConv, ir.OpLinear):
			return constant(op, ir.ParamWeight, false, change)
		case op.Is(ir.OpMatMul):
			return constant(op, ir.ParamY, false, change)
		case op.Is(ir.OpLSTM):
			return constant(op, ir.ParamWeightIH, false, change)
		}
		return false
	}
}

// ofAddend returns a fault of the constant addend of a product or of a norm.
func ofAddend(change func(vs []float64)) func(op *ir.Op) bool {
	return func(op *ir.Op) bool {
		return constant(op, ir.ParamBias, false, change) ||
			op.Def.Class == ir.Normalization && constant(op, ir.ParamBeta, false, change)
	}
}

// becomes replaces an operation by another one with the operand x.
func becomes(op *ir.Op, o *ir.Operation) bool {
	x := op.Arg(ir.ParamX)
	n := ir.NewOp(o.Forms()[0])
	n.SetArg(ir.ParamX, x)
	op.Def, op.Args = n.Def, n.Args
	return true
}

// isSum reports whether an operation adds two values that are computed.
func isSum(op *ir.Op) bool {
	return op.Is(ir.OpAdd) && !op.Arg(ir.ParamX).IsConst() && !op.Arg(ir.ParamY).IsConst()
}

var faults = []fault{
	{"epsilon times 1,000", func(op *ir.Op) bool {
		return (op.Def.Class == ir.Normalization || op.Is(ir.OpRsqrt)) &&
			constant(op, ir.ParamEpsilon, true, func(vs []float64) { vs[0] *= 1000 })
	}},
	{"two neighbouring weights swapped", ofWeights(func(vs []float64) {
		for i := len(vs) / 2; i+1 < len(vs); i++ {
			if vs[i] != vs[i+1] {
				vs[i], vs[i+1] = vs[i+1], vs[i]
				return
			}
		}
	})},
	{"one weight off by the largest", ofWeights(func(vs []float64) { vs[len(vs)/3] += largest(vs) })},
	{"the largest weight with the other sign", ofWeights(func(vs []float64) {
		top := largest(vs)
		i := slices.IndexFunc(vs, func(v float64) bool { return math.Abs(v) == top })
		vs[i] = -vs[i]
	})},
	{"one element of an addend off by the largest", ofAddend(func(vs []float64) { vs[len(vs)/3] += largest(vs) })},
	{"dropped addend", ofAddend(func(vs []float64) { clear(vs) })},
	{"gain shifted by one", func(op *ir.Op) bool {
		return constant(op, ir.ParamGamma, false, func(vs []float64) {
			copy(vs, append(slices.Clone(vs[1:]), vs[0]))
		})
	}},
	{"another activation", func(op *ir.Op) bool {
		switch {
		case op.Is(ir.OpSigmoid):
			return becomes(op, ir.OpTanh)
		case op.Is(ir.OpTanh, ir.OpSilu, ir.OpGelu):
			return becomes(op, ir.OpSigmoid)
		case op.Is(ir.OpRelu):
			return becomes(op, ir.OpAbs)
		}
		return false
	}},
	{"difference for a sum", func(op *ir.Op) bool {
		if !isSum(op) {
			return false
		}
		op.Def = ir.OpSub.Forms()[0]
		return true
	}},
	{"dropped residual", func(op *ir.Op) bool {
		return isSum(op) && op.Arg(ir.ParamX) != op.Arg(ir.ParamY) &&
			op.Arg(ir.ParamX).Type.Equal(op.Results[0].Type) && becomes(op, ir.OpIdentity)
	}},
}

// block is a convolution with its norm, a residual and a layer norm with a gain and an addend.
func block() *ir.Program {
	g := irbuild.New(21)
	x := g.Input(1, 16, 6, 8)
	y := g.Op("conv", "x", x, "weight", g.Weights(16, 16, 3, 3), "bias", g.Weights(16), "pad_type", "same")
	variance := g.Filled(ir.FP16, func(i int64) float64 { return 0.5 + float64(i)/16 }, 16)
	y = g.Op("batch_norm", "x", y, "mean", g.Weights(16), "variance", variance, "gamma", g.Weights(16), "beta",
		g.Weights(16), "epsilon", 1e-3)
	y = g.Op("add", "x", g.Op("relu", "x", y), "y", x)
	y = g.Op("layer_norm", "x", y, "axes", []int{3}, "gamma", g.Weights(8), "beta", g.Weights(8), "epsilon", 1e-3)
	g.Output(g.Op("sigmoid", "x", y))
	return g.Program()
}

// quiet is the form of a speech encoder's residual branch, a layer norm before a product, of values whose variance is
// about the epsilon, as silence gives them; then an instance norm.
func quiet() *ir.Program {
	g := irbuild.New(22)
	x := g.Op("mul", "x", g.Input(1, 12, 64), "y", 1.0/256)
	y := g.Op("layer_norm", "x", x, "axes", []int{2}, "gamma", g.Weights(64), "beta", g.Weights(64), "epsilon", 1e-5)
	y = g.Op("gelu", "x", g.Op("linear", "x", y, "weight", g.Weights(64, 64), "bias", g.Weights(64)), "mode", "EXACT")
	y = g.Op("add", "x", g.Op("mul", "x", y, "y", 1.0/256), "y", x)
	y = g.Op("instance_norm", "x", y, "gamma", g.Weights(12), "beta", g.Weights(12), "epsilon", 1e-5)
	g.Output(y)
	return g.Program()
}

// faultModel is a model into which faults are injected.
type faultModel struct {
	name string
	read func(t *testing.T) *ir.Program
}

// openedModel returns the model in a folder.
func openedModel(t *testing.T, path string) *ir.Program {
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m.Program
}

// ofCorpus returns the model of that name in the corpus.
func ofCorpus(name string) func(t *testing.T) *ir.Program {
	return func(t *testing.T) *ir.Program {
		shared := shareddir.Find(t)
		return openedModel(t, shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", name)))
	}
}

// models are synthetic ones and real ones of different kinds.
var models = []faultModel{
	{name: "block", read: func(*testing.T) *ir.Program { return block() }},
	{name: "quiet", read: func(*testing.T) *ir.Program { return quiet() }},
	{name: "digits", read: func(t *testing.T) *ir.Program {
		return openedModel(t, filepath.Join("..", "..", "examples", "digits", "digits.mlmodelc"))
	}},
	{name: "mnist-cnn-inline", read: ofCorpus("mnist-cnn-inline")},
	{name: "silero-v6-fp16", read: ofCorpus("silero-v6-fp16")},
	{name: "parakeet-eou-joint", read: ofCorpus("parakeet-eou-joint")},
	{name: "parakeet-eou-decoder-lstm", read: ofCorpus("parakeet-eou-decoder-lstm")},
	{name: "espresso-decode-ffn", read: ofCorpus("espresso-decode-ffn")},
	{name: "espresso-rwkv-recurrent-step", read: ofCorpus("espresso-rwkv-recurrent-step")},
	{name: "espresso-fused-ffn", read: ofCorpus("espresso-fused-ffn")},
	{name: "espresso-rwkv-fused-two-layer-step", read: ofCorpus("espresso-rwkv-fused-two-layer-step")},
}

// score counts what became of the faults of one kind.
type score struct{ places, injected, verify, onlyProve int }

// TestInjectedFaultsAreCaught injects faults into models and requires that verify or prove finds each, and that each
// model is proved without a fault. A fault of a constant is injected into the bytes: they come from the changed model,
// and the lowered program from the model. A fault of an operation is injected into a pass: bytes and lowered program
// come from the changed model, and the source is the model. The proof must not accept either. The long form of the
// tests takes every place, the others a few in each model.
func TestInjectedFaultsAreCaught(t *testing.T) {
	scores := map[string]*score{}
	for _, u := range faults {
		scores[u.name] = &score{}
	}
	for _, m := range testform.Of(models[:4], models, models) {
		t.Run(m.name, func(t *testing.T) { m.injectAll(t, scores) })
	}
	for _, u := range faults {
		s := scores[u.name]
		t.Logf("%s: %d injected, %d caught by verify, %d only by prove", u.name, s.injected, s.verify, s.onlyProve)
		if s.places == 0 {
			t.Errorf("no model has a place for %s", u.name)
		}
	}
}

// injectAll injects every fault at both ends of one model.
func (m *faultModel) injectAll(t *testing.T, scores map[string]*score) {
	source := m.read(t)
	good := compiled(t, ir.CloneProgram(source))
	res, err := Prove(t.Context(), good, prove.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != prove.Proved || !res.Concluded() {
		var b strings.Builder
		res.Text(&b, prove.TextOptions{})
		t.Errorf("as compiled: %s", b.String())
	}
	type place struct {
		u     fault
		where string
		p     *ir.Program
	}
	var places []place
	for _, u := range faults {
		var first string
		for at := range 2 {
			p := ir.CloneProgram(source)
			where := u.inject(p.Funcs[0], at)
			if where == "" || where == first {
				continue
			}
			first = where
			scores[u.name].places++
			places = append(places, place{u, where, p})
		}
	}
	for i := range testform.Sample(len(places), 2, 5) {
		x := places[i]
		t.Run(x.u.name+" at "+x.where, func(t *testing.T) { m.catch(t, good, x.p, scores[x.u.name]) })
	}
}

func compiled(t *testing.T, p *ir.Program) *compile.Result {
	t.Helper()
	r, err := compile.All(t.Context(), p, compile.Options{Target: target.H13, Precision: passes.PrecisionFP16})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// statements proves a pair, and returns the comparison of the source of its first function with the program.
func statements(t *testing.T, m *sim.Machine, r *compile.Result) *prove.SourceResult {
	t.Helper()
	res, err := prove.Pair(t.Context(), m, Provable(r), prove.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return res.Functions[0].Source
}

// catch compiles a changed program and compares it with the good one.
func (m *faultModel) catch(t *testing.T, good *compile.Result, p *ir.Program, s *score) {
	bad := compiled(t, p)
	machine, err := Open(bad)
	if err != nil {
		t.Fatal(err)
	}
	pass := *bad.Functions[0]
	pass.Reference = good.Functions[0].Reference
	r, where := *bad, "in a pass"
	r.Functions = []*compile.Function{&pass}
	if sameShape(good.Functions[0], bad.Functions[0]) {
		r, where = *good, "in the bytes"
	}
	res, err := Check(t.Context(), &r, machine, nil, Options{Seed: 1, Numerics: numerics.ANE})
	if err != nil {
		t.Fatal(err)
	}
	proof := prove.Open
	pr, err := prove.Pair(t.Context(), machine, Provable(good), prove.Options{Seed: 1})
	if err == nil {
		proof = pr.Verdict
	}
	if proof == prove.Proved {
		t.Error("the bytes of the changed model are proved")
	}
	passed := compile.Result{Functions: []*compile.Function{&pass}}
	if c := statements(t, machine, &passed); c.Open == 0 {
		t.Errorf("%d statements of the changed model's lowered program are proved, %d checked, none is open", c.Proved,
			c.Checked)
	}
	s.injected++
	switch {
	case res.Verdict == Fail:
		s.verify++
	case proof == prove.Wrong && where == "in the bytes":
		s.onlyProve++
	default:
		t.Errorf("not caught: %+v", res.Outputs)
	}
	worst := Number(0)
	for _, o := range res.Outputs {
		worst = max(worst, o.Percent)
	}
	t.Logf("%s: outputs differ by %.3g %%; verify: %s, prove: %s", where, float64(worst), res.Verdict, proof)
}

// sameShape reports whether two functions were lowered to the same operations and tasks, so that only constants differ.
func sameShape(f, g *compile.Function) bool {
	a, b := f.Placed.Body.Ops, g.Placed.Body.Ops
	if len(a) != len(b) || len(f.Procedures) != len(g.Procedures) {
		return false
	}
	for i := range a {
		if a[i].Def != b[i].Def || a[i].Results[0].Name != b[i].Results[0].Name || a[i].Place.Unit != b[i].Place.Unit {
			return false
		}
		if a[i].Place.Unit != ir.Engine && (&call{}).unchanged(a[i].Results[0], b[i].Results[0]) == false {
			return false
		}
	}
	for i := range f.Procedures {
		if len(f.Procedures[i].Tasks) != len(g.Procedures[i].Tasks) {
			return false
		}
	}
	return true
}
