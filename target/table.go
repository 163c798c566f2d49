package target

import (
	"fmt"
	"slices"
	"strings"
)

// Table is what one target can do.
type Table struct {
	Name    string // as in the -t flag
	Family  Family // hardware family, which gates operations
	Subtype uint32 // the cpusubtype of its containers
	TD      int    // version of the task descriptors that zinc writes for it, 0 if it writes none
	Base    string // target whose limits are used because none were published; "" if they were

	MaxKernelW, MaxKernelH     int // taps of an fp16 kernel along the width, along the height
	MaxKernelW8                int // taps of an 8-bit kernel along the width
	SmallKernelW, SmallKernelH int // taps of an fp16 kernel in small mode
	SmallKernelW8              int // taps of an 8-bit kernel along the width in small mode
	MaxWidth, MaxHeight        int // of a tensor
	MaxChannels, MaxBatch      int
	MaxRank                    int
	MaxPool                    int   // taps of a pooling window along one axis
	MaxStride                  int   // largest stride that the register holds
	StrideFactors              []int // factors that a longer stride splits into, at most two an axis
	MaxPad                     int   // largest leading padding that the register holds
	MaxGroups                  int   // convolution groups that the register holds
	SpatialBits                int   // width of a spatial register field
	ChannelBits                int   // width of a channel register field
	GroupBits                  int   // width of a group register field
	ReduceTranspose            int   // extent from which a reduction transposes first
	GroupDecompose             int   // Cin*Kw*Kh up to which a group convolution is decomposed
	// inputs and outputs of a procedure: 5-bit buffer-access register numbers, less 0..3
	MaxSurfaces        int
	MaxTasks           int   // tasks of a procedure: the index in a task's header has 16 bits
	L2Bytes            int64 // operand working set
	L2Banks, L2Granule int   // bank = address / granule mod banks
	KernelBytes        int64 // resident kernel memory of one core
	KernelStream       int64 // streamed kernel of one task
	StreamPixels       int   // output pixels up to which a kernel streams instead of staying resident
	Cores              int   // cores that kernels are spread over
	// cores that the vendor's cost model counts; from h16 on the die decides: 4, 8 or 16
	CostCores       int
	PageBytes       int64 // alignment of a device window
	InstrAlign      int   // alignment of a task
	SurfaceAlign    int64 // row alignment of a surface
	TableBytes      int   // budget of an activation table
	Texture         bool  // has a texture engine
	DispatchFloorUS float64
	// per second; of the published cost model of whole graphs, with which package cost is compared
	PeakFLOPs   float64
	Bandwidth   float64  // bytes per second, single stream; of that model
	CostOf      string   // target on which the three costs were measured
	StreamForms []string // compressed forms that the engine reads as stored, or StreamAll

	// StateMultiple is what the last dimension of a state must be a multiple of for the vendor's compiler to keep the
	// state for the engine; 0 0 where no report states one. On the M4 (h16) a model whose state is 270 wide does not
	// run on the engine and one of 256 does, and its reporter found multiples of 32 needed (coremltools issue 2631): 64
	// bytes of fp16, one aligned row. The same is assumed for later targets. On h13 the vendor's compiler refuses every
	// state operation (chapter 2), and states are surfaces of the dispatch, of any width.
	StateMultiple int

	// NoCode are operations that the vendor's validator accepts but for which its compiler generates no code. On h13
	// this is also true of slices whose bounds are known only at run time and of convolutions over three dimensions;
	// lower refuses these on every target.
	NoCode []string
}

// StreamAll in StreamForms represents every compressed form.
const StreamAll = "all"

// Streams reports whether weights of a compressed form ("palette4", "sparse", "int8", "blockwise") can be read by the
// engine as they are stored.
func (t *Table) Streams(form string) bool {
	return slices.Contains(t.StreamForms, form) || slices.Contains(t.StreamForms, StreamAll)
}

// Lookup returns the table of a target, or an error that lists the targets.
func Lookup(name string) (*Table, error) {
	for _, t := range All {
		if t.Name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("unknown target %q: zinc knows %s", name, strings.Join(Names(), ", "))
}

// Names returns the targets, oldest first.
func Names() []string { return names(func(*Table) bool { return true }) }

// Compiled returns the targets that zinc writes programs for.
func Compiled() []string { return names(func(t *Table) bool { return t.TD != 0 }) }

func names(want func(*Table) bool) []string {
	var ns []string
	for _, t := range All {
		if want(t) {
			ns = append(ns, t.Name)
		}
	}
	return ns
}

// Acceptance describes how the engine runs an operation.
type Acceptance struct {
	Rule  string // the lowering rule; also of an operation that it refuses
	Moves bool   // the rule only moves data
	Tasks int    // tasks that the operation alone needs
	Nanos int64  // estimated time of these tasks, 0 without an estimate
}
