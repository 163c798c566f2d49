package hwx

// Layout is the order in which addresses are assigned.
type Layout int

const (
	// SurfacesFirst is the order of the current compiler, and zinc's: scratch,
	// surfaces, text, constants.
	SurfacesFirst Layout = iota
	// TextFirst is the order of the oldest files: text and constants, then scratch and the surfaces. It is used with
	// the older program descriptor (0x214 words of state). No such file with scratch is known; public tools for them
	// expect it after the text (modelled).
	TextFirst
)

// Image describes the contents of a new container. Build assigns the addresses.
type Image struct {
	CPUSubtype uint32 // of the target
	// Split puts the constants into separate segments (__KERN_0,__kern_0), not into __TEXT,__const after the tasks.
	Split  bool
	Layout Layout
	// Text is the task stream. Tasks that are a chain are aligned to 256 bytes, the first at 0; the
	// next-task words count from the start of Text. Packed tasks are aligned to 16 bytes, and 16 zero bytes precede the
	// first one of each procedure.
	Text []byte
	// Constants are the packed coefficients: one run of bytes, in parts that are never joined in memory. If there are
	// none, the split form has no kernel segment and the other form has a section of 0x4000 zero bytes.
	Constants [][]byte
	// Stream writes the constants when the file is written, instead of Constants.
	Stream Stream `json:"-"`
	// Scratch is the size in bytes of __DATA,__bss; 0 for none.
	Scratch uint64
	// Surfaces get their windows in this order. At least one input and one output are required.
	Surfaces []Surface
	// TensorOrder names every surface once, in the order of the tensor commands. The caller binds surfaces in this
	// order, which may differ from the order of addresses. Nil means by procedure, inputs first, each as in Surfaces.
	TensorOrder []string
	// Procedures are the procedures: the first is the program (entry 0); the others are written as procedure commands.
	// At least one is required.
	Procedures []Entry
	// Kernels are the tiles named in the symbol table, in this order.
	Kernels []Kernel
	// Operations are symbols of tasks, which name what they compute; none in recorded containers.
	Operations []Operation `json:",omitempty"`
	// Banner is the build banner, one line per element, without line ends.
	Banner []string
	// MaxKernelSection is the maximum size in bytes of one kernel section, a multiple of Page; 0 means the constant
	// MaxKernelSection. It applies only to the split form. Constants beyond it continue in __KERN_1 and so on, next to
	// each other in addresses and file.
	MaxKernelSection uint64
}

// Surface is a window onto a buffer that the caller of the program binds.
type Surface struct {
	Name       string // unique in the file
	Procedure  string // the procedure that binds it
	Binding    uint32 // BindInput or BindOutput
	Element    uint32 // element code, 5 fp16
	Dims       [4]uint32
	Strides    [4]uint64 // bytes, along N, C, H, W
	BatchBytes uint64    // bytes of one batch element
	Size       uint64    // bytes of the window
}

// Entry is one procedure of the program.
type Entry struct {
	Name       string // unique in the file
	Offset     uint64 // byte offset in Text of its first task
	FirstWords uint32 // words of its first task
	Tasks      uint32 // tasks in its chain
	Bars       map[int]BarRef
	// Relocs are the byte offsets in Text of the live coefficient base address
	// registers of its tasks; the words there are offsets into the constants.
	Relocs []uint32
}

// BarKind is what a buffer-access register points at.
type BarKind int

// What a buffer-access register can point at.
const (
	BarText      BarKind = iota + 1 // __TEXT,__text
	BarConstants                    // first byte of the constants; left 0 if the file has none
	BarScratch                      // __DATA,__bss
	BarSurface                      // the window of a surface
)

// BarRef names the section or surface of a buffer-access register.
type BarRef struct {
	Kind    BarKind
	Surface string // for BarSurface
}

func (r BarRef) scratch() bool { return r.Kind == BarScratch }

// Kernel is a tile of the constants, named for the symbol table.
type Kernel struct {
	Name   string // K<SHA-256 in hex>_ne_<lane>
	Offset uint64 // byte offset in the constants, or their end for an unused lane
	Live   bool   // false for an unused lane
}

// Operation names the operation of a task.
type Operation struct {
	Name   string
	Offset uint64 // of the task, in Text
}

// Addresses are the engine addresses that Build assigned.
type Addresses struct {
	Text      uint64
	Constants uint64 // 0 if the file has none
	Scratch   uint64 // 0 if the file has none
	Surfaces  map[string]uint64
}
