package e5

import (
	"fmt"
	"reflect"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/zinc-compiler/zinc/emit/e5/internal/fb"
)

// Read checks a whole descriptor and returns its Program. The data of constants and of extra sections is a slice of
// buf, not a copy. Every error is a
// *FormatError.
func Read(buf []byte) (*Program, error) {
	if int64(len(buf)) > maxFile {
		return nil, &FormatError{
			Table: programTable.name,
			Msg:   fmt.Sprintf("file of %d bytes, limit of a FlatBuffer %d", len(buf), maxFile),
		}
	}
	if err := verify(buf, 0, programTable); err != nil {
		return nil, err
	}
	root := fb.GetRootAsE5Program(buf, 0)
	r := &reader{buf: buf, index: map[sectionKey]*found{}}
	if v := root.FormatVersion(); v != FormatVersion {
		return nil, r.fail(fieldOffset(root.Table(), versionVOffset), programTable, "format_version", "%d, must be %d",
			v, FormatVersion)
	}
	p := &Program{Symbols: make([]string, root.SymbolNamesLength())}
	for i := range p.Symbols {
		p.Symbols[i] = string(root.SymbolNames(i))
	}
	if bi := root.BuildInfo(nil); bi != nil {
		var e fb.BuildInfoEntry
		for i := range bi.EntriesLength() {
			bi.Entries(&e, i)
			p.BuildInfo = append(p.BuildInfo, KV{string(e.Key()), string(e.Value())})
		}
	}
	if err := r.sections(root); err != nil {
		return nil, err
	}
	if err := r.program(p); err != nil {
		return nil, err
	}
	for _, s := range r.list {
		if !s.used {
			return nil, r.fail(s.at, sectionTable, "name", "unused section %.80q of kind %d", s.name, s.kind)
		}
	}
	if f := p.check(); f != nil {
		return nil, &FormatError{Off: r.place(f), Table: f.table, Field: f.field, Msg: f.msg}
	}
	return p, nil
}

// found is one section of the file.
type found struct {
	name string
	kind int32
	data []byte
	at   int // offset of its table
	off  int // offset of its data
	used bool
}

// functionPlaces are the offsets of the parts of a function, to locate a fault.
type functionPlaces struct {
	at       int
	operands []int
	blocks   []blockPlaces
}

type blockPlaces struct {
	at  int
	ops []int
}

// reader fills a Program from a verified file.
type reader struct {
	buf       []byte
	list      []*found
	index     map[sectionKey]*found
	functions []functionPlaces
	aliases   []int
}

func (r *reader) fail(off int, t *table, field, format string, args ...any) error {
	return &FormatError{Off: off, Table: t.name, Field: field, Msg: fmt.Sprintf(format, args...)}
}

// place returns the offset of the part of the file that contains a fault.
func (r *reader) place(f *fault) int {
	switch {
	case f.alias >= 0:
		return r.aliases[f.alias]
	case f.fn < 0:
		return 0
	case f.operand >= 0:
		return r.functions[f.fn].operands[f.operand]
	case f.op >= 0:
		return r.functions[f.fn].blocks[f.block].ops[f.op]
	case f.block >= 0:
		return r.functions[f.fn].blocks[f.block].at
	}
	return r.functions[f.fn].at
}

// sections lists the sections and verifies each nested FlatBuffer.
func (r *reader) sections(root *fb.E5Program) error {
	var s fb.Section
	for i := range root.SectionsLength() {
		root.Sections(&s, i)
		tab := s.Table()
		f := &found{name: string(s.Name()), kind: int32(s.Kind()), data: s.DataBytes(), at: int(tab.Pos)}
		f.data = f.data[:len(f.data):len(f.data)]
		f.off = int(tab.Vector(flatbuffers.UOffsetT(tab.Offset(dataVOffset))))
		key := sectionKey{f.kind, f.name}
		if r.index[key] != nil {
			return r.fail(f.at, sectionTable, "name", "two sections of kind %d are named %.80q", f.kind, f.name)
		}
		r.index[key] = f
		r.list = append(r.list, f)
		if t, ok := sectionRoots[f.kind]; ok {
			if err := verify(f.data, f.off, t); err != nil {
				return err
			}
		}
		if f.kind == kindConstant && f.off%ConstantAlign != 0 {
			return r.fail(f.off, sectionTable, "data", "constant %.80q is not at a multiple of %d", f.name,
				ConstantAlign)
		}
	}
	return nil
}

// Vtable offsets of the fields whose position the reader needs.
const (
	dataVOffset    = 8  // Section.data
	versionVOffset = 10 // E5Program.format_version
)

// fieldOffset returns the position of a field, or that of its table if the field is absent.
func fieldOffset(tab flatbuffers.Table, v flatbuffers.VOffsetT) int {
	return int(tab.Pos) + int(tab.Offset(v))
}

