package explain

import (
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/lint"
)

// Answer describes how a statement was compiled. Its JSON form is stable: fields may be added, but
// their meaning does not change.
type Answer struct {
	Target    string `json:"target"`
	Precision string `json:"precision"`
	Function  string `json:"function"`
	File      string `json:"file,omitempty"`
	Line      int32  `json:"line,omitempty"`
	Column    int32  `json:"column,omitempty"`
	Op        string `json:"op"` // operation, or const or input
	Name      string `json:"name"`
	// Passes are the passes that created or changed a part of it, in order.
	Passes []string `json:"passes"`
	Gone   []Gone   `json:"gone,omitempty"`
	// Operators are the operations that it was lowered to. For a constant or an input they are the
	// operations that read it.
	Operators  []Operator   `json:"operators"`
	Tasks      []Task       `json:"tasks,omitempty"`
	Constants  []Constant   `json:"constants,omitempty"`
	Surfaces   []Surface    `json:"surfaces,omitempty"`
	Operations []Descriptor `json:"descriptor_operations,omitempty"`
	Numerics   []string     `json:"numerics,omitempty"`
	// Hazards are the findings of package lint for the statement, without a search for inputs that trigger them.
	Hazards   []*lint.Finding `json:"hazards,omitempty"`
	CostError string          `json:"cost_known_error,omitempty"` // of the estimates
	Rewrites  []*Rewrite      `json:"rewrites,omitempty"`
	Tried     []Tried         `json:"tried,omitempty"`
	// PlacedOnly reports that zinc cannot write programs for the target: there are no tasks, and
	// rewrites are placed for the target but run for another one.
	PlacedOnly bool `json:"placed_only,omitempty"`
	// Notes are requirements of other targets for the statement.
	Notes []string `json:"notes,omitempty"`
	// Sought reports whether rewrites were looked for; NotSought is why not, if they were requested.
	Sought    bool   `json:"rewrites_sought"`
	NotSought string `json:"rewrites_not_sought,omitempty"`
}

// Gone is an operation of the statement that a pass removed.
type Gone struct {
	Pass string `json:"pass"`
	By   string `json:"by,omitempty"` // what its readers read instead, "" if there are none
	// Refusal is why the replacement is on the CPU, nil if it is not.
	Refusal *compile.RefusalInfo `json:"refusal,omitempty"`
}

// Operator is an operation of the lowered program.
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
	// Estimate is the estimate for its tasks, including the operations fused into it; nil if it has none.
	Estimate *compile.Estimate `json:"estimate,omitempty"`
}

// Task is a task that computes a part of the statement.
type Task struct {
	Procedure string            `json:"procedure"`
	Index     int               `json:"index"`
	Offset    uint64            `json:"offset"` // bytes, in the task section
	Words     int               `json:"words"`
	Rule      string            `json:"rule"`
	Kind      string            `json:"kind"`
	Attested  bool              `json:"attested"`
	Estimate  *compile.Estimate `json:"estimate,omitempty"`
	Fields    []Field           `json:"fields"` // the written fields that are not 0, by word
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

// Constant is a stored constant that contains bytes of the statement, or that its tasks read.
type Constant struct {
	Offset uint64     `json:"offset"`
	Size   uint64     `json:"size"`
	Made   bool       `json:"made"` // some bytes come from the statement; otherwise its tasks only read it
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
