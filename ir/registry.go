package ir

import (
	"cmp"
	"slices"

	"github.com/zinc-compiler/zinc/numerics"
)

// Operation is one row of the registry: the facts common to all forms of an operation. The variables
// whose names start with Op are the rows, and also identify operations: code compares pointers to
// them, never names.
type Operation struct {
	Name  string
	Class Class
	// Error is why the engine's results differ from exact ones; Unstated if the engine never runs the operation.
	Error numerics.Why
	// Native is the hardware's support for the operation, by generation (natives).
	Native [Generations]Support
	// Gate is the first generation of hardware that has the operation, according to the vendor's validator.
	Gate Gate
	// Picks are the arguments that the elements of the results are taken from, besides constants:
	// the operation does not compute or round anything.
	Picks []ParamName
	// Bridge says what does the work where the published table lists a bridge that is outside the engine.
	Bridge string
	// Instead describes operations on the engine with the same result, for an operation that no rule lowers.
	Instead string
	// Curve is the function that an operation of one operand computes; Modes are the functions that the argument mode
	// selects from.
	Curve *Curve
	Modes map[string]*Curve
	Doc   string
	forms []*OpDef // oldest first
}

// newOp returns a row of the registry.
func newOp(name string, class Class, doc string) *Operation {
	return &Operation{Name: name, Class: class, Doc: doc}
}

// The methods below set the other columns of a row.

func (o *Operation) err(why numerics.Why) *Operation       { o.Error = why; return o }
func (o *Operation) gate(first Gate) *Operation            { o.Gate = first; return o }
func (o *Operation) picks(from ...ParamName) *Operation    { o.Picks = from; return o }
func (o *Operation) bridge(by string) *Operation           { o.Bridge = by; return o }
func (o *Operation) instead(describes string) *Operation   { o.Instead = describes; return o }
func (o *Operation) modes(cs map[string]*Curve) *Operation { o.Modes = cs; return o }
func (o *Operation) curve(c Curve) *Operation              { o.Curve = &c; return o }

// Exact reports whether the engine's results are exact. Results of an operation on fp16 numbers are then fp16 numbers,
// truths or indices, and the same in every element type that represents the operands.
func (o *Operation) Exact() bool { return o.Error == numerics.Movement }

// Class is how an operation treats the elements of its operands.
type Class uint8

// Classes.
const (
	Pointwise     Class = iota + 1 // each element computed from those at the same position of the operands
	Movement                       // elements of the operands moved to other positions
	Product                        // sums of products with a weight or of two operands
	Pooling                        // elements of a window combined
	Reduction                      // elements along axes combined
	Normalization                  // elements normalized by statistics of their group
	Resampling                     // weighted means of neighbours on another grid
	Ordering                       // sorts, searches and running sums
	Filling                        // tensors generated from shapes and numbers
	Randomness                     // random numbers
	Scattering                     // elements of one tensor written into another by index
	Recurrent                      // layers that run over time
	Control                        // nested blocks
	Listing                        // lists of tensors
	StateAccess                    // reads and writes of states
	Compressed                     // constants in a compressed form
	numClasses
)

var classNames = [numClasses]string{
	"", "pointwise", "movement", "product", "pooling", "reduction", "normalization", "resampling", "ordering",
	"filling", "randomness", "scattering", "recurrent", "control", "listing", "state access", "compressed",
}

// String returns the class's name.
func (c Class) String() string { return classNames[c%numClasses] }

// Gate is a generation of the engine's hardware by the vendor's name.
type Gate string

// Gates. An operation without one is not in the vendor's table, and is available if zinc lowers it.
const (
	A11Legacy Gate = "A11Legacy"
	A13       Gate = "A13"
	A14       Gate = "A14"
	A15       Gate = "A15"
	Never     Gate = "never" // no generation has it
)

// ofX are the Picks of operations that take elements of x.
var ofX = []ParamName{ParamX}

// forms are the forms of a family's operations; of each operation, oldest first.
type forms []*OpDef

func (f *forms) add(ds ...*OpDef) { *f = append(*f, ds...) }

// Operations is the registry, family by family.
var Operations = registry(unaryForms(), activationForms(), binaryForms(), matmulForms(), convForms(), reduceForms(),
	normForms(), reshapeForms(), sliceForms(), joinForms(), spaceForms(), gatherForms(), imageForms(), tensorForms(),
	sortForms(), randomForms(), recurrentForms(), controlForms(), stateForms(),
	quantizeForms(), constexprForms(), bytesForms())

// byName finds a row of Operations.
var byName = func() map[string]*Operation {
	m := make(map[string]*Operation, len(Operations))
	for _, o := range Operations {
		m[o.Name] = o
	}
	return m
}()

// registry assigns each operation its forms.
func registry(families ...forms) (out []*Operation) {
	for _, d := range slices.Concat(families...) {
		o := d.Operation
		if len(o.forms) == 0 {
			out = append(out, o)
		}
		o.forms = append(o.forms, d)
		if o.Picks != nil {
			o.Error = numerics.Movement
		}
		d.Doc = cmp.Or(d.Doc, o.Doc)
		d.index = make(map[ParamName]int, len(d.Params))
		for i := range d.Params {
			d.index[d.Params[i].Name] = i
		}
	}
	for _, n := range natives {
		for _, o := range n.ops {
			o.Native = n.on
		}
	}
	return out
}

// Named returns the operation of that name, or nil.
func Named(name string) *Operation { return byName[name] }

// Names returns every operation name, sorted.
func Names() []string {
	ns := make([]string, 0, len(Operations))
	for _, o := range Operations {
		ns = append(ns, o.Name)
	}
	slices.Sort(ns)
	return ns
}

// Forms returns the forms of an operation, oldest first.
func (o *Operation) Forms() []*OpDef { return o.forms }

// Forms returns the forms of the operation of that name, oldest first.
func Forms(name string) []*OpDef {
	if o := byName[name]; o != nil {
		return o.forms
	}
	return nil
}

// Is reports whether op is one of the operations.
func (op *Op) Is(os ...*Operation) bool { return slices.Contains(os, op.Def.Operation) }
