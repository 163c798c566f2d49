package explain

import (
	"github.com/zinc-compiler/zinc/analysis/lint"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
)

// Answer describes how a statement was compiled. Its JSON form is stable: fields may be added, but
// their meaning does not change.
type Answer struct {
	Target    string `json:"target"`           // target that was compiled for
	Precision string `json:"precision"`        // precision of floats: declared or fp16
	Function  string `json:"function"`         // function of the statement
	File      string `json:"file,omitempty"`   // file of the statement
	Line      int32  `json:"line,omitempty"`   // line of the statement, from 1
	Column    int32  `json:"column,omitempty"` // column of the statement, from 1
	Op        string `json:"op"`               // operation, or const or input
	Name      string `json:"name"`             // first result of the statement
	// Passes are the passes that created or changed a part of it, in order.
	Passes []string `json:"passes"`
	Gone   []Gone   `json:"gone,omitempty"` // operations of the statement that passes removed
	// Operators are the operations that it was lowered to. For a constant or an input they are the
	// operations that read it.
	Operators []Operator `json:"operators"`
	Tasks     []Task     `json:"tasks,omitempty"` // tasks that compute a part of the statement
	// Constants that contain bytes of the statement, or that its tasks read.
	Constants  []Constant   `json:"constants,omitempty"`
	Surfaces   []Surface    `json:"surfaces,omitempty"`              // ports with values of the statement
	Operations []Descriptor `json:"descriptor_operations,omitempty"` // operations of the descriptor for the statement
	Numerics   []string     `json:"numerics,omitempty"`              // facts about its numbers, as sentences
	// Hazards are the findings of package lint for the statement, without a search for inputs that trigger them.
	Hazards   []*lint.Finding `json:"hazards,omitempty"`
	CostError string          `json:"cost_known_error,omitempty"` // of the estimates
	Rewrites  []*Rewrite      `json:"rewrites,omitempty"`         // replacements that run on the engine
	Tried     []Tried         `json:"tried,omitempty"`            // recipes that failed, and why
	// PlacedOnly reports that zinc cannot write programs for the target: there are no tasks, and
	// rewrites are placed for the target but run for another one.
	PlacedOnly bool `json:"placed_only,omitempty"`
	// Notes are requirements of other targets for the statement.
	Notes []string `json:"notes,omitempty"`
	// Sought reports whether rewrites were looked for; NotSought is why not, if they were requested.
	Sought bool `json:"rewrites_sought"`
	// Why rewrites were not looked for although they were requested.
	NotSought string `json:"rewrites_not_sought,omitempty"`
}

// Gone is an operation of the statement that a pass removed.
type Gone struct {
	Pass string `json:"pass"`         // pass that removed it
	By   string `json:"by,omitempty"` // what its readers read instead, "" if there are none
	// Refusal is why the replacement is on the CPU, nil if it is not.
	Refusal *compile.RefusalInfo `json:"refusal,omitempty"`
}

// Operator is an operation of the lowered program.
type Operator struct {
	Op       string `json:"op"`       // name of the operation
	Name     string `json:"name"`     // first result of the operation
	Function string `json:"function"` // function of the operation
	Step     int    `json:"step"`     // index of the step of the chain that runs it
	Unit     string `json:"unit"`     // where it runs: engine, cpu or transfer
	// Lowering rule on the engine, or the rule that keeps it on the CPU.
	Rule    string               `json:"rule,omitempty"`
	Reason  string               `json:"reason,omitempty"`     // why it is on the CPU
	Fused   string               `json:"fused_into,omitempty"` // first result of the operation it is fused into
	MACs    int64                `json:"macs,omitempty"`       // multiply-accumulates
	Refusal *compile.RefusalInfo `json:"refusal,omitempty"`    // facts for reason
	CPU     cost.Time            `json:"cpu_us,omitempty"`     // estimated time on the CPU, 0 on the engine
	// Estimate is the estimate for its tasks, including the operations fused into it; nil if it has none.
	Estimate *compile.Estimate `json:"estimate,omitempty"`
}

// Task is a task that computes a part of the statement.
type Task struct {
	Procedure string            `json:"procedure"`          // procedure of the task
	Index     int               `json:"index"`              // index in the procedure's chain
	Offset    uint64            `json:"offset"`             // bytes, in the task section
	Words     int               `json:"words"`              // words of the task
	Rule      string            `json:"rule"`               // lowering rule
	Kind      string            `json:"kind"`               // what it computes, without sizes (compile/attest)
	Attested  bool              `json:"attested"`           // recorded programs have tasks of the kind
	Estimate  *compile.Estimate `json:"estimate,omitempty"` // time of the task
	Fields    []Field           `json:"fields"`             // the written fields that are not 0, by word
	Links     []string          `json:"links,omitempty"`    // what the addresses of its words point at
}

// Field is a field of a task's word.
type Field struct {
	Word  int    `json:"word"`          // index of the word in the task
	Name  string `json:"name"`          // name of the field
	Value uint32 `json:"value"`         // value of the field
	Known string `json:"known"`         // how the meaning of the field is known
	Doc   string `json:"doc,omitempty"` // meaning of the field
}

// Constant is a stored constant that contains bytes of the statement, or that its tasks read.
type Constant struct {
	Offset uint64     `json:"offset"` // bytes, in the constant section
	Size   uint64     `json:"size"`   // bytes
	Made   bool       `json:"made"`   // some bytes come from the statement; otherwise its tasks only read it
	Roles  []RoleSize `json:"roles"`  // bytes by what they are used for
}

// RoleSize counts the bytes of a role.
type RoleSize struct {
	Role  string `json:"role"`  // what the bytes are used for
	Bytes uint64 `json:"bytes"` // number of bytes
	Made  bool   `json:"made"`  // of the statement, alone or with others
}

// Surface is a port that holds a value of the statement.
type Surface struct {
	Procedure string `json:"procedure"`    // procedure of the port
	Name      string `json:"name"`         // name of the port
	Output    bool   `json:"output"`       // the procedure writes it
	Value     string `json:"value"`        // name of the value
	Address   uint64 `json:"address"`      // address in the engine's map
	Size      uint64 `json:"size"`         // bytes
	Row       int64  `json:"row_elements"` // of the last dimension
	// from one row to the next, padding included; 0 where there is one row
	RowBytes int64 `json:"row_bytes,omitempty"`
}

// Descriptor is an operation of the dispatch descriptor.
type Descriptor struct {
	Function string `json:"function"` // function of the descriptor
	Index    int    `json:"index"`    // index in the chain of the function
	Name     string `json:"name"`     // name of the operation in the descriptor
	// What the operation does: an inference, a cast or a call of the CPU.
	Kind string `json:"kind"`
	Rule string `json:"rule"` // rule that wrote the operation
}