// take returns the section that a record at byte off of the file names.
func (r *reader) take(kind int32, name string, off int, t *table, field string) (*found, error) {
	s := r.index[sectionKey{kind, name}]
	if s == nil {
		return nil, r.fail(off, t, field, "missing section %.200q of kind %d", name, kind)
	}
	if s.used {
		return nil, r.fail(off, t, field, "section %.200q of kind %d is already in use", name, kind)
	}
	s.used = true
	return s, nil
}

func (r *reader) program(p *Program) error {
	for _, s := range r.list {
		switch {
		case s.kind == kindFunction:
			s.used = true
			f, err := r.function(s)
			if err != nil {
				return err
			}
			p.Functions = append(p.Functions, *f)
		case s.kind == kindAlias:
			s.used = true
			a := fb.GetRootAsAliasSymbol(s.data, 0)
			if string(a.Name()) != s.name {
				return r.fail(s.off, aliasTable, "name", "%.80q, but the section is %.80q", a.Name(), s.name)
			}
			p.Aliases = append(p.Aliases, Alias{s.name, a.SymbolIndex(), a.AddrOffset()})
			r.aliases = append(r.aliases, s.off)
		case s.kind < kindFunction || s.kind > kindConstant:
			s.used = true
			p.Extra = append(p.Extra, Section{s.name, s.kind, bytesOf(s.data)})
		}
	}
	return nil
}

func (r *reader) function(s *found) (*Function, error) {
	t := fb.GetRootAsFunction(s.data, 0)
	f := &Function{Name: string(t.Name()), AneHashPath: string(t.AnehashPath())}
	if f.Name != s.name {
		return nil, r.fail(s.off, functionTable, "name", "%.80q, but the section is %.80q", f.Name, s.name)
	}
	if msg := badName(f.Name); msg != "" {
		return nil, r.fail(s.off, functionTable, "name", "%s", msg)
	}
	places := functionPlaces{at: s.off}
	var o fb.Operand
	for i := range t.OperandsLength() {
		t.Operands(&o, i)
		op, err := r.operand(&o, s.off)
		if err != nil {
			return nil, err
		}
		f.Operands = append(f.Operands, *op)
		places.operands = append(places.operands, s.off+int(o.Table().Pos))
	}
	f.Inputs = uint32s(t.InputsLength(), t.Inputs)
	f.Outputs = uint32s(t.OutputsLength(), t.Outputs)
	f.States = uint32s(t.StatesLength(), t.States)
	var stub fb.Block
	for i := range t.BlocksLength() {
		t.Blocks(&stub, i)
		at := s.off + int(stub.Table().Pos)
		if stub.OperationsLength() != 0 {
			return nil, r.fail(at, blockTable, "operations",
				"a function lists its blocks by name only, got %d operations", stub.OperationsLength())
		}
		b, bp, err := r.block(f, string(stub.Name()), at)
		if err != nil {
			return nil, err
		}
		f.Blocks = append(f.Blocks, *b)
		places.blocks = append(places.blocks, *bp)
	}
	r.functions = append(r.functions, places)
	return f, nil
}

func (r *reader) block(f *Function, name string, at int) (*Block, *blockPlaces, error) {
	if msg := badName(name); msg != "" {
		return nil, nil, r.fail(at, blockTable, "name", "%s", msg)
	}
	s, err := r.take(kindBlock, blockSection(f.Name, name), at, functionTable, "blocks")
	if err != nil {
		return nil, nil, err
	}
	t := fb.GetRootAsBlock(s.data, 0)
	if string(t.Name()) != name {
		return nil, nil, r.fail(s.off, blockTable, "name", "%.80q, but the function says %.80q", t.Name(), name)
	}
	b := &Block{Name: name}
	places := &blockPlaces{at: s.off}
	var stub fb.Operation
	for i := range t.OperationsLength() {
		t.Operations(&stub, i)
		at := s.off + int(stub.Table().Pos)
		op, off, err := r.operation(f, name, &stub, at)
		if err != nil {
			return nil, nil, err
		}
		b.Operations = append(b.Operations, *op)
		places.ops = append(places.ops, off)
	}
	return b, places, nil
}

