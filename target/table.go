package target

import (
	"fmt"
	"slices"
)

// Table is what one target can do. A tag describes its column to users.
type Table struct {
	Name    string `doc:"name, as in the -t flag"`
	Family  Family `doc:"hardware family"` // gates operations
	Subtype uint32 `doc:"CPU subtype of its containers"`
	Version int    `doc:"version of the task descriptors that the hardware reads"`
	TD      int    `doc:"version of the task descriptors that zinc writes, 0 for none"`
	Base    string `doc:"target whose limits are used where none were published"`

	MaxKernelW   int `doc:"taps of an fp16 kernel along the width"`
	MaxKernelH   int `doc:"taps of an fp16 kernel along the height"`
	MaxRowKernel int `doc:"taps of an fp16 kernel of one row"`
	SmallKernelW int `doc:"taps of an fp16 kernel along the width in small mode"`
	SmallKernelH int `doc:"taps of an fp16 kernel along the height in small mode"`
	MaxWidth     int `doc:"width of a tensor"`
	MaxHeight    int `doc:"height of a tensor"`
	MaxChannels  int `doc:"channels of a tensor"`
	MaxRank      int `doc:"rank of a tensor"`
	MaxPool      int `doc:"taps of a pooling window"` // along one axis
	MaxStride    int `doc:"stride that the register holds"`
	MaxPad       int `doc:"leading padding that the register holds"`
	MaxGroups    int `doc:"groups of a convolution"`
	// MaxSurfaces is what the 5-bit numbers of buffer-access registers leave beside 0 to 3.
	MaxSurfaces     int `doc:"inputs and outputs of a procedure"`
	MaxTasks        int `doc:"tasks of a procedure"` // the index in a task's header has 16 bits
	ReduceTranspose int `doc:"extent from which a reduction transposes first"`

	L2Bytes   int64 `doc:"bytes of the operand working set"`
	L2Banks   int64 `doc:"banks of the working set"` // bank = address / granule mod banks
	L2Granule int64 `doc:"bytes of a bank's stripe"` // the unit of addresses
	// WorkUnit is twice as large in a task from bytes to bytes (logical_not_1x1x64x64).
	WorkUnit     int64 `doc:"pixels that the neural engine processes at a time"`
	SmallImage   int64 `doc:"rows and columns of an image that the neural engine works on as a whole"`
	KernelBytes  int64 `doc:"bytes of resident kernel memory of one core"`
	KernelStream int64 `doc:"bytes of the streamed kernel of one task"`
	StreamPixels int   `doc:"output pixels up to which a kernel streams"` // instead of staying resident
	Cores        int64 `doc:"cores that kernels are spread over"`
	SurfaceAlign int64 `doc:"row alignment of a surface in bytes"`

	FoldsSmall        bool `doc:"a small image is folded as far as units go, however short its sums"`
	FoldsPasses       bool `doc:"a pass over several channels is folded to twice its rows, where columns allow"`
	PadsByUnit        bool `doc:"rows in L2 are padded by the columns of a unit"`
	OverlapsSwapped   bool `doc:"a task overlaps one before it that exchanges channels and columns"`
	OverlapsBroadcast bool `doc:"a task overlaps one before it that it broadcasts along channels"`
	MarksSwapped      bool `doc:"a reciprocal that exchanges channels and columns has bit 13 of the debug mask"`
	PairsForOne       bool `doc:"the parameters of a normalisation of one channel are marked as those of all channels"`
	LanesInPasses     bool `doc:"a pass that exchanges channels and columns takes several channels of a core at a time"`
	SmallRows         bool `doc:"a product of few rows works on all of them at a time"`
	TimesCopies       bool `doc:"a copy of one channel is timed as a lookup of its elements in a table"`
	WaitsForEngine    bool `doc:"the first neural task that fetches waits as for one before it"`
	GroupsMatrices    bool `doc:"a task multiplies several pairs of live matrices as groups"`
	WaitsForKernel    bool `doc:"the result of a product waits for the planar task that writes its kernel"`

	FetchesBroadcast bool `doc:"a task fetches what it broadcasts and the parameters of channels itself"`
	PadsWideRows     bool `doc:"rows of wide channels in L2 are padded too"`
	FindsZeros       bool `doc:"products mark kernels whose zeros the engine looks for"`
	SmallSources     bool `doc:"a product of at most as many rows as a small image has reads them as a small source"`
	PlainRow         bool `doc:"a pass that exchanges channels and columns works on a single row as it is"`
	// The published words of the M6's convolutions show these.
	WideByPairs    bool `doc:"a kernel wider than one in small mode computes two columns, each with its own copy"`
	SkipsFilled    bool `doc:"a dilated kernel is stored without the zeros between its taps"`
	RoundsByMemory bool `doc:"cores compute as many channels of a convolution at a time as kernel memory holds"`
	KeepsKernel    bool `doc:"a kernel that the task before or after reads too is not marked"`
	WaitsForKept   bool `doc:"a neural task waits for what an earlier one has fetched and left in L2"`
	// Lowers are the rules of package lower whose tasks are recorded, where no others are lowered.
	Lowers []string `doc:"families of operations that are recorded and lowered; all if empty"`

	// WidthSliceEnd and FlushesProducts are of the arithmetic that Arithmetic names.
	WidthSliceEnd   int  `doc:"magnitude from which a slice of the width is infinite, 0 for none"`
	FlushesProducts bool `doc:"products read subnormal operands as 0"`

	// HeaderBytes is the rate at which the vendor's compiler times the bytes of a task; it is no rate of the hardware.
	HeaderBytes int64 `doc:"bytes in 3 us of the estimate in a task's header"`
	HeaderFetch int64 `doc:"bytes as which one fetch of a patch counts in it"`
	// HeaderRead and those after it are the rates where each kind of transfer has its own, and products have one. They
	// are 0 where HeaderBytes is the rate of all transfers.
	HeaderRead     int64 `doc:"bytes of sources in 1 us of the estimate"`
	HeaderWrite    int64 `doc:"bytes of results in 1 us of the estimate"`
	HeaderKernel   int64 `doc:"bytes of kernels in 1 us of the estimate"`
	HeaderProducts int64 `doc:"products of a convolution in 1 us of the estimate"`

	Arithmetic  string   `doc:"numerics mode of the engine"` // as zinc run --numerics names it
	CostOf      string   `doc:"chip whose published times the estimates are fitted to"`
	StreamForms []string `doc:"compressed forms that reach the engine as stored"`
	Palettes    int      `doc:"codebooks of a weight that reach the engine as stored"`

	// ConstantSegments is not set where recorded containers have constants behind the tasks alone.
	ConstantSegments bool `doc:"constants may have segments of their own in a container"`

	// StateMultiple is what the last dimension of a state must be a multiple of for the vendor's compiler to keep the
	// state for the engine; 0 where no report states one. On the M4 (h16) a model whose state is 270 wide does not
	// run on the engine and one of 256 does, and its reporter found multiples of 32 needed (coremltools issue 2631): 64
	// bytes of fp16, one aligned row. The same is assumed for later targets. On h13 the vendor's compiler refuses every
	// state operation (chapter 2), and states are surfaces of the dispatch, of any width.
	StateMultiple int `doc:"what the last dimension of a state must be a multiple of"`

	// NoCode are operations that the vendor's validator accepts but for which its compiler generates no code. On h13
	// this is also true of slices whose bounds are known only at run time and of convolutions over three dimensions;
	// lower refuses these on every target.
	NoCode []string `doc:"operations that validate and have no code"`

	// Programs is how many recorded programs of the vendor's compiler the rules for the target were read from, Kinds
	// what those programs compute.
	Programs int    `doc:"recorded programs that the rules were read from"`
	Kinds    string `doc:"what recorded programs compute"`

	// FormsOf names a target whose recorded forms zinc writes for this one too, though no record of this one has them.
	FormsOf string `doc:"target whose recorded forms are written here too, which is inferred"`

	from *Table // whose copy the table is, nil for the first
}

