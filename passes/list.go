package passes

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// Pass is one row of the list.
type Pass struct {
	Name string
	Doc  string
	Why  string // why it is in its place in the order
	// Finds marks a pass that changes no operation: its findings are only in State.
	Finds bool
	run   func(s *State) error
}

// List is every pass in order.
var List = append([]Pass{
	{Name: "select-function", Doc: "keep the function that is compiled", Why: "everything after works on one function",
		run: selectFunction},
	{Name: "resolve-shapes", Doc: "give flexible inputs their default shapes and infer all others",
		Why: "later passes need known dimensions", run: resolveShapes},
	{Name: "convert-precision", Doc: "with fp16 precision, compute in fp16 what the engine accepts",
		Why: "before folding, so that converted constants fold", run: convertPrecision},
	{Name: "keep-reference", Doc: "keep a placed copy for the interpreter to run",
		Why: "after what the user asked for, before anything that must not change the results", run: keepReference},
	{Name: "lower-states", Doc: "turn states into parameters and results of the function",
		Why: "after keep-reference, which keeps them as in the source; later passes handle only tensors",
		run: lowerStates},
	{Name: "fold-constants", Doc: "compute what depends only on constants, including compressed weights; take the " +
		"branch and unroll the loop that constants decide", Why: "patterns below look for constants",
		run: foldConstants},
	{Name: "flatten-branches", Doc: "compute both branches of a condition on data and select, if they are pure " +
		"and cheap", Why: "for what folding could not decide; before the patterns, which look at the function's own " +
		"operations", run: flattenBranches},
	{Name: "narrow-casts", Doc: "compute in fp16 what is exact in fp16 between casts from fp16 to fp32 and back",
		Why: "constants are known; before decompose, since the engine accepts only fp16", run: narrowCasts},
	{Name: "decompose", Doc: "replace operations that no rule lowers by operations that rules lower",
		Why: "constants are known; before canonicalise and fold-scale-bias, which take what it writes as they take " +
			"the source's own", run: decompose},
	{Name: "canonicalise", Doc: "canonicalise powers, batch norms, reshapes of reshapes, casts that change " +
		"nothing, int32 arithmetic between whole fp16 numbers; long rows of probabilities scaled " +
		"before products",
		Why: "needs folded constants; fewer forms for the passes below", run: canonicalise},
	{Name: "fold-scale-bias", Doc: "fold constant factors and addends into the weights and bias of the product " +
		"before them", Why: "after canonicalise has turned batch norms into factors and addends", run: foldScaleBias},
	{Name: "drop-dead-code", Doc: "drop operations that nothing uses",
		Why: "the passes above leave some; placement should not count them", run: dropDeadCode},
	{Name: "place", Doc: "engine or CPU for every operation, with the reason; of what both can do, the one that is " +
		"estimated faster",
		Why: "all rewriting of operations is done", run: place},
}, afterPlace...)

// afterPlace are the passes after place, which also runs them on copies to compare placements.
var afterPlace = []Pass{
	{Name: "drop-thresholds", Doc: "x sigmoid_hard(x) for t sigmoid_hard(t), where t is x or, below a bound, 0: hard " +
		"swish as converters write it", Why: "only on the engine, where a product with 0 is 0 even for an infinite x",
		run: dropThresholds},
	{Name: "hoist-activations", Doc: "move activations over what joins and reshapes the results of products to the " +
		"products", Why: "before fuse-epilogue, which fuses them; only where all of it is on the engine",
		run: hoistActivations},
	{Name: "fuse-epilogue", Doc: "fuse factors, clamps and tables into the product before them",
		Why: "only operations on the engine fuse", Finds: true, run: fuseEpilogue},
	{Name: "partition", Doc: "order operations into partitions: one engine procedure or one CPU call each, as few as " +
		"dependences allow", Why: "fused operations move together", Finds: true, run: partition},
}