func (r *reader) operation(f *Function, block string, stub *fb.Operation, at int) (*Operation, int, error) {
	name := string(stub.Name())
	if msg := badName(name); msg != "" {
		return nil, 0, r.fail(at, operationTable, "name", "%s", msg)
	}
	if stub.InputsLength()+stub.OutputsLength()+len(stub.ArgFrame())+len(stub.AttrsSection()) != 0 {
		return nil, 0, r.fail(at, operationTable, "", "a block lists its operations by name and type only")
	}
	section := opSection(f.Name, block, name)
	s, err := r.take(kindOperation, section, at, blockTable, "operations")
	if err != nil {
		return nil, 0, err
	}
	t := fb.GetRootAsOperation(s.data, 0)
	if string(t.Name()) != name || t.OpType() != stub.OpType() {
		return nil, 0, r.fail(s.off, operationTable, "name", "%.80q of type %d, but the block says %.80q of type %d",
			t.Name(), t.OpType(), name, stub.OpType())
	}
	for _, ref := range []struct {
		field     string
		got, want string
	}{{"arg_frame", string(t.ArgFrame()), section + frameSuffix}, {"attrs_section", string(t.AttrsSection()), section +
		attrsSuffix}} {
		if ref.got != ref.want {
			return nil, 0, r.fail(s.off, operationTable, ref.field, "section %.200q, must be %.200q", ref.got, ref.want)
		}
	}
	op := &Operation{Name: name, Type: OpType(t.OpType()),
		Inputs: uint32s(t.InputsLength(), t.Inputs), Outputs: uint32s(t.OutputsLength(), t.Outputs)}
	if err := r.frame(f, op, section+frameSuffix, s.off); err != nil {
		return nil, 0, err
	}
	if op.Attrs, err = r.attrs(op, section, s.off); err != nil {
		return nil, 0, err
	}
	return op, s.off, nil
}

// frame compares an argument frame with the operands that it repeats.
func (r *reader) frame(f *Function, op *Operation, section string, at int) error {
	s, err := r.take(kindArgFrame, section, at, operationTable, "arg_frame")
	if err != nil {
		return err
	}
	t := fb.GetRootAsArgFrame(s.data, 0)
	var o fb.Operand
	for _, side := range []struct {
		field   string
		indices []uint32
		n       int
		get     func(*fb.Operand, int) bool
	}{{field: "inputs", indices: op.Inputs, n: t.InputsLength(), get: t.Inputs}, {field: "outputs", indices: op.Outputs,
		n: t.OutputsLength(), get: t.Outputs}} {
		if side.n != len(side.indices) {
			return r.fail(s.off, argFrameTable, side.field, "%d operands, but the operation has %d", side.n,
				len(side.indices))
		}
		for i, k := range side.indices {
			side.get(&o, i)
			at := s.off + int(o.Table().Pos)
			if int64(k) >= int64(len(f.Operands)) {
				return r.fail(at, operationTable, side.field, "entry %d is operand %d, but there are %d", i, k,
					len(f.Operands))
			}
			got, err := r.operand(&o, s.off)
			if err != nil {
				return err
			}
			if !reflect.DeepEqual(got, &f.Operands[k]) {
				return r.fail(at, argFrameTable, side.field, "entry %d differs from operand %d of the function", i, k)
			}
		}
	}
	return nil
}

// operand reads one operand of a section whose data is at base.
func (r *reader) operand(o *fb.Operand, base int) (*Operand, error) {
	d, port := o.Descriptor(nil), o.Port(nil)
	at := base + int(d.Table().Pos)
	if d.DimLength() > MaxRank || d.StrideLength() > MaxRank {
		return nil, r.fail(at, descriptorTable, "dim", "%d extents and %d strides, limit %d", d.DimLength(),
			d.StrideLength(), MaxRank)
	}
	op := &Operand{
		Name: string(o.Name()), Aperture: Aperture(o.Aperture()),
		Port: IOPort{string(port.Name()), port.ByteSize(), port.ApertureVa()},
		Desc: TensorDescriptor{Storage: StorageType(d.StorageType()), ComponentPack: d.ComponentPack()},
	}
	for i := range d.DimLength() {
		op.Desc.Dim = append(op.Desc.Dim, d.Dim(i))
	}
	for i := range d.StrideLength() {
		op.Desc.Stride = append(op.Desc.Stride, d.Stride(i))
	}
	if len(op.Desc.Dim) != len(op.Desc.Stride) {
		return nil, r.fail(at, descriptorTable, "stride", "%d strides for %d extents", d.StrideLength(), d.DimLength())
	}
	dim, stride := op.Desc.axes()
	if got := [5]uint64{d.Width(), d.Height(), d.Channels(), d.BatchNumber(), d.SequenceLength()}; got != dim {
		return nil, r.fail(at, descriptorTable, "width", "named axes %d, but dim says %d", got, dim)
	}
	if got := [5]uint64{d.StrideWidth(), d.StrideHeight(), d.StrideChannels(), d.StrideBatchNumber(),
		d.StrideSequenceLength()}; got != stride {
		return nil, r.fail(at, descriptorTable, "stride_width", "strides of the named axes %d, but stride says %d", got,
			stride)
	}
	return op, nil
}

// uint32s reads a vector, nil when it is empty.
func uint32s(n int, get func(int) uint32) []uint32 {
	if n == 0 {
		return nil
	}
	v := make([]uint32, n)
	for i := range v {
		v[i] = get(i)
	}
	return v
}

// bytesOf returns b without spare capacity, or nil if it is empty.
func bytesOf(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b[:len(b):len(b)]
}