// Streams reports whether weights of a compressed form ("palette4", "sparse", "int8", "blockwise") can be read by the
// engine as they are stored.
func (t *Table) Streams(form string) bool { return slices.Contains(t.StreamForms, form) }

// Recorded returns what recorded programs compute whose task descriptors have the target's version, "" if there are
// none.
func (t *Table) Recorded() string {
	for from := t; from != nil && from.Version == t.Version; from = from.from {
		if from.Kinds != "" {
			return from.Kinds
		}
	}
	return ""
}

// Forms returns what the programs compute that zinc writes, where it does not write every one, and which of them are
// inferred; "" if nothing is recorded.
func (t *Table) Forms() string {
	of, err := Lookup(t.FormsOf)
	if t.FormsOf == "" || err != nil {
		return t.Recorded()
	}
	return fmt.Sprintf("%s, and (inferred from %s) %s", t.Recorded(), of.Name, of.Recorded())
}

// Whole reports whether zinc writes programs of every family of operations for the target.
func (t *Table) Whole() bool { return t.TD != 0 && t.Lowers == nil }

// Borrowing returns the table of a target for which zinc cannot write every program, with the tasks of the default
// target: an estimate of a whole model, at the target's limits and rates.
func (t *Table) Borrowing() *Table {
	b := *t
	b.TD, b.Lowers, b.MaxSurfaces = Default.TD, Default.Lowers, Default.MaxSurfaces
	b.FetchesBroadcast, b.PadsWideRows, b.PlainRow = Default.FetchesBroadcast, Default.PadsWideRows, Default.PlainRow
	b.FindsZeros, b.SmallSources = Default.FindsZeros, Default.SmallSources
	b.WideByPairs, b.SkipsFilled, b.RoundsByMemory = false, false, false
	b.KeepsKernel, b.WaitsForKept = false, false
	return &b
}

// ByLimits returns the table by which a model is placed as the target's limits allow, whether or not zinc writes its
// tasks.
func (t *Table) ByLimits() *Table {
	if t.TD == 0 || t.Whole() {
		return t
	}
	b := t.Borrowing()
	b.TD = 0
	return b
}

// BySubtype returns the oldest target whose containers have a CPU subtype, or nil. The targets of a subtype differ in
// what zinc does not model.
func BySubtype(subtype uint32) *Table {
	if i := slices.IndexFunc(All, func(t *Table) bool { return t.Subtype == subtype }); i >= 0 {
		return All[i]
	}
	return nil
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
	Rule  string // the lowering rule, also of an operation that a legality rule refuses
	Moves bool   // the rule only moves data
	Tasks int    // tasks that the operation alone needs
	Nanos int64  // estimated time of these tasks, 0 without an estimate
}
