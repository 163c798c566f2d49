package neuralnetwork

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/ir"
)

// forms are the forms of models that are neural networks.
var forms = []string{"neuralNetwork", "neuralNetworkClassifier", "neuralNetworkRegressor"}

// Is reports whether a form of a model is a neural network.
func Is(form string) bool { return slices.Contains(forms, form) }

// Operation sets of the programs: the first one, and the first with quantized weights of every kind.
const (
	firstOpset      = "ios15"
	compressedOpset = "ios18"
)

// A Network is a neural network as a program.
type Network struct {
	Program  *ir.Program
	Metadata *metadata.Model // of the program, an ML program
	Warnings []string
}

// Read reads the neural network in the bytes b of a file, from offset at on, which about describes. The program's
// constants may be parts of b. Errors are *mlmodel.Error.
func Read(b []byte, at int64, about *metadata.Model) (*Network, error) {
	m, err := mlmodel.Network(b, at, about.Source, about.Form)
	if err != nil {
		return nil, err
	}
	n := &network{m: m, about: about, opset: firstOpset, flexible: true}
	for {
		out, err := n.read()
		switch {
		case errors.Is(err, errOpset):
			n.opset = compressedOpset
		case errors.Is(err, errSize) && n.flexible:
			n.flexible = false
			n.fixed = err.Error()
		default:
			return out, err
		}
	}
}

// Errors that a reading with other properties avoids.
var (
	errOpset = errors.New("the operation set lacks quantized weights")
	errSize  = errors.New("the layer needs shapes that are known")
)

// A tensor is a value of the network. If five is set, it is [sequence, channels, height, width] of a tensor of rank 5.
type tensor struct {
	v    *ir.Value
	five bool
}

// network is the state of a reading.
type network struct {
	m        *mlmodel.Message
	about    *metadata.Model
	opset    string
	flexible bool   // shapes may be unknown
	fixed    string // why they may not

	ir.Builder
	fn       *ir.Func
	stem     string              // of names of values that the format has no name for
	reserved map[string]string   // names of inputs and outputs of the program by names of tensors
	taken    map[string]bool     // names in use
	next     map[string]int      // number that the last name with a stem got
	given    map[*ir.Value]bool  // outputs of the function
	tensors  map[string]tensor   // by name in the format
	open     []*metadata.Feature // inputs of unknown shape
	out      Network
}

// read reads the network once.
func (n *network) read() (*Network, error) {
	n.fn = &ir.Func{Name: "main", Opset: n.opset, Body: &ir.Block{}}
	n.reserved, n.taken, n.next = map[string]string{}, map[string]bool{}, map[string]int{}
	n.tensors, n.given, n.open = map[string]tensor{}, map[*ir.Value]bool{}, nil
	n.Builder = ir.Builder{
		Make: func(o *ir.Operation, args ...ir.Arg) (*ir.Op, error) {
			op, err := ir.NewOpOf(o, n.opset, ir.Pos{}, func(stem string) string { return n.name(n.stem + "_" + stem) },
				args...)
			if err != nil {
				err = fmt.Errorf("%s: %w", o.Name, err)
			}
			return op, err
		},
		Const: func(c *ir.Const) *ir.Value {
			return &ir.Value{Name: n.name(n.stem + "_const"), Type: c.Type, Const: c}
		},
	}
	about := *n.about
	about.Functions = slices.Clone(about.Functions)
	n.out = Network{Metadata: &about}
	err := n.Write(n.convert)
	if err != nil {
		return nil, err
	}
	n.fn.Body.Ops = n.Ops
	about.Form = mlmodel.ProgramForm
	version := map[string]string{firstOpset: "1.0", compressedOpset: "1.3"}[n.opset]
	n.out.Program = &ir.Program{Version: version, Funcs: []*ir.Func{n.fn}, Files: []string{n.about.Source}}
	return &n.out, nil
}