// Values of Options.Place.
const (
	PlaceAuto    = "auto"    // the placement that is estimated to be fastest
	PlaceCompute = "compute" // the engine does everything that computes, and movement beside it
	PlaceEngine  = "engine"  // the engine does everything that it can
)

// Values of Options.Precision.
const (
	PrecisionDeclared = "declared" // operations in fp32 stay on the CPU
	PrecisionFP16     = "fp16"     // the engine computes them in fp16
)

// PrecisionOf returns the precision in which a program is compiled, for the one that the options state: a program that
// declares no types is computed in fp16.
func PrecisionOf(stated string, p *ir.Program) string {
	switch {
	case stated == PrecisionFP16 || p.Untyped():
		return PrecisionFP16
	case stated == "":
		return PrecisionDeclared
	}
	return stated
}

// Options control a run.
type Options struct {
	Target    *target.Table
	Func      string // function to compile, "" for main or the only one
	Precision string // PrecisionDeclared (also "") or PrecisionFP16
	// Place is PlaceAuto, PlaceCompute (also "") or PlaceEngine.
	Place string
	// Shapes are the shapes of inputs, by name, to use instead of the defaults.
	Shapes map[string][]int64
	// Accept reports how the engine runs an operation, or why it does not. Several goroutines call it, CanFuse and
	// CallTime at once.
	Accept func(op *ir.Op) (target.Acceptance, error)
	// CanFuse reports whether e may be fused with lead after the operations before.
	CanFuse func(lead *ir.Op, before []*ir.Op, e *ir.Op) bool

	// CPUTime and DispatchTime estimate nanoseconds: of an operation on the CPU, and of a dispatch
	// with so many bytes of inputs and of outputs, without its tasks. Times are not compared if they are nil.
	CPUTime      func(op *ir.Op) int64
	DispatchTime func(in, out int64) int64
	// CallTime lowers a state on which all passes have run, and estimates a call of its function. PlaceAuto compares
	// placements with it; if it is nil, placement knows only the times of operations lowered alone.
	CallTime func(s *State) (*CallTime, error)

	// KeepReference keeps State.Reference. Without it passes keep what they need of it, until place.
	KeepReference bool

	// Memory, if not nil, is what earlier compilations of the same model have computed.
	Memory *Memory

	// Until names the last pass to run, "" for all.
	Until string

	// Origins makes the passes record what operations and constants came from (ir.Origin), and what became of
	// operations that were removed.
	Origins bool

	PrintAfter   []string // names of passes, "all" for every one
	PrintChanged bool
	VerifyEach   bool
	Log          io.Writer
	// Observe, if not nil, is called with the program after each pass. It must not change it.
	Observe func(pass string, p *ir.Program)
}

// State is the program between two passes.
type State struct {
	Options
	Program    *ir.Program
	Func       *ir.Func
	Fused      map[*ir.Op][]*ir.Op // leading operation -> operations fused into it
	Partitions []*Partition
	Timings    []Timing
	// States are the function's states; their results follow the VisibleOutputs that the source names in
	// Func.Body.Outputs.
	States         []StateBuffer
	VisibleOutputs int
	// Reference is the function as it was at pass keep-reference, nil without Options.KeepReference.
	Reference *ir.Func
	// Refusals contains the reason why each operation on the CPU is there, if it is known in detail.
	Refusals map[*ir.Op]*target.Refusal
	// Compressed are the compressed constants that folding made dense, in source order.
	Compressed []*Compressed

	after    string                     // the pass that ran last
	folded   int64                      // bytes of constants that folding computed, except weights
	expanded int64                      // bytes of decompressed weights
	fresh    int                        // values named by passes
	derived  map[*ir.Value]bool         // made by decompressing
	parts    map[*ir.Op]decomposedFrom  // operations that decompose wrote
	notFP16  map[*ir.Op]*target.Refusal // why operations stayed in fp32 although fp16 was requested
	made16   map[string]*ir.Const       // constants that decompositions computed, by what they depend on
	computed *computedConstants         // constants that decompositions computed from others
	// Gone are the operations that passes removed, in the order of removal; recorded with Options.Origins.
	Gone []Gone

	origins originState
	// stays contains the reason why a loop or condition was neither unrolled nor flattened.
	stays  map[*ir.Op]string
	copies int // operations copied by unrolling
}

