package e5

import (
	"fmt"
	"reflect"

	"github.com/zinc-compiler/zinc/internal/flattable"
)

// Read checks a whole descriptor and returns its Program. The data of constants and of extra sections is a slice of
// buf, not a copy. Every error is a
// *FormatError.
func Read(buf []byte) (*Program, error) {
	if int64(len(buf)) > flattable.MaxFile {
		return nil, &FormatError{
			Table: programTable.Name,
			Msg:   fmt.Sprintf("file of %d bytes, limit of a FlatBuffer %d", len(buf), flattable.MaxFile),
		}
	}
	root, err := rootOf(buf, 0, programTable)
	if err != nil {
		return nil, err
	}
	r := &reader{buf: buf, index: map[sectionKey]*found{}}
	if v := int32(root.Number("format_version")); v != FormatVersion {
		return nil, r.fail(root.FieldOff("format_version"), programTable, "format_version", "%d, must be %d", v,
			FormatVersion)
	}
	p := &Program{Symbols: root.Texts("symbol_names")}
	if root.Has("build_info") {
		for _, e := range root.Sub("build_info").Subs("entries") {
			p.BuildInfo = append(p.BuildInfo, KV{e.Text("key"), e.Text("value")})
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

// rootOf returns the root of the FlatBuffer in buf, at offset base of the file, once it has been checked.
func rootOf(buf []byte, base int, t *flattable.Table) (flattable.Record, error) {
	if f := flattable.Verify(buf, base, t); f != nil {
		return flattable.Record{}, (*FormatError)(f)
	}
	return flattable.Root(buf, t), nil
}

// found is one section of the file.
type found struct {
	name string
	kind int32
	data []byte
	at   int // offset of its table
	off  int // offset of its data
	used bool
	root flattable.Record // the root of a nested FlatBuffer
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

func (r *reader) fail(off int, t *flattable.Table, field, format string, args ...any) error {
	return &FormatError{Off: off, Table: t.Name, Field: field, Msg: fmt.Sprintf(format, args...)}
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
func (r *reader) sections(root flattable.Record) (err error) {
	for _, s := range root.Subs("sections") {
		f := &found{name: s.Text("name"), kind: int32(s.Number("kind")), data: s.Bytes("data"), at: s.Off(),
			off: s.FieldOff("data")}
		key := sectionKey{f.kind, f.name}
		if r.index[key] != nil {
			return r.fail(f.at, sectionTable, "name", "two sections of kind %d are named %.80q", f.kind, f.name)
		}
		r.index[key] = f
		r.list = append(r.list, f)
		if t, ok := sectionRoots[f.kind]; ok {
			if f.root, err = rootOf(f.data, f.off, t); err != nil {
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

// take returns the section that a record at byte off of the file names.
func (r *reader) take(kind int32, name string, off int, t *flattable.Table, field string) (*found, error) {
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
			var a Alias
			if fill(s.root, &a); a.Name != s.name {
				return r.fail(s.off, aliasTable, "name", "%.80q, but the section is %.80q", a.Name, s.name)
			}
			p.Aliases = append(p.Aliases, a)
			r.aliases = append(r.aliases, s.off)
		case s.kind < kindFunction || s.kind > kindConstant:
			s.used = true
			p.Extra = append(p.Extra, Section{s.name, s.kind, s.data})
		}
	}
	return nil
}

func (r *reader) function(s *found) (*Function, error) {
	t := s.root
	f := &Function{Name: t.Text("name"), AneHashPath: t.Text("anehash_path"), Inputs: t.Uint32s("inputs"),
		Outputs: t.Uint32s("outputs"), States: t.Uint32s("states")}
	if f.Name != s.name {
		return nil, r.fail(s.off, functionTable, "name", "%.80q, but the section is %.80q", f.Name, s.name)
	}
	if msg := badName(f.Name); msg != "" {
		return nil, r.fail(s.off, functionTable, "name", "%s", msg)
	}
	places := functionPlaces{at: s.off}
	for _, o := range t.Subs("operands") {
		op, err := r.operand(o, s.off)
		if err != nil {
			return nil, err
		}
		f.Operands = append(f.Operands, *op)
		places.operands = append(places.operands, s.off+o.Off())
	}
	for _, stub := range t.Subs("blocks") {
		at := s.off + stub.Off()
		if n := stub.Len("operations"); n != 0 {
			return nil, r.fail(at, blockTable, "operations",
				"a function lists its blocks by name only, got %d operations", n)
		}
		b, bp, err := r.block(f, stub.Text("name"), at)
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
	if got := s.root.Text("name"); got != name {
		return nil, nil, r.fail(s.off, blockTable, "name", "%.80q, but the function says %.80q", got, name)
	}
	b := &Block{Name: name}
	places := &blockPlaces{at: s.off}
	for _, stub := range s.root.Subs("operations") {
		op, off, err := r.operation(f, name, stub, s.off+stub.Off())
		if err != nil {
			return nil, nil, err
		}
		b.Operations = append(b.Operations, *op)
		places.ops = append(places.ops, off)
	}
	return b, places, nil
}

func (r *reader) operation(f *Function, block string, stub flattable.Record, at int) (*Operation, int, error) {
	name := stub.Text("name")
	if msg := badName(name); msg != "" {
		return nil, 0, r.fail(at, operationTable, "name", "%s", msg)
	}
	if stub.Len("inputs")+stub.Len("outputs")+stub.Len("arg_frame")+stub.Len("attrs_section") != 0 {
		return nil, 0, r.fail(at, operationTable, "", "a block lists its operations by name and type only")
	}
	section := opSection(f.Name, block, name)
	s, err := r.take(kindOperation, section, at, blockTable, "operations")
	if err != nil {
		return nil, 0, err
	}
	t := s.root
	op := &Operation{Name: t.Text("name"), Type: OpType(t.Number("op_type")), Inputs: t.Uint32s("inputs"),
		Outputs: t.Uint32s("outputs")}
	if listed := OpType(stub.Number("op_type")); op.Name != name || op.Type != listed {
		return nil, 0, r.fail(s.off, operationTable, "name", "%.80q of type %d, but the block says %.80q of type %d",
			op.Name, op.Type, name, listed)
	}
	for _, ref := range []struct{ field, want string }{{"arg_frame", section + frameSuffix},
		{"attrs_section", section + attrsSuffix}} {
		if got := t.Text(ref.field); got != ref.want {
			return nil, 0, r.fail(s.off, operationTable, ref.field, "section %.200q, must be %.200q", got, ref.want)
		}
	}
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
	for _, side := range []struct {
		field   string
		indices []uint32
	}{{"inputs", op.Inputs}, {"outputs", op.Outputs}} {
		operands := s.root.Subs(side.field)
		if len(operands) != len(side.indices) {
			return r.fail(s.off, argFrameTable, side.field, "%d operands, but the operation has %d", len(operands),
				len(side.indices))
		}
		for i, k := range side.indices {
			at := s.off + operands[i].Off()
			if int64(k) >= int64(len(f.Operands)) {
				return r.fail(at, operationTable, side.field, "entry %d is operand %d, but there are %d", i, k,
					len(f.Operands))
			}
			got, err := r.operand(operands[i], s.off)
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
func (r *reader) operand(o flattable.Record, base int) (*Operand, error) {
	d := o.Sub("descriptor")
	at := base + d.Off()
	if dims, strides := d.Len("dim"), d.Len("stride"); dims > MaxRank || strides > MaxRank {
		return nil, r.fail(at, descriptorTable, "dim", "%d extents and %d strides, limit %d", dims, strides, MaxRank)
	}
	op := &Operand{
		Name: o.Text("name"), Aperture: Aperture(o.Number("aperture")),
		Desc: TensorDescriptor{Dim: d.Uint64s("dim"), Stride: d.Uint64s("stride"),
			Storage: StorageType(d.Number("storage_type")), ComponentPack: int32(d.Number("component_pack"))},
	}
	fill(o.Sub("port"), &op.Port)
	if len(op.Desc.Dim) != len(op.Desc.Stride) {
		return nil, r.fail(at, descriptorTable, "stride", "%d strides for %d extents", len(op.Desc.Stride),
			len(op.Desc.Dim))
	}
	rank := min(int64(o.Number("rank")), MaxRank+1)
	if got, want := int64(len(op.Desc.Dim)), max(rank, vectorAxes); got != want {
		return nil, r.fail(at, descriptorTable, "dim", "%d extents of a tensor of rank %d, want %d", got, rank, want)
	}
	missing := len(op.Desc.Dim) - int(rank)
	for i := range missing {
		if op.Desc.Dim[i] != 1 || op.Desc.Stride[i] != 0 {
			return nil, r.fail(at, descriptorTable, "dim", "axis %d has extent %d and stride %d, and a rank of %d "+
				"leaves 1 and 0", i, op.Desc.Dim[i], op.Desc.Stride[i], rank)
		}
	}
	op.Desc.Dim, op.Desc.Stride = op.Desc.Dim[missing:], op.Desc.Stride[missing:]
	dim, stride := op.Desc.axes()
	if got := named(d, ""); got != dim {
		return nil, r.fail(at, descriptorTable, "width", "named axes %d, but dim says %d", got, dim)
	}
	if got := named(d, "stride_"); got != stride {
		return nil, r.fail(at, descriptorTable, "stride_width", "strides of the named axes %d, but stride says %d", got,
			stride)
	}
	return op, nil
}

// named returns a number of each of the named axes.
func named(d flattable.Record, prefix string) (x [5]uint64) {
	for i, axis := range [...]string{"width", "height", "channels", "batch_number", "sequence_length"} {
		x[i] = d.Number(prefix + axis)
	}
	return x
}

// fill sets the fields of a struct that has the fields of its table: numbers, texts and vectors of them, which the
// verifier has checked.
func fill(r flattable.Record, p any) { _ = (*flattable.Strings)(nil).Fill(r, p) }
