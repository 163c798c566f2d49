package ir

import "fmt"

// DTypes is a set of element types.
type DTypes uint32

// DTypesOf returns the set of the given types.
func DTypesOf(ts ...DType) DTypes {
	var c DTypes
	for _, t := range ts {
		c |= 1 << t
	}
	return c
}

// Has reports whether t belongs to c.
func (c DTypes) Has(t DType) bool { return c&(1<<t) != 0 }

// String returns the names of the types: "fp16, fp32".
func (c DTypes) String() string {
	if c == clsAny {
		return "any type"
	}
	s := ""
	for t := Bool; t < numDTypes; t++ {
		if c.Has(t) {
			if s != "" {
				s += ", "
			}
			s += t.String()
		}
	}
	return s
}

// Param is one parameter of an operation.
type Param struct {
	Name  ParamName
	Types DTypes // element types accepted
	// type variable: parameters and results with the same letter have the same element type; "" for none
	Same     string
	Optional bool
	// value of an absent argument: int64, float64, bool, string, []int64, or nil if the rule computes it
	Default  any
	Const    bool     // must be known at compile time
	Variadic bool     // takes a tuple
	Kind     Kind     // Tensor unless it takes a list or a state
	ranks    [2]int   // least and greatest rank, 0 and 0 for any
	among    []string // what a string may be, nil for any
}

// Effect determines whether an operation may be dropped or moved.
type Effect uint8

// Effects.
const (
	Pure   Effect = iota
	Random        // result differs from call to call
	Reads         // reads a state
	Writes        // writes a state
)

// OpDef is one form of an operation: its parameters and results.
type OpDef struct {
	*Operation
	Since  string // first opset with this form, "" for all
	Params []Param
	// Infer is the shape rule: result types from the operation's arguments.
	// Its error is a *RuleError or any other error; the caller adds the position.
	Infer func(op *Op) ([]Type, error)
	// Fold computes the results if every argument is constant; nil if the operation is never
	// folded. It may return nil, nil to leave the operation as it is.
	Fold   func(op *Op) ([]*Const, error)
	ByType bool // Fold needs only the types of some arguments, and is called whatever is constant
	Effect Effect
	Blocks int    // nested blocks: 0, or 2 for cond and while_loop
	Doc    string // the operation's, unless set for the form
	index  map[ParamName]int
}

// ParamIndex returns the index of the parameter of that name, or -1.
func (d *OpDef) ParamIndex(name ParamName) int {
	if i, ok := d.index[name]; ok {
		return i
	}
	return -1
}

// RuleError is a violated typing rule: the argument, and the two facts that conflict.
type RuleError struct {
	Param ParamName // offending parameter, "" for the whole operation
	Other ParamName // parameter it conflicts with, "" for none
	Msg   string
	cause error // ErrExtent or nil
}

func (e *RuleError) Error() string { return e.Msg }

// Unwrap returns ErrExtent for a result that is too large, nil for other rules.
func (e *RuleError) Unwrap() error { return e.cause }

// Rulef returns a RuleError about the parameter param.
func Rulef(param ParamName, format string, args ...any) *RuleError {
	return &RuleError{Param: param, Msg: fmt.Sprintf(format, args...)}
}

// and names the other parameter that the error is about.
func (e *RuleError) and(other ParamName) *RuleError {
	e.Other = other
	return e
}

// OpsetNumber returns 15 for "ios15" and so on; 0 for "".
func OpsetNumber(opset string) int {
	n := 0
	for i := 0; i < len(opset); i++ {
		if c := opset[i]; c >= '0' && c <= '9' {
			n = n*10 + int(c-'0')
		}
	}
	return n
}

// Lookup returns the form of that name for the opset: the newest form not newer than the opset, or
// the oldest form if the opset is empty.
func Lookup(name, opset string) *OpDef {
	forms := Forms(name)
	if len(forms) == 0 {
		return nil
	}
	best := forms[0]
	for _, f := range forms[1:] {
		if OpsetNumber(f.Since) <= OpsetNumber(opset) {
			best = f
		}
	}
	return best
}
