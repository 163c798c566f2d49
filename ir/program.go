package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Program is one model: its functions and the build information of the source.
type Program struct {
	Version   string     // of the MIL text, "1.0" or "1.3"
	BuildInfo []KeyValue // in source order
	Funcs     []*Func    // in source order; the entry is usually called main
	Files     []string   // file names, indexed by Pos.File
}

// SourceForm is the key of BuildInfo whose value is the form of the model, if it is one in which every number is fp32
// and that is not a choice: Core ML computes such models in fp16 on hardware that does.
const SourceForm = "zinc-source-form"

// Untyped reports whether the program comes from a model of a form that has no choice of types.
func (p *Program) Untyped() bool {
	return slices.ContainsFunc(p.BuildInfo, func(kv KeyValue) bool { return kv.Key == SourceForm })
}

// KeyValue is one entry of an ordered dictionary of strings.
type KeyValue struct{ Key, Value string }

// Func returns the function of that name, or nil.
func (p *Program) Func(name string) *Func {
	for _, f := range p.Funcs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Entry returns the function of that name; if name is "", the only function or main. The error is an *EntryError.
func (p *Program) Entry(name string) (*Func, error) {
	if name == "" && len(p.Funcs) == 1 {
		return p.Funcs[0], nil
	}
	f := p.Func(name)
	if name == "" {
		f = p.Func("main")
	}
	if f != nil {
		return f, nil
	}
	e := &EntryError{Name: name}
	for _, f := range p.Funcs {
		e.Funcs = append(e.Funcs, f.Name)
	}
	return nil, e
}

// EntryError reports that a program has no function of the requested name, or that no name was
// requested and the choice is ambiguous.
type EntryError struct {
	Name  string   // requested, "" for none
	Funcs []string // functions of the program
}

func (e *EntryError) Error() string {
	names := strings.Join(e.Funcs, ", ")
	switch {
	case len(e.Funcs) == 0:
		return "the program has no functions"
	case e.Name == "":
		return fmt.Sprintf("the program has functions %s, none of them main; choose one", names)
	}
	return fmt.Sprintf("no function %q; the program has %s", e.Name, names)
}

// Func is one function: parameters, one block, results.
type Func struct {
	Name  string
	Opset string // ios15, ios16, ios17 or ios18; selects among forms of the same name
	Body  *Block // Body.Params are the function's inputs, Body.Outputs its results
	Flex  Flexible
	Pos   Pos
}

// Flexible is the FlexibleShapeInformation of a function's inputs.
type Flexible struct {
	Default map[string][]int64    // input -> default shape
	Ranges  map[string][][2]int64 // input -> [low, high] per dimension; high -1 means unbounded
	Enums   []map[string][]int64  // one map per configuration: input -> shape
}

// Block is a list of operations with its own parameters and outputs: a
// function's body, a branch of cond, the body of a loop.
type Block struct {
	Params  []*Value
	Ops     []*Op
	Outputs []*Value
}

// Value is one SSA value: a block parameter, an operation's result, or a
// constant (Const set, Def nil).
type Value struct {
	Name  string // MIL name, unique in its function
	Type  Type
	Const *Const
	Def   *Op // operation that computes it; nil for parameters and constants
	Pos   Pos
	// Origin is what a parameter or a constant came from; nil if it was not recorded, and for the
	// results of operations (see Source).
	Origin *Origin

	number int32 // see Numbering
}

// IsConst reports whether the value is known at compile time.
func (v *Value) IsConst() bool { return v != nil && v.Const != nil }

// Op is one operation.
type Op struct {
	Def     *OpDef
	Name    string     // the [name = ...] attribute, "" if absent
	Args    [][]*Value // one list per parameter of Def, nil if absent
	Results []*Value
	Blocks  []*Block
	Pos     Pos
	InPlace bool // the result takes the memory of the operand that the operation changes in part (Updates)
	Place   Place
	Alone   Alone
	Origin  *Origin // what it came from; nil if not recorded

	number int32 // see Numbering
}

// Arg returns the single argument of the parameter of that name, or nil if it is absent.
func (o *Op) Arg(name ParamName) *Value {
	if i := o.Def.ParamIndex(name); i >= 0 && i < len(o.Args) && len(o.Args[i]) > 0 {
		return o.Args[i][0]
	}
	return nil
}

// ArgList returns all arguments of the parameter of that name.
func (o *Op) ArgList(name ParamName) []*Value {
	if i := o.Def.ParamIndex(name); i >= 0 && i < len(o.Args) {
		return o.Args[i]
	}
	return nil
}

// SetArg replaces the arguments of the parameter of that name.
func (o *Op) SetArg(name ParamName, vs ...*Value) {
	o.Args[o.Def.ParamIndex(name)] = vs
}

// Operands calls f for every argument in parameter order.
func (o *Op) Operands(f func(param *Param, v *Value)) {
	for i, a := range o.Args {
		for _, v := range a {
			f(&o.Def.Params[i], v)
		}
	}
}

// Unit is where an operation runs.
type Unit uint8

// Units. An operation that no pass has placed is Unplaced; Transfer is a conversion between fp16 and fp32 that the host
// does during a transfer to or from the engine.
const (
	Unplaced Unit = iota
	Engine
	CPU
	Transfer
	numUnits
)

var unitNames = [numUnits]string{"unplaced", "engine", "cpu", "transfer"}

// String returns the unit's name in reports.
func (u Unit) String() string { return unitNames[u%numUnits] }

// parseUnit is the inverse of String.
func parseUnit(name string) (Unit, bool) {
	i := slices.Index(unitNames[:], name)
	return Unit(max(i, 0)), i >= 0
}

// Place is where an operation runs and why.
type Place struct {
	Unit   Unit
	Rule   string // the lowering rule, also of an operation that a legality rule keeps on the CPU
	Reason string // for people: offending value, limit; "" on the engine
}

// Alone is what an operation takes on the engine that is lowered alone. Placement finds it, and it is not part of the
// program.
type Alone struct {
	Nanos int64
	Tasks int32
	Moves bool // it only moves data
	Known bool
}

// Pos is a place in a source file. The zero Pos is not a place.
type Pos struct {
	File      int32 // index into Program.Files
	Line, Col int32 // from 1
}

// IsValid reports whether p is a place.
func (p Pos) IsValid() bool { return p.Line > 0 }
