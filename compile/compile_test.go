package compile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// written returns the bytes of a result.
func written(t testing.TB, r *compile.Result) pair.Pair {
	t.Helper()
	p, err := r.Pair()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// built compiles the program that build makes and returns the result with its bytes.
func built(t testing.TB, o compile.Options, build func(g *irbuild.Graph)) (*compile.Result, pair.Pair) {
	t.Helper()
	g := irbuild.New(1)
	build(g)
	p := g.Program()
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	r, err := compile.All(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r, written(t, r)
}

// opNames lists the chain of the descriptor's function.
func opNames(p *e5.Program) string {
	var ns []string
	for _, b := range p.Functions[0].Blocks {
		for _, op := range b.Operations {
			ns = append(ns, op.Name)
		}
	}
	return strings.Join(ns, " ")
}

// identity is the linear layer of 64 inputs and 64 outputs that returns its input.
func identity(g *irbuild.Graph) {
	w := g.Filled(ir.FP16, func(i int64) float64 {
		if i/64 == i%64 {
			return 1
		}
		return 0
	}, 64, 64)
	g.Output(g.Op("linear", "x", g.Input(1, 64), "weight", w))
}

// TestIdentityHasThePublishedSegments checks that the container of the identity layer has the segments of table 23.6
// with their sizes and protections, except for scratch, and coefficient 1.0 in 64 places, and that it returns its input
// bit for bit.
func TestIdentityHasThePublishedSegments(t *testing.T) {
	r, p := built(t, compile.Options{Target: target.H13, SplitKernel: true}, identity)
	f, err := hwx.Read(p.Container)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		segment, section string
		size             uint64
		prot             uint32
	}
	want := map[row]bool{
		{segment: "__PAGEZERO", size: 0x4000, prot: 0}:                                         true, // guard page
		{segment: "__FVMLIB", section: "__const", size: 0x80, prot: hwx.ProtRead}:              true, // input
		{segment: "__FVMLIB", section: "__data", size: 0x80, prot: hwx.ProtWrite}:              true, // output
		{segment: "__TEXT", section: "__text", size: 0x474, prot: hwx.ProtRead | hwx.ProtExec}: true, // tasks
		{segment: "__KERN_0", section: "__kern_0", size: 0x2000, prot: hwx.ProtRead}:           true, // coefficients
	}
	next := uint64(0)
	for _, s := range f.Segments() {
		got := row{segment: s.Name.String(), size: s.VMSize, prot: s.InitProt}
		for _, c := range s.Sections {
			got.section, got.size = c.Name.String(), c.Size
		}
		// Scratch contains the transposed input by name, as recorded for every such product; the chapter counts seven
		// segments and lists five.
		scratch := got.segment == hwx.SegScratch && got.size == 64*64
		if len(s.Sections) > 1 || !want[got] && !scratch {
			t.Errorf("segment %+v is not in table 23.6", got)
		}
		delete(want, got)
		if s.VMAddr%0x4000 != 0 || s.VMAddr < next {
			t.Errorf("segment %s at %#x: pages are 0x4000 bytes and the last segment ends at %#x", s.Name, s.VMAddr,
				next)
		}
		next = s.VMAddr + s.VMSize
	}
	for w := range want {
		t.Errorf("no segment %+v", w)
	}
	ones := 0
	data := f.ConstantBytes()
	for i := 0; i+1 < len(data); i += 2 {
		switch h := uint16(data[i]) | uint16(data[i+1])<<8; h {
		case 0x3c00:
			ones++
		case 0:
		default:
			t.Errorf("coefficient %#04x at %#x", h, i)
		}
	}
	if ones != 64 {
		t.Errorf("%d coefficients are 1.0, want 64", ones)
	}
	m, err := sim.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	vs := make([]float32, 64)
	for i := range vs {
		vs[i] = float32(i-31) * 1.0625
	}
	x, err := interp.FromFloats(ir.FP16, vs, 1, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []numerics.Mode{numerics.ANE, numerics.IEEE} {
		out, err := m.Run(context.Background(), map[string]interp.Tensor{m.Inputs()[0].Name: x},
			sim.Options{Numerics: mode})
		if err != nil {
			t.Fatal(err)
		}
		if y := out[m.Outputs()[0].Name]; !bytes.Equal(y.Data, x.Data) {
			t.Errorf("%v: the output differs from the input:\n%v\n%v", mode, y.Floats32(), x.Floats32())
		}
	}
	if got := opNames(r.E5); got != "Op0_Cast Op1_AneInference Op2_Cast" {
		t.Errorf("the chain is %s", got)
	}
	if r.Report.EngineOps != 1 || r.Report.CPUOps != 0 {
		t.Errorf("placement: %s", r.Report.Line())
	}
}

// block is a graph that uses most of the compiler: convolutions, a table, a norm, attention, an operation of the CPU,
// two outputs.
func block(g *irbuild.Graph) {
	x := g.Input(1, 8, 12, 16)
	c := g.Op("relu", "x", g.Op("conv", "x", x, "weight", g.Weights(32, 8, 3, 3), "bias", g.Weights(32), "pad_type",
		"same"))
	h := g.Op("reshape", "x", c, "shape", []int{32, 192})
	q := g.Op("linear", "x", h, "weight", g.Weights(48, 192), "bias", g.Weights(48))
	a := g.Op("softmax", "x", g.Op("matmul", "x", q, "y", q, "transpose_y", true), "axis", -1)
	r := g.Op("sinh", "x", a)
	n := g.Op("layer_norm", "x", g.Op("matmul", "x", r, "y", h), "axes", []int{-1}, "gamma", g.Weights(192), "beta",
		g.Weights(192), "epsilon", 1e-3)
	g.Output(g.Op("gelu", "x", n, "mode", "EXACT"), a)
}

// TestBytesDoNotDependOnWorkers compares the bytes for numbers of workers and processors.
func TestBytesDoNotDependOnWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, split := range []bool{false, true} {
		var first pair.Pair
		for _, procs := range []int{1, 2, 4} {
			for _, workers := range []int{0, 1, 2, 7} {
				runtime.GOMAXPROCS(procs)
				_, p := built(t, compile.Options{Target: target.H13, SplitKernel: split, Workers: workers}, block)
				if first.Container == nil {
					first = p
				}
				if !reflect.DeepEqual(p, first) {
					t.Fatalf("split %t: %d processors and %d workers give other bytes", split, procs, workers)
				}
			}
		}
	}
}

// TestDescriptorDoesNotDependOnInnerSizes compares descriptors of a layer with different inner sizes.
func TestDescriptorDoesNotDependOnInnerSizes(t *testing.T) {
	size := func(inner int64) int {
		_, p := built(t, compile.Options{Target: target.H13}, func(g *irbuild.Graph) {
			h := g.Op("linear", "x", g.Input(1, 64), "weight", g.Weights(inner, 64))
			g.Output(g.Op("linear", "x", g.Op("relu", "x", h), "weight", g.Weights(64, inner)))
		})
		return len(p.Descriptor)
	}
	if a, b := size(64), size(256); a != b {
		t.Errorf("%d bytes with an inner size of 64, %d with 256", a, b)
	}
}

// TestChainsOfSmallGraphs checks the chain of the descriptor, with dispatches, CPU calls and tasks (0: any).
func TestChainsOfSmallGraphs(t *testing.T) {
	lstm := func(g *irbuild.Graph, x *ir.Value) *ir.Value { // [33, 1, 4] -> [33, 1, 3], too many steps for the engine
		return g.Op("lstm", "x", x, "initial_h", g.Weights(1, 3), "initial_c", g.Weights(1, 3),
			"weight_ih", g.Weights(12, 4), "weight_hh", g.Weights(12, 3), "output_sequence", true)
	}
	for _, c := range []struct {
		name                    string
		build                   func(g *irbuild.Graph)
		chain                   string
		dispatches, calls, task int
	}{
		{name: "conv, bias, relu", build: func(g *irbuild.Graph) {
			g.Output(g.Op("relu", "x", g.Op("conv", "x", g.Input(1, 3, 8, 8), "weight", g.Weights(8, 3, 3, 3), "bias",
				g.Weights(8))))
		}, chain: "Op0_Cast Op1_AneInference Op2_Cast", dispatches: 1, calls: 0, task: 1},
		{name: "conv, bias as add, factor, relu", build: func(g *irbuild.Graph) {
			y := g.Op("add", "x", g.Op("conv", "x", g.Input(1, 3, 8, 8), "weight", g.Weights(8, 3, 3, 3)), "y",
				g.Weights(8, 1, 1))
			g.Output(g.Op("relu", "x", g.Op("mul", "x", y, "y", 0.5)))
		}, chain: "Op0_Cast Op1_AneInference Op2_Cast", dispatches: 1, calls: 0, task: 1},
		{name: "conv, batch_norm, sigmoid", build: func(g *irbuild.Graph) {
			y := g.Op("conv", "x", g.Input(1, 3, 8, 8), "weight", g.Weights(8, 3, 3, 3))
			y = g.Op("batch_norm", "x", y, "mean", g.Weights(8), "variance", g.Filled(ir.FP16, func(int64) float64 {
				return 2
			}, 8), "epsilon", 1e-3)
			g.Output(g.Op("sigmoid", "x", y))
		}, chain: "Op0_Cast Op1_AneInference Op2_Cast", dispatches: 1, calls: 0, task: 1},
		{name: "two inputs, two outputs", build: func(g *irbuild.Graph) {
			a, b := g.Input(4, 40), g.Input(4, 40)
			g.Output(g.Op("add", "x", a, "y", b), g.Op("mul", "x", a, "y", b))
		}, chain: "Op0_Cast Op1_Cast Op2_AneInference Op3_Cast Op4_Cast", dispatches: 1, calls: 0, task: 2},
		{name: "fp32 in and out", build: func(g *irbuild.Graph) {
			x := g.Op("cast", "x", g.InputOf(ir.FP32, 4, 40), "dtype", "fp16")
			g.Output(g.Op("cast", "x", g.Op("relu", "x", x), "dtype", "fp32"))
		}, chain: "Op0_Cast Op1_AneInference Op2_Cast", dispatches: 1, calls: 0, task: 1},
		{name: "engine, lstm, engine", build: func(g *irbuild.Graph) {
			y := lstm(g, g.Op("relu", "x", g.Input(33, 1, 4)))
			g.Output(g.Op("abs", "x", y))
		}, chain: "Op0_Cast Op1_AneInference Op2_Cast Op3_CpuInference Op4_Cast Op5_AneInference Op6_Cast",
			dispatches: 2, calls: 1, task: 2},
		{name: "two chains through the CPU", build: func(g *irbuild.Graph) {
			for range 2 {
				y := lstm(g, g.Op("relu", "x", g.Input(33, 1, 4)))
				g.Output(g.Op("abs", "x", y))
			}
		}, dispatches: 2, calls: 1, task: 4},
		{name: "CPU alone", build: func(g *irbuild.Graph) {
			g.Output(lstm(g, g.Input(33, 1, 4)))
		}, chain: "Op0_CpuInference", dispatches: 0, calls: 1, task: 0},
		{name: "movement alone", build: func(g *irbuild.Graph) {
			g.Output(g.Op("transpose", "x", g.Input(3, 4), "perm", []int{1, 0}))
		}, chain: "Op0_CpuInference", dispatches: 0, calls: 1, task: 0},
		{name: "an input is a result", build: func(g *irbuild.Graph) {
			x := g.Input(3, 4)
			g.Output(x, g.Op("relu", "x", x))
		}, dispatches: 1, calls: 0, task: 1},
		{name: "a constant is a result", build: func(g *irbuild.Graph) {
			g.Output(g.Weights(2, 2), g.Op("relu", "x", g.Input(3, 4)))
		}, dispatches: 1, calls: 0, task: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, p := built(t, compile.Options{Target: target.H13, VerifyEach: true}, c.build)
			if got := opNames(r.E5); c.chain != "" && got != c.chain {
				t.Errorf("chain %s, want %s", got, c.chain)
			}
			if r.Report.Dispatches != c.dispatches || r.Report.CPUCalls != c.calls || c.task != 0 &&
				r.Report.Tasks != c.task {
				t.Errorf("%d dispatches, %d CPU calls, %d tasks; want %d, %d, %d", r.Report.Dispatches,
					r.Report.CPUCalls, r.Report.Tasks, c.dispatches, c.calls, c.task)
			}
			if _, err := sim.Open(p); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReportPlacesEveryOperation checks that every operation has a place, and every place on the CPU a reason.
func TestReportPlacesEveryOperation(t *testing.T) {
	r, _ := built(t, compile.Options{Target: target.H13}, block)
	engine, cpu := 0, 0
	for _, o := range r.Report.Ops {
		switch o.Unit {
		case "engine":
			engine++
			if o.Rule == "" || o.Reason != "" {
				t.Errorf("%+v", o)
			}
		case "cpu":
			cpu++
			if o.Reason == "" {
				t.Errorf("%s is on the CPU without a reason", o.Op)
			}
		}
	}
	if engine != r.Report.EngineOps || cpu != r.Report.CPUOps || cpu == 0 {
		t.Errorf("%d and %d operations, the report counts %d and %d", engine, cpu, r.Report.EngineOps, r.Report.CPUOps)
	}
	// conv 8*9 terms for 32*12*16 results; linear 192 for 32*48; products 48 for 32*32 and 32 for 32*192.
	if want := int64(72*32*12*16 + 192*32*48 + 48*32*32 + 32*32*192); r.Report.EngineMACs != want ||
		r.Report.CPUMACs != 0 {
		t.Errorf("%d multiply-accumulates on the engine, want %d", r.Report.EngineMACs, want)
	}
	if !strings.Contains(r.Report.Line(), "on the CPU: sinh") {
		t.Errorf("line: %s", r.Report.Line())
	}
	var b bytes.Buffer
	if err := r.Report.Text(&b); err != nil || !strings.Contains(b.String(), "table softmax") &&
		!strings.Contains(b.String(), "table gelu") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestWrongProgramsAreRefused compiles programs that cannot be compiled, and checks the errors.
func TestWrongProgramsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(g *irbuild.Graph)
		o     compile.Options
		want  string
	}{
		{name: "returned twice", build: func(g *irbuild.Graph) {
			y := g.Op("relu", "x", g.Input(2, 2))
			g.Output(y, y)
		}, o: compile.Options{Target: target.H13}, want: "twice"},
		{name: "no such function", build: func(g *irbuild.Graph) {
			g.Output(g.Op("relu", "x", g.Input(2, 2)))
		}, o: compile.Options{Target: target.H13, Func: "other"}, want: `no function "other"`},
		{name: "no such precision", build: func(g *irbuild.Graph) {
			g.Output(g.Op("relu", "x", g.Input(2, 2)))
		}, o: compile.Options{Target: target.H13, Precision: "fp8"}, want: "declared or fp16"},
	} {
		g := irbuild.New(1)
		c.build(g)
		_, err := compile.All(context.Background(), g.Program(), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g := irbuild.New(1)
	block(g)
	if _, err := compile.All(ctx, g.Program(), compile.Options{Target: target.H13}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// run loads and runs a pair on ones; it must not panic, regardless of the bytes.
func run(p pair.Pair) error {
	m, err := sim.Open(p)
	if err != nil {
		return err
	}
	in := map[string]interp.Tensor{}
	for _, p := range m.Inputs() {
		if n := p.Type.Bytes(); n < 0 || n > 1<<20 {
			return fmt.Errorf("input of %s", p.Type)
		}
		t, err := interp.Zeros(p.Type)
		if err != nil {
			return err
		}
		in[p.Name] = t
	}
	_, err = m.Run(context.Background(), in, sim.Options{Numerics: numerics.ANE, Workers: 1})
	return err
}

// TestDamagedPairsAreErrors checks half a pair, halves of two pairs, a truncated container and flipped bits.
func TestDamagedPairsAreErrors(t *testing.T) {
	_, whole := built(t, compile.Options{Target: target.H13}, block)
	if err := run(whole); err != nil {
		t.Fatal(err)
	}
	container, descriptor := whole.Container, whole.Descriptor
	_, other := built(t, compile.Options{Target: target.H13}, identity)
	for _, p := range []pair.Pair{
		{Container: container, Descriptor: other.Descriptor}, {Container: other.Container, Descriptor: descriptor},
	} {
		if err := run(p); err == nil || !strings.Contains(err.Error(), "SHA-256") {
			t.Errorf("halves of two pairs: %v", err)
		}
	}
	for n := 0; n < len(container); n += 64 {
		if err := run(pair.Pair{Container: container[:n], Descriptor: descriptor}); err == nil {
			t.Errorf("a container cut at byte %#x runs", n)
		}
	}
	for n := 0; n < len(descriptor); n += 7 {
		if err := run(pair.Pair{Container: container, Descriptor: descriptor[:n]}); err == nil {
			t.Errorf("a descriptor cut at byte %#x runs", n)
		}
	}
	// A flipped bit of the container breaks its hash; one of the descriptor may
	// change a name or a constant, which is not an error.
	for i := 0; i < len(container); i += 97 {
		c := bytes.Clone(container)
		c[i] ^= 1 << (i % 8)
		if err := run(pair.Pair{Container: c, Descriptor: descriptor}); err == nil {
			t.Errorf("a container with bit %d of byte %#x flipped runs", i%8, i)
		}
	}
	refused := 0
	for i := 0; i < len(descriptor); i += 5 {
		d := bytes.Clone(descriptor)
		d[i] ^= 1 << (i % 8)
		if err := run(pair.Pair{Container: container, Descriptor: d}); err != nil {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no flipped bit of the descriptor is noticed")
	}
}
