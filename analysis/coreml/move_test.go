package coreml

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// layers is a program of n products of 32 rows with 512 x 512 weights.
func layers(n int) *ir.Program {
	g := irbuild.New(1)
	x := g.Input(32, 512)
	w := g.Weights(512, 512)
	for range n {
		x = g.Op("linear", "x", x, "weight", w)
	}
	g.Output(x)
	return g.Program()
}

func mustForecast(t *testing.T, p *ir.Program) *Plan {
	t.Helper()
	plan, err := Forecast(t.Context(), p, Options{Units: CPUEngine})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestMovesAreTrue follows what a forecast says would change it: as many layers more bring the program to the engine
// and one fewer does not, and as many less take it off.
func TestMovesAreTrue(t *testing.T) {
	more := regexp.MustCompile(`^with (\d+) more operations? like`)
	plan := mustForecast(t, layers(1))
	if plan.OnEngine() != 0 || len(plan.Moves) != 1 {
		t.Fatalf("%d operations on the engine, moves %v; want none and one", plan.OnEngine(), plan.Moves)
	}
	m := more.FindStringSubmatch(plan.Moves[0].What)
	if m == nil {
		t.Fatalf("moves %v; want more operations", plan.Moves)
	}
	n, _ := strconv.Atoi(m[1])
	if got := mustForecast(t, layers(1+n)).OnEngine(); got != 1+n || plan.Moves[0].Engine != 1+n {
		t.Errorf("with %d more layers %d are on the engine, the forecast says %d", n, got, plan.Moves[0].Engine)
	}
	if got := mustForecast(t, layers(n)).OnEngine(); n > 1 && got != 0 {
		t.Errorf("with %d more layers %d are on the engine already", n-1, got)
	}
	large := mustForecast(t, layers(1+n))
	if len(large.Moves) != 1 || large.Moves[0].Engine != 0 || !strings.HasPrefix(large.Moves[0].What, "without ") {
		t.Errorf("moves of %d layers are %v; want what takes them off the engine", 1+n, large.Moves)
	}
}

// TestRefusedOperationsAreMoves checks that a refused operation between two segments is named with what its absence
// would save: the changes around it.
func TestRefusedOperationsAreMoves(t *testing.T) {
	g := irbuild.New(1)
	x, w := g.Input(1024, 1024), g.Weights(1024, 1024)
	x = g.Op("linear", "x", x, "weight", w)
	x = g.Op("cumsum", "x", x, "axis", 1, "exclusive", false, "reverse", false)
	x = g.Op("linear", "x", x, "weight", w)
	g.Output(x)
	plan := mustForecast(t, g.Program())
	if len(plan.Segments) != 3 || plan.Segments[1].Device != CPU {
		t.Fatalf("segments %v; want the engine, the CPU, the engine", plan.Segments)
	}
	if len(plan.Moves) == 0 || !strings.HasPrefix(plan.Moves[0].What, "without cumsum") ||
		plan.Moves[0].Engine != 2 || plan.Moves[0].Saves != 250 {
		t.Errorf("moves %v; want one without cumsum, with 2 operations on the engine and 250 us less", plan.Moves)
	}
	if leaves := plan.Leaves(); len(leaves) != 1 || leaves[0].Reason != `Unsupported MIL operation "cumsum".` {
		t.Errorf("reasons %v; want the reason of cumsum", leaves)
	}
}

// TestNearTheLine checks that an answer which depends on an edge that is not known says so: products of 16 rows with
// 12.8 flops a byte, whose rate is one of two.
func TestNearTheLine(t *testing.T) {
	g := irbuild.New(1)
	x, w := g.Input(16, 128), g.Weights(128, 128)
	for range 60 {
		x = g.Op("linear", "x", x, "weight", w)
	}
	g.Output(x)
	plan := mustForecast(t, g.Program())
	if len(plan.Near) != 1 || !strings.Contains(plan.Near[0].What, "60 linear operations") ||
		plan.Near[0].Changed != 60 {
		t.Errorf("%s, near %v; want all 60 operations near an edge", plan.Share(), plan.Near)
	}
	if text := fmt.Sprint(plan.Near); !strings.Contains(text, "operations run elsewhere") {
		t.Errorf("near %s; want what changes", text)
	}
}

// TestNearTheLineTogether checks edges that change nothing one by one, and all operations together.
func TestNearTheLineTogether(t *testing.T) {
	g := irbuild.New(1)
	x, w := g.Input(16, 128), g.Weights(128, 128) // 12.8 flops a byte
	for range 13 {
		x = g.Op("linear", "x", x, "weight", w)
	}
	y, v := g.Input(1, 64, 1, 13), g.Weights(64, 64, 1, 1) // 9.2 flops a byte
	for range 80 {
		y = g.Op("conv", "x", y, "weight", v, "pad_type", "valid")
	}
	g.Output(x, y)
	plan := mustForecast(t, g.Program())
	if len(plan.Near) != 1 || !strings.Contains(plan.Near[0].What, "2 intervals") || plan.Near[0].Changed != 93 {
		t.Errorf("%s, gain %+v, near %v; want all 93 operations near two edges", plan.Share(), plan.Gain, plan.Near)
	}
}
