package e5

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/zinc-compiler/zinc/internal/flattable"
)

// The names of an operation's sections are its own name plus one of these.
const (
	frameSuffix    = "__arg_frame"
	attrsSuffix    = "__op_attrs"
	constantSuffix = "__const" // and the number of the constant
)

// maxName limits names, so that the names of sections, which repeat the names of functions and blocks, stay in
// proportion to the file.
const maxName = 1024

func blockSection(fn, block string) string    { return fn + "/" + block }
func opSection(fn, block, op string) string   { return fn + "/" + block + "/" + op }
func constantSection(op string, i int) string { return op + constantSuffix + strconv.Itoa(i) }
func (s *Section) key() sectionKey            { return sectionKey{s.Kind, s.Name} }
func (s *Section) node(align int) *node       { return sectionNode(s.Name, s.Kind, s.Data, align) }
func sectionNode(n string, k int32, d []byte, align int) *node {
	return newNode(sectionTable, n, scalar(k), flattable.Blob{Data: d, Align: align})
}

type node = flattable.Node

var newNode = flattable.NewNode

// scalar returns the bits of x as a value of a node.
func scalar[T ~uint8 | ~int32](x T) uint64 { return uint64(x) }

// sectionKey identifies a section: two sections may share a name, but not both name and kind.
type sectionKey struct {
	kind int32
	name string
}

// Bytes returns the descriptor's bytes. It fails, with a *ModelError, on a
// Program that breaks a rule of the model; it does not change p.
//
// The constants are copied once, from p into the result.
func Bytes(p *Program) ([]byte, error) {
	root, err := programNode(p)
	if err != nil {
		return nil, err
	}
	return encode(root, root.Bound())
}

// encode writes a FlatBuffer whose bytes have the given bound. Every error is a *ModelError.
func encode(n *node, bound int64) ([]byte, error) {
	b, err := flattable.Encode(n, bound)
	if err != nil {
		return nil, (*ModelError)(err)
	}
	return b, nil
}

// Write writes the descriptor's bytes to w.
func Write(w io.Writer, p *Program) error {
	b, err := Bytes(p)
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("e5: %w", err)
	}
	return nil
}

// programNode checks p and lays out its sections.
func programNode(p *Program) (*node, error) {
	if f := p.check(); f != nil {
		return nil, f.modelError(p)
	}
	l := &sectionList{seen: map[sectionKey]bool{}}
	for i := range p.Functions {
		l.function(&p.Functions[i])
	}
	for i := range p.Aliases {
		a := &p.Aliases[i]
		l.nested(a.Name, kindAlias, nodeOf(aliasTable, a))
	}
	for i := range p.Extra {
		l.raw(p.Extra[i], 16)
	}
	if l.err != nil {
		return nil, l.err
	}
	symbols := p.Symbols
	if symbols == nil {
		symbols = p.DeriveSymbols()
	}
	entries := make([]*node, len(p.BuildInfo))
	for i := range p.BuildInfo {
		entries[i] = nodeOf(buildInfoEntryTable, &p.BuildInfo[i])
	}
	return newNode(programTable, symbols, newNode(buildInfoTable, entries), l.nodes, scalar(int32(FormatVersion))), nil
}

// DeriveSymbols returns the symbol names that Write uses for a Program without any: for each function its name and the
// names of its operands, then for each operation its name and the names of its two sections, each name once.
func (p *Program) DeriveSymbols() []string {
	names := []string{}
	seen := map[string]bool{}
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			names = append(names, s)
		}
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		add(f.Name)
		for k := range f.Operands {
			add(f.Operands[k].Name)
		}
		for _, b := range f.Blocks {
			for _, op := range b.Operations {
				add(op.Name)
				s := opSection(f.Name, b.Name, op.Name)
				add(s + frameSuffix)
				add(s + attrsSuffix)
			}
		}
	}
	return names
}

// sectionList gathers the sections in file order; the first error sticks.
type sectionList struct {
	nodes []*node
	seen  map[sectionKey]bool
	err   error
}

