package ir

import (
	"slices"

	"github.com/zinc-compiler/zinc/numerics"
)

// Operation is one row of the sheet: what holds of an operation in all its forms.
// The variables named Op are the rows, and so the identifiers of operations: code
// compares pointers to them and never names.
type Operation struct {
	Name  string
	Class Class
	// Error says how far the engine's result may be from the exact one; Unstated
	// where the engine never runs the operation.
	Error numerics.Why
	// Native is what the hardware does with the operation, by generation (natives).
	Native [Generations]Support
	// Gate is the first generation of hardware that has the operation, by the vendor's validator.
	Gate Gate
	// Picks are the arguments whose elements the results are, beside constants:
	// nothing is computed and nothing rounded.
	Picks []ParamName
	// Instead says which operations on the engine give the same values, for an
	// operation that no rule lowers.
	Instead string
	// Curve is the function that an operation of one operand computes, Modes those
	// among which the argument mode chooses.
	Curve *Curve
	Modes map[string]*Curve
	Doc   string
	forms []*OpDef // oldest first
}

// Class says what an operation does with the elements of its operands.
type Class uint8

// Classes.
const (
	Pointwise     Class = iota + 1 // each element from those at the same place of the operands
	Movement                       // elements of the operands in other places
	Product                        // sums of products with a weight or of two operands
	Pooling                        // elements of a window taken together
	Reduction                      // elements of axes taken together
	Normalization                  // elements against statistics of their group
	Resampling                     // means of neighbours on another grid
	Ordering                       // sorts, searches and running sums
	Filling                        // tensors made from shapes and numbers
	Randomness                     // random numbers
	Scattering                     // elements of one tensor put into another by index
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

// Gates. An operation without one is not in the vendor's table: whether zinc
// lowers it decides.
const (
	A11Legacy Gate = "A11Legacy"
	A13       Gate = "A13"
	A14       Gate = "A14"
	A15       Gate = "A15"
	Never     Gate = "never" // no generation has it
)

// ofX are the Picks of an operation that takes elements of x.
var ofX = []ParamName{ParamX}

// forms are rows of a family's operations, older forms of one first.
type forms []*OpDef

func (f *forms) add(ds ...*OpDef) { *f = append(*f, ds...) }

// Operations is the sheet, family by family.
var Operations = sheet(unaryForms(), activationForms(), binaryForms(), matmulForms(), convForms(), reduceForms(),
	normForms(), reshapeForms(), sliceForms(), joinForms(), spaceForms(), gatherForms(), imageForms(), tensorForms(),
	sortForms(), randomForms(), recurrentForms(), controlForms(), stateForms(), quantizeForms(), constexprForms())

// byName finds a row of Operations.
var byName = func() map[string]*Operation {
	m := make(map[string]*Operation, len(Operations))
	for _, o := range Operations {
		m[o.Name] = o
	}
	return m
}()

// sheet gives each operation its forms.
func sheet(families ...forms) (out []*Operation) {
	for _, d := range slices.Concat(families...) {
		o := d.Operation
		if len(o.forms) == 0 {
			out = append(out, o)
		}
		o.forms = append(o.forms, d)
		if o.Picks != nil {
			o.Error = numerics.Movement
		}
		if d.Doc == "" {
			d.Doc = o.Doc
		}
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
