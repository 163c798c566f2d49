package compile

import (
	"context"
	"fmt"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// lowered compiles a graph and returns the tasks of its one procedure.
func lowered(t *testing.T, g *irbuild.Graph) []td.Placed {
	t.Helper()
	r, err := All(context.Background(), g.Program(), Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	p := r.HWX.Procedures()[0]
	text, entry, ok := r.HWX.Text().Of(p)
	if !ok {
		t.Fatal("no task section")
	}
	l, err := td.V7.DecodeChain(text, entry, p.FirstWords)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestSourcesAreOnDifferentBanks checks the places of two sources with one pixel per channel and of the result, and the
// time, as recorded for binary_add_1xCx1x1 and binary_maximum_1x1024x1x1.
func TestSourcesAreOnDifferentBanks(t *testing.T) {
	for _, c := range []struct {
		channels         int64
		second, res, exe int
	}{
		{channels: 64, second: 0x440, res: 0x860, exe: 0}, {channels: 128, second: 0x840, res: 0x1060, exe: 1},
		{channels: 256, second: 0x1040, res: 0x2060, exe: 2}, {channels: 512, second: 0x2040, res: 0x4060, exe: 4},
		{channels: 1024, second: 0x4040, res: 0x8060, exe: 9}, {channels: 2048, second: 0x8040, res: 0x10060, exe: 18},
		{channels: 4096, second: 0x10040, res: 0x20060, exe: 36},
	} {
		g := irbuild.New(1)
		g.Output(g.Op("add", "x", g.Input(1, c.channels, 1, 1), "y", g.Input(1, c.channels, 1, 1)))
		l := lowered(t, g)
		if len(l) != 1 || l[0].Int(td.L2Src2) != c.second || l[0].Int(td.L2Res) != c.res ||
			l[0].Int(td.ExeCycles) != c.exe {
			t.Errorf("%d channels: %d tasks, source 2 at %#x, result at %#x, time %d; recorded 1, %#x, %#x, %d",
				c.channels,
				len(l), l[0].Int(td.L2Src2), l[0].Int(td.L2Res), l[0].Int(td.ExeCycles), c.second, c.res, c.exe)
		}
	}
	// If both sources are one tensor, the second reading begins where the first ends (chain_res_relu_d256).
	g := irbuild.New(1)
	x := g.Input(1, 256, 1, 1)
	g.Output(g.Op("add", "x", x, "y", g.Op("relu", "x", x)))
	if l := lowered(t, g); len(l) != 1 || l[0].Int(td.L2Src2) != 0x1020 {
		t.Errorf("x + relu(x): %d tasks, source 2 at %#x, recorded 1, 0x1020", len(l), l[0].Int(td.L2Src2))
	}
}

// TestOneChannelIsBroadcast checks that the pair of mean and factor of an only channel counts as broadcast where the
// channel is normalised too, as recorded for norm_layer_norm_ax1_2_3_1x1x1x64.
func TestOneChannelIsBroadcast(t *testing.T) {
	for _, c := range []struct {
		axes []int64
		want bool
	}{{[]int64{1, 2, 3}, true}, {[]int64{3}, false}} {
		g := irbuild.New(1)
		g.Output(g.Op("layer_norm", "x", g.Input(1, 1, 1, 64), "axes", c.axes))
		l := lowered(t, g)
		if last := l[len(l)-1]; last.On(td.Bcast2C) != c.want {
			t.Errorf("axes %v: %s is %v, recorded %v", c.axes, td.Bcast2C, !c.want, c.want)
		}
	}
}

// TestReciprocalsMarkWhatTheyExchange checks bit 13 of the debug mask of a quotient's reciprocal, as recorded for
// binary_real_div_1x64x8x8 and binary_real_div_1x1024x1x1 of h13.
func TestReciprocalsMarkWhatTheyExchange(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		want  int
	}{{[]int64{1, 64, 8, 8}, 0xffd868}, {[]int64{1, 1024, 1, 1}, 0xfff868}} {
		g := irbuild.New(1)
		g.Output(g.Op("real_div", "x", g.Input(c.shape...), "y", g.Input(c.shape...)))
		if got := lowered(t, g)[0].Int(td.DebugLogEvents); got != c.want {
			t.Errorf("shape %v: debug mask %#x, recorded %#x", c.shape, got, c.want)
		}
	}
}

// TestTasksOfOperationsAreAsRecorded checks the engines of an operation's tasks and what stays in L2, as recorded for
// the named cases.
func TestTasksOfOperationsAreAsRecorded(t *testing.T) {
	reduce := func(op string, axis int64, shape ...int64) func(g *irbuild.Graph) {
		return func(g *irbuild.Graph) {
			g.Output(g.Op(op, "x", g.Input(shape...), "axes", []int64{axis}, "keep_dims", true))
		}
	}
	softmax := func(axis int64, shape ...int64) func(g *irbuild.Graph) {
		return func(g *irbuild.Graph) { g.Output(g.Op("softmax", "x", g.Input(shape...), "axis", axis)) }
	}
	norm := func(axes []int64, shape ...int64) func(g *irbuild.Graph) {
		return func(g *irbuild.Graph) {
			g.Output(g.Op("layer_norm", "x", g.Input(shape...), "axes", axes, "epsilon", 1e-5))
		}
	}
	for _, c := range []struct {
		recorded string
		make     func(g *irbuild.Graph)
		want     string // by task: engine, L2 address and row stride of source 1, of the result
	}{
		{"reduce_probe_max_ax2_1x64x8x8", reduce("reduce_max", 2, 1, 64, 8, 8),
			"[N 2400/80 0/90] [P 0/80 2400/2000] [N 2400/10 4400/0]"},
		{"reduce_probe_sum_ax1_1x32x4x4", reduce("reduce_sum", 1, 1, 32, 4, 4), "[N 440/200 0/110] [P 0/100 440/40]"},
		{"reduce_probe_mean_ax3_1x32x4x4", reduce("reduce_mean", 3, 1, 32, 4, 4), "[P 0/210 210/0]"},
		{"norm_softmax_a1_1x64x8x8", softmax(1, 1, 64, 8, 8),
			"[N 2200/420 0/20] [P 2200/420 100/420] [N 100/420 100/420] [N 100/420 0/20] [P 0/20 2200/0]"},
		{"norm_softmax_a3_1x64x1x1", softmax(3, 1, 64, 1, 1),
			"[P 100/420 0/80] [P 100/420 80/80] [N 80/80 0/80] [P 0/80 80/80] [P 80/80 100/0]"},
		{"norm_layer_norm_ax3_1x8x1x64", norm([]int64{3}, 1, 8, 1, 64),
			"[P 40/400 0/20] [P 0/20 20/20] [P 40/400 440/0]"},
		{"norm_layer_norm_ax2_3_1x32x4x4", norm([]int64{2, 3}, 1, 32, 4, 4),
			"[P 80/210 0/40] [P 0/40 40/40] [P 80/210 8c0/0]"},
		{"binary_real_div_1x64x8x8", func(g *irbuild.Graph) {
			g.Output(g.Op("real_div", "x", g.Input(1, 64, 8, 8), "y", g.Input(1, 64, 8, 8)))
		}, "[N 2100/430 0/420] [P 2100/420 4200/0]"},
		{"binary_maximum_c64_constant_blob", func(g *irbuild.Graph) {
			g.Output(g.Op("maximum", "x", g.Input(1, 64, 1, 1), "y", g.Weights(1, 64, 1, 1)))
		}, "[N 80/80 0/80] [P 80/420 4a0/0]"},
		{"binary_maximum_c64_constant_scalar", func(g *irbuild.Graph) {
			g.Output(g.Op("maximum", "x", g.Input(1, 64, 1, 1), "y", 0.5))
		}, "[N 0/400 400/0]"},
	} {
		g := irbuild.New(1)
		c.make(g)
		got := ""
		for _, x := range lowered(t, g) {
			engine := "N"
			if x.Planar() != td.NotPlanar {
				engine = "P"
			}
			got += fmt.Sprintf("[%s %x/%x %x/%x] ", engine, x.Int(td.L2Src), x.Int(td.L2SrcRow), x.Int(td.L2Res),
				x.Int(td.L2ResRow))
		}
		if got != c.want+" " {
			t.Errorf("%s:\n got %s\nwant %s", c.recorded, got, c.want)
		}
	}
}

// TestProductOfTheSecondOperandComesFirst checks two products that only a sum reads. Both read one transposed copy of
// their input (chain_branch_d256_s64).
func TestProductOfTheSecondOperandComesFirst(t *testing.T) {
	g := irbuild.New(1)
	x := g.Input(1, 64, 256)
	product := func() any {
		return g.Op("matmul", "x", x, "y", g.Weights(256, 256), "transpose_x", false, "transpose_y", true)
	}
	p, q := product(), product()
	g.Output(g.Op("add", "x", p, "y", q))
	l := lowered(t, g)
	if len(l) != 4 {
		t.Fatalf("%d tasks, recorded 4", len(l))
	}
	if a, b, c := l[1].Int(td.L2Res), l[2].Int(td.L2Res), l[3]; a != 0x9000 || b != 0x11400 || c.Int(td.L2Src) != b ||
		c.Int(td.L2Src2) != a {
		t.Errorf("products at %#x and %#x, sources at %#x and %#x; recorded 0x9000 and 0x11400, 0x11400 and 0x9000", a,
			b, c.Int(td.L2Src), c.Int(td.L2Src2))
	}
	if !l[1].On(td.RBE0) || l[2].On(td.RBE0) {
		t.Error("the first product alone names the buffer of the transposed input")
	}
}
