package provenance

// DB records where the parts of one pair came from. References between its lists
// are indices, which Read checks.
type DB struct {
	Compiler string   // name and version of the compiler
	Target   string   // hardware target
	SHA256   [32]byte // of the container
	Passes   []string // of the compiler, in the order in which they run
	Files    []string // base names of the source files, indexed by Statement.File

	TextSize     uint64 // bytes of __TEXT,__text
	ConstantSize uint64 // bytes of all constant sections, in sequence

	Statements []Statement
	Nodes      []Node // in the order of creation; Nodes[0] represents nothing
	Operators  []Operator
	Gone       []Gone
	Procedures []Procedure
	Tasks      []Task   // by Offset
	Extents    []Extent // by Offset
	Surfaces   []Surface
	Operations []Operation
}

// Statement is a statement of the source.
type Statement struct {
	File      int32 // index into DB.Files
	Line, Col int32 // from 1; 0 if the source has no lines
	Func      string
	Op        string // operation, or "const", "input", "func"
	Name      string // of its first result
	// Args are the constants that an operation names, indices into DB.Statements.
	Args []int32
	// Type is the element type of a constant as the source declares it, such as fp16,
	// and Shape its shape. Type is "" for all other statements.
	Type  string
	Shape []int64
}

// NodeID is an index into DB.Nodes; 0 means none.
type NodeID uint32

// Node is an origin: a statement, or the result of a pass on older nodes.
type Node struct {
	Statement int32    // index into DB.Statements; -1 for the result of a pass
	Pass      string   // "" for a statement
	From      []NodeID // each smaller than the node's own ID
}

// Operator is an operation of the lowered program, with the unit on which it runs
// and the reason.
type Operator struct {
	Func   string // function of the pair
	Step   uint32
	Op     string
	Name   string // of its first result
	Unit   string // engine, cpu or transfer
	Rule   string // lowering rule, also of an operation that a legality rule refused
	Reason string // why the engine refused it
	Node   NodeID
	With   NodeID // constants that it names, including attributes
	// Transposed reports that its constant matrix is the transpose of its coefficients:
	// one row for each element of the sum.
	Transposed bool
}

// Gone is an operation that a pass removed. By is what its readers read instead; it
// is 0 if the operation became part of other nodes or nothing read it.
type Gone struct {
	Pass     string
	Node, By NodeID
}

// Procedure is one entry of the container.
type Procedure struct {
	Name string
	Func string // function of the pair
	Step uint32
	Node NodeID // all operations of the step
}

// Task is one task.
type Task struct {
	Procedure uint32 // index into DB.Procedures
	Index     uint32 // in the procedure's chain
	Offset    uint64 // bytes, in __TEXT,__text
	Words     uint32
	Node      NodeID // operation that it computes, with the operations fused into it
	With      NodeID // constants that those name, including attributes
	Rule      string
	Links     []Link // by Word
}

// LinkKind is the kind of object that a word of a task points at.
type LinkKind uint8

// The kinds of links.
const (
	LinkSurface  LinkKind = iota // Target is an index into DB.Surfaces
	LinkScratch                  // Target is a byte offset in the scratch window
	LinkConstant                 // Target is a byte offset in the constants
	LinkTask                     // Target is a byte offset in __TEXT,__text
	numLinks
)

// String returns the kind's name.
func (k LinkKind) String() string {
	if k < numLinks {
		return [...]string{"surface", "scratch", "constant", "task"}[k]
	}
	return "unknown"
}

// Link is a word of a task that is an address.
type Link struct {
	Word   uint32
	Kind   LinkKind
	Target uint64
}

// Roles of constant bytes that this package treats specially; all other roles are
// coefficients or elements.
const (
	RolePadding  = "padding"
	RoleReserved = "reserved"
	RoleBias     = "bias"
	RoleTable    = "table"
)

// Run is a run of bytes of one role.
type Run struct {
	Role string `json:"role"`
	Size uint32 `json:"size"`
}

// Repeat is a sequence of runs, repeated Times times.
type Repeat struct {
	Times uint32 `json:"times"`
	Runs  []Run  `json:"runs"`
}

// Extent is one stored constant, with the roles of its bytes and its readers.
type Extent struct {
	Offset, Size uint64 // in the constants
	Layout       []Repeat
	Uses         []Use
}

// Use is an operation that reads an extent, with the origin of the extent's bytes
// for that operation. Equal constants of different statements are stored once, so
// the origins of several uses can differ.
type Use struct {
	Node   NodeID // the operation, with the operations fused into it
	Rule   string
	Values NodeID // of coefficients and elements
	Bias   NodeID
	Table  NodeID
}

// Surface is one port of a procedure.
type Surface struct {
	Procedure     uint32 // index into DB.Procedures
	Name          string
	Output        bool
	Value         string // of the lowered program
	Address, Size uint64 // in the engine's map
	Node          NodeID
}

// Operation is one operation of the descriptor.
type Operation struct {
	Func  string
	Index uint32 // in the function, over all blocks
	Name  string
	Kind  string // Cast, AneInference, CpuInference
	Rule  string // the part of the compiler that emits it
	Node  NodeID
	With  NodeID // for a dispatch or CPU call, the constants that its operations name
}
