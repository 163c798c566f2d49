package explain

import (
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/lint"
)

// Answer says what became of a statement. Its JSON form is stable: fields may be
// added, none change meaning.
type Answer struct {
	Target    string `json:"target"`
	Precision string `json:"precision"`
	Function  string `json:"function"`
	File      string `json:"file,omitempty"`
	Line      int32  `json:"line,omitempty"`
	Column    int32  `json:"column,omitempty"`
	Op        string `json:"op"` // operation, or const or input
	Name      string `json:"name"`
	// Passes are those that made or changed something of it, in order.
	Passes []string `json:"passes"`
	Gone   []Gone   `json:"gone,omitempty"`
	// Operators are what it became in the program as it was lowered. Of a constant
	// or an input they are the operations that read it.
	Operators  []Operator   `json:"operators"`
	Tasks      []Task       `json:"tasks,omitempty"`
	Constants  []Constant   `json:"constants,omitempty"`
	Surfaces   []Surface    `json:"surfaces,omitempty"`
	Operations []Descriptor `json:"descriptor_operations,omitempty"`
	Numerics   []string     `json:"numerics,omitempty"`
	// Hazards are the statement's findings of package lint, none of them searched for
	// an input that shows it.
	Hazards   []*lint.Finding `json:"hazards,omitempty"`
	CostError string          `json:"cost_known_error,omitempty"` // of the estimates
	Rewrites  []*Rewrite      `json:"rewrites,omitempty"`
	Tried     []Tried         `json:"tried,omitempty"`
	// PlacedOnly says that zinc writes no programs for the target, so that there are
	// no tasks, and rewrites are placed for it and run for another.
	PlacedOnly bool `json:"placed_only,omitempty"`
	// Notes are what other targets ask of the statement.
	Notes []string `json:"notes,omitempty"`
	// Sought says that rewrites were looked for; NotSought why they were not, where
	// they were requested.
	Sought    bool   `json:"rewrites_sought"`
	NotSought string `json:"rewrites_not_sought,omitempty"`
}

// Gone is an operation of the statement that a pass took away.
type Gone struct {
	Pass string `json:"pass"`
	By   string `json:"by,omitempty"` // what its readers read instead, "" where nothing is read
	// Refusal is why what is read instead is on the CPU, nil where it is not.
	Refusal *compile.RefusalInfo `json:"refusal,omitempty"`
}

// Operator is an operation of the program as it was lowered.
type Operator struct {
	Op       string               `json:"op"`
	Name     string               `json:"name"`
	Function string               `json:"function"`
	Step     int                  `json:"step"`
	Unit     string               `json:"unit"`
	Rule     string               `json:"rule,omitempty"`
	Reason   string               `json:"reason,omitempty"`
	Fused    string               `json:"fused_into,omitempty"`
	MACs     int64                `json:"macs,omitempty"`
	Refusal  *compile.RefusalInfo `json:"refusal,omitempty"`
	// Estimate is that of its tasks, with the operations fused into it; nil if it has none.
	Estimate *compile.Estimate `json:"estimate,omitempty"`
}

// Task is a task that works for the statement.
type Task struct {
	Procedure string            `json:"procedure"`
	Index     int               `json:"index"`
	Offset    uint64            `json:"offset"` // bytes, in the task section
	Words     int               `json:"words"`
	Rule      string            `json:"rule"`
	Kind      string            `json:"kind"`
	Attested  bool              `json:"attested"`
	Estimate  *compile.Estimate `json:"estimate,omitempty"`
	Fields    []Field           `json:"fields"` // those written that are not 0, by word
	Links     []string          `json:"links,omitempty"`
}

// Field is a field of a task's word.
type Field struct {
	Word  int    `json:"word"`
	Name  string `json:"name"`
	Value uint32 `json:"value"`
	Known string `json:"known"`
	Doc   string `json:"doc,omitempty"`
}

// Constant is a stored constant that the statement's bytes are in, or that its
// tasks read.
type Constant struct {
	Offset uint64     `json:"offset"`
	Size   uint64     `json:"size"`
	Made   bool       `json:"made"` // some bytes of the statement; otherwise its tasks only read it
	Roles  []RoleSize `json:"roles"`
}

// RoleSize counts the bytes of a role.
type RoleSize struct {
	Role  string `json:"role"`
	Bytes uint64 `json:"bytes"`
	Made  bool   `json:"made"` // of the statement, alone or with others
}

// Surface is a port that holds a value of the statement.
type Surface struct {
	Procedure string `json:"procedure"`
	Name      string `json:"name"`
	Output    bool   `json:"output"`
	Value     string `json:"value"`
	Address   uint64 `json:"address"`
	Size      uint64 `json:"size"`
	Row       int64  `json:"row_elements"` // of the last dimension
	// from one row to the next, padding included; 0 where there is one row
	RowBytes int64 `json:"row_bytes,omitempty"`
}

// Descriptor is an operation of the dispatch descriptor.
type Descriptor struct {
	Function string `json:"function"`
	Index    int    `json:"index"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Rule     string `json:"rule"`
}