// name returns a name that is not in use, for one that begins with stem, and uses it.
func (n *network) name(stem string) string {
	stem = unbuild.Identifier(stem)
	name := stem
	for n.taken[name] {
		n.next[stem]++
		name = fmt.Sprintf("%s_%d", stem, n.next[stem])
	}
	n.taken[name] = true
	return name
}

// fail ends the reading with an error about the network.
func (n *network) fail(format string, args ...any) { n.Stop(n.m.Errorf(format, args...)) }

func (n *network) warnf(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(n.out.Warnings, s) {
		n.out.Warnings = append(n.out.Warnings, s)
	}
}

// convert writes the function.
func (n *network) convert() {
	if len(n.out.Metadata.Functions) != 1 {
		n.fail("want the description of one function, got %d", len(n.out.Metadata.Functions))
	}
	f := &n.out.Metadata.Functions[0]
	f.Name = "main"
	f.Inputs, f.Outputs = slices.Clone(f.Inputs), slices.Clone(f.Outputs)
	for _, list := range [][]metadata.Feature{f.Inputs, f.Outputs} {
		for i := range list {
			x := &list[i]
			if _, twice := n.reserved[x.Name]; twice {
				n.fail("%q is two inputs or outputs of the model", x.Name)
			}
			name := n.name(x.Name)
			n.reserved[x.Name] = name
		}
	}
	for i := range f.Inputs {
		n.input(&f.Inputs[i])
	}
	n.shapes()
	n.preprocess(f.Inputs)
	last := ""
	for _, m := range n.m.Messages("layers") {
		last = n.layer(m, last)
	}
	n.outputs(f, last)
	if n.fixed != "" {
		n.warnf("the shapes of the inputs are fixed to their defaults: %s", n.fixed)
	}
}

// rename gives a value that a layer returned the name of its output. A value that is older keeps its own.
func (n *network) rename(v *ir.Value, to string, since int) {
	if v.Const == nil && !slices.ContainsFunc(n.Ops[since:], func(op *ir.Op) bool { return op == v.Def }) {
		return
	}
	name, ok := n.reserved[to]
	if !ok || n.tensors[to].v != nil {
		name = n.name(to)
	}
	delete(n.taken, v.Name)
	v.Name = name
	n.taken[name] = true
}

// layer writes a layer. It returns the name of its first output.
func (n *network) layer(m *mlmodel.Message, last string) string {
	kind, params, err := m.Choice()
	if err != nil {
		n.Stop(err)
	}
	l := &layer{network: n, node: m, kind: kind, Message: params, names: m.Texts("output")}
	row, ok := layers[kind]
	switch {
	case kind == "custom":
		l.refuse("custom layers have code of their own, which is not in the file (class %q)", params.Text("className"))
	case !ok:
		l.refuse("zinc does not read layers of this kind")
	}
	for _, name := range m.Texts("input") {
		t, ok := n.tensors[name]
		if !ok {
			l.refuse("its input %q is not an input of the model or an output of a layer before it", name)
		}
		l.in = append(l.in, t)
	}
	if k := len(l.in); k < row.low || row.high >= 0 && k > row.high {
		l.refuse("it has %d inputs, want %s", k, extent(row.low, row.high))
	}
	if k := len(l.names); k < 1 || row.outs > 0 && k > row.outs {
		l.refuse("it has %d outputs, want %s", k, extent(1, max(row.outs, 1)))
	}
	n.stem = l.names[0]
	since := len(n.Ops)
	var outs []tensor
	err = n.Write(func() { outs = row.write(l) })
	switch fault := (*mlmodel.Error)(nil); {
	case err == nil:
	case errors.Is(err, errSize):
		n.Stop(fmt.Errorf("%s: %w", l.what(), err))
	case errors.Is(err, errOpset) || errors.As(err, &fault):
		n.Stop(err)
	default:
		n.Stop(m.Errorf("%s: %v", l.what(), err))
	}
	for i, name := range l.names {
		n.rename(outs[i].v, name, since)
		n.tensors[name] = outs[i]
	}
	return l.names[0]
}

func extent(low, high int) string {
	switch {
	case high < 0:
		return fmt.Sprintf("at least %d", low)
	case low == high:
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}