func (l *sectionList) raw(s Section, align int) {
	if l.seen[s.key()] && l.err == nil {
		l.err = &ModelError{
			Path: fmt.Sprintf("section %.200q", s.Name),
			Msg:  fmt.Sprintf("two sections of kind %d have this name", s.Kind),
		}
	}
	l.seen[s.key()] = true
	l.nodes = append(l.nodes, s.node(align))
}

func (l *sectionList) nested(name string, kind int32, n *node) {
	b, err := encode(n, n.Bound())
	var me *ModelError
	if errors.As(err, &me) && l.err == nil {
		l.err = &ModelError{Path: fmt.Sprintf("section %.200q: %s", name, me.Path), Msg: me.Msg}
	}
	l.raw(Section{name, kind, b}, 8)
}

func (l *sectionList) function(f *Function) {
	blocks := make([]*node, len(f.Blocks))
	for i := range f.Blocks {
		blocks[i] = newNode(blockTable, f.Blocks[i].Name, []*node{})
	}
	operands := make([]*node, len(f.Operands))
	for i := range f.Operands {
		operands[i] = operandNode(&f.Operands[i])
	}
	l.nested(f.Name, kindFunction, newNode(functionTable, f.Name, f.AneHashPath, blocks, operands, f.Inputs, f.Outputs,
		f.States))
	for i := range f.Blocks {
		l.block(f, &f.Blocks[i])
	}
}

func (l *sectionList) block(f *Function, b *Block) {
	ops := make([]*node, len(b.Operations))
	for i := range b.Operations {
		ops[i] = operationNode(&b.Operations[i], nil, nil, "", "")
	}
	l.nested(blockSection(f.Name, b.Name), kindBlock, newNode(blockTable, b.Name, ops))
	for i := range b.Operations {
		op := &b.Operations[i]
		name := opSection(f.Name, b.Name, op.Name)
		l.nested(name, kindOperation, operationNode(op, op.Inputs, op.Outputs, name+frameSuffix, name+attrsSuffix))
		l.nested(name+frameSuffix, kindArgFrame, newNode(argFrameTable, bound(f, op.Inputs), bound(f, op.Outputs)))
		l.nested(name+attrsSuffix, kindOpAttrs, newNode(opAttrsRecordTable,
			flattable.Member{Tag: uint8(op.Type) + 1, Node: attrsNode(op, name)}))
		if a, ok := op.Attrs.(*CpuInferenceAttrs); ok {
			for k := range a.Constants {
				l.raw(Section{constantSection(name, k), kindConstant, a.Constants[k].Data}, ConstantAlign)
			}
		}
	}
}

// attrsNode returns the attributes of op, whose section is named section.
func attrsNode(op *Operation, section string) *node {
	t := attrTables[op.Type]
	a, ok := op.Attrs.(*CpuInferenceAttrs)
	if !ok {
		return nodeOf(t, op.Attrs)
	}
	constants := make([]*node, len(a.Constants))
	for i := range a.Constants {
		constants[i] = newNode(cpuConstantTable, a.Constants[i].Name, constantSection(section, i))
	}
	return newNode(t, a.Entry, a.Program, constants)
}

// nodeOf returns the node of a struct that has the fields of its table.
func nodeOf(t *flattable.Table, p any) *node { return (*flattable.Strings)(nil).Node(t, p) }

func operationNode(op *Operation, in, out []uint32, frame, attrs string) *node {
	return newNode(operationTable, op.Name, scalar(op.Type), in, out, frame, attrs)
}

// bound returns the operands of one side of an argument frame.
func bound(f *Function, indices []uint32) []*node {
	nodes := make([]*node, len(indices))
	for i, k := range indices {
		nodes[i] = operandNode(&f.Operands[k])
	}
	return nodes
}

func operandNode(o *Operand) *node {
	d := &o.Desc
	dim, stride := d.axes()
	dims, strides := d.vectors()
	return newNode(operandTable,
		newNode(descriptorTable, dims, strides,
			dim[0], dim[1], dim[2], dim[3], dim[4],
			stride[0], stride[1], stride[2], stride[3], stride[4],
			scalar(d.Storage), scalar(d.ComponentPack)),
		o.Name, scalar(o.Aperture),
		nodeOf(ioPortTable, &o.Port), uint64(len(d.Dim)))
}