// Timing is the time that one pass took.
type Timing struct {
	Pass string
	Time time.Duration
}

// Names returns the names of the passes in order.
func Names() []string {
	var ns []string
	for _, p := range List {
		ns = append(ns, p.Name)
	}
	return ns
}

// Known reports whether name is a pass or "all".
func Known(name string) bool {
	for _, p := range List {
		if p.Name == name {
			return true
		}
	}
	return name == "all"
}

// Run applies every pass to p.
func Run(ctx context.Context, p *ir.Program, o Options) (*State, error) {
	s := &State{Options: o, Program: p, Fused: map[*ir.Op][]*ir.Op{}}
	if err := s.run(ctx, 0); err != nil {
		return nil, err
	}
	return s, nil
}

// run applies the passes from List[next] to the last or to Options.Until.
func (s *State) run(ctx context.Context, next int) error {
	var before []byte
	s.Timings = slices.Grow(s.Timings, len(List)-next)
	for i := next; i < len(List); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		pass := &List[i]
		start := time.Now()
		if err := s.runOne(pass); err != nil {
			return err
		}
		s.after = pass.Name
		s.Timings = append(s.Timings, Timing{pass.Name, time.Since(start)})
		if err := s.report(pass.Name, &before); err != nil {
			return err
		}
		if s.VerifyEach {
			if err := cmp.Or(ir.Verify(s.Program), ir.VerifyPackings(s.Program)); err != nil {
				return fmt.Errorf("after pass %s: %w", pass.Name, err)
			}
		}
		if pass.Name == s.Until {
			break
		}
	}
	return nil
}

// Panic is the value of a panic in a pass, with the names of the pass and the function.
type Panic struct {
	Pass, Func string
	Value      any // of the panic
}

func (p *Panic) Error() string {
	return fmt.Sprintf("pass %s on function %s: %v", p.Pass, p.Func, p.Value)
}

// runOne runs a pass and adds its name to its errors and panics.
func (s *State) runOne(pass *Pass) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if mapfault.Of(r) != nil {
				panic(r) // caused by a file, not by the pass
			}
			name := "?"
			if s.Func != nil {
				name = s.Func.Name
			}
			panic(&Panic{Pass: pass.Name, Func: name, Value: r})
		}
	}()
	s.beginOrigins(pass.Name)
	if err := pass.run(s); err != nil {
		return fmt.Errorf("pass %s: %w", pass.Name, err)
	}
	s.endOrigins()
	return nil
}

// report prints the program after a pass if the options request it.
func (s *State) report(name string, before *[]byte) error {
	if s.Observe != nil {
		s.Observe(name, s.Program)
	}
	want := false
	for _, n := range s.PrintAfter {
		want = want || n == name || n == "all"
	}
	if s.Log == nil || !want && !s.PrintChanged {
		return nil
	}
	if !s.PrintChanged { // nothing to compare with: the text, with all its constants, is written as generated
		if _, err := fmt.Fprintf(s.Log, "// after %s\n", name); err != nil {
			return err
		}
		return ir.Print(s.Log, s.Program)
	}
	var b bytes.Buffer
	if err := ir.Print(&b, s.Program); err != nil {
		return err
	}
	if s.PrintChanged && bytes.Equal(b.Bytes(), *before) {
		if !want {
			fmt.Fprintf(s.Log, "// after %s: unchanged\n", name)
			return nil
		}
	}
	*before = append((*before)[:0], b.Bytes()...)
	_, err := fmt.Fprintf(s.Log, "// after %s\n%s", name, b.Bytes())
	return err
}
