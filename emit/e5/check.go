package e5

import (
	"fmt"
	"math/bits"
	"reflect"
)

// fault is a broken rule of the model. Its indices say where; -1 means that the fault is not inside such a part.
type fault struct {
	fn, block, op, operand, alias int
	// table and field name the position in the schema.
	table, field string
	msg          string
}

// modelError adds the model's names to the fault.
func (f *fault) modelError(p *Program) *ModelError {
	path := ""
	add := func(what, name string) {
		if path != "" {
			path += ": "
		}
		path += fmt.Sprintf("%s %.80q", what, name)
	}
	if f.alias >= 0 {
		add("alias", p.Aliases[f.alias].Name)
	}
	if f.fn >= 0 {
		fn := &p.Functions[f.fn]
		add("function", fn.Name)
		if f.block >= 0 {
			b := &fn.Blocks[f.block]
			add("block", b.Name)
			if f.op >= 0 {
				add("operation", b.Operations[f.op].Name)
			}
		}
		if f.operand >= 0 {
			add("operand", fn.Operands[f.operand].Name)
		}
	}
	return &ModelError{Path: path, Msg: f.table + "." + f.field + ": " + f.msg}
}

// check returns the first broken rule of p, or nil. Write applies it to its argument, Read to its result.
func (p *Program) check() *fault {
	for i := range p.Functions {
		if f := p.Functions[i].check(); f != nil {
			f.fn, f.alias = i, -1
			return f
		}
	}
	symbols := len(p.Symbols)
	if p.Symbols == nil && len(p.Aliases) > 0 {
		symbols = len(p.DeriveSymbols())
	}
	for i := range p.Aliases {
		f := &fault{fn: -1, block: -1, op: -1, operand: -1, alias: i, table: aliasTable.Name}
		a := &p.Aliases[i]
		if f.field, f.msg = "name", badName(a.Name); f.msg != "" {
			return f
		}
		if int64(a.SymbolIndex) >= int64(symbols) {
			f.field, f.msg = "symbol_index", fmt.Sprintf("%d, but there are %d symbols", a.SymbolIndex, symbols)
			return f
		}
	}
	for i := range p.Extra {
		if k := p.Extra[i].Kind; k >= kindFunction && k <= kindConstant {
			return &fault{fn: -1, block: -1, op: -1, operand: -1, alias: -1, table: sectionTable.Name, field: "kind",
				msg: fmt.Sprintf("extra section %.80q has the known kind %d", p.Extra[i].Name,
					k)}
		}
	}
	return nil
}

func badName(s string) string {
	switch {
	case s == "":
		return "name is empty"
	case len(s) > maxName:
		return fmt.Sprintf("name of %d bytes, limit %d", len(s), maxName)
	}
	return ""
}

func (fn *Function) check() *fault {
	f := &fault{block: -1, op: -1, operand: -1, table: functionTable.Name}
	if f.field, f.msg = "name", badName(fn.Name); f.msg != "" {
		return f
	}
	for i := range fn.Operands {
		if field, msg := fn.Operands[i].check(); msg != "" {
			f.operand, f.table, f.field, f.msg = i, operandTable.Name, field, msg
			return f
		}
	}
	if s := fn.checkSignature(); s != nil {
		return s
	}
	// filled says which operands have a value before the operation runs.
	filled := make([]bool, len(fn.Operands))
	for i := range fn.Operands {
		a := fn.Operands[i].Aperture
		filled[i] = a == HostInput || a == HostState
	}
	for bi := range fn.Blocks {
		b := &fn.Blocks[bi]
		f.block = bi
		if f.table, f.field, f.msg = blockTable.Name, "name", badName(b.Name); f.msg != "" {
			return f
		}
		for oi := range b.Operations {
			f.op = oi
			f.table = operationTable.Name
			if f.field, f.msg = b.Operations[oi].check(fn.Operands, filled); f.msg != "" {
				return f
			}
		}
		f.op = -1
	}
	return nil
}

// checkSignature compares the signature with the apertures of the operands.
func (fn *Function) checkSignature() *fault {
	f := &fault{block: -1, op: -1, operand: -1, table: functionTable.Name}
	for _, side := range []struct {
		field   string
		indices []uint32
		want    Aperture
	}{{"inputs", fn.Inputs, HostInput}, {"outputs", fn.Outputs, HostOutput}, {"states", fn.States, HostState}} {
		f.field = side.field
		seen := map[string]bool{}
		for i, k := range side.indices {
			if int64(k) >= int64(len(fn.Operands)) {
				f.msg = fmt.Sprintf("entry %d is operand %d, but there are %d", i, k, len(fn.Operands))
				return f
			}
			o := &fn.Operands[k]
			if o.Aperture != side.want {
				f.operand, f.msg = int(k), fmt.Sprintf("entry %d has aperture %s, must be %s", i, o.Aperture, side.want)
				return f
			}
			if seen[o.Port.Name] {
				f.operand, f.msg = int(k), fmt.Sprintf("port %.80q is listed twice", o.Port.Name)
				return f
			}
			seen[o.Port.Name] = true
		}
		for k := range fn.Operands {
			if o := &fn.Operands[k]; o.Aperture == side.want && !seen[o.Port.Name] {
				f.operand, f.msg = k, fmt.Sprintf("do not list port %.80q of a %s operand", o.Port.Name, o.Aperture)
				return f
			}
		}
	}
	return nil
}

// check returns the field and its error.
func (o *Operand) check() (field, msg string) {
	if !o.Aperture.Valid() {
		return "aperture", fmt.Sprintf("unknown aperture %d", uint8(o.Aperture))
	}
	end, err := o.Desc.Extent()
	if err != nil {
		return "descriptor", err.Error()
	}
	if o.Desc.Unknown() {
		switch {
		case o.Aperture == Surface || o.Aperture == HostState:
			return "descriptor", fmt.Sprintf("an extent is unknown, which is not allowed for a %s operand", o.Aperture)
		case o.Port.ByteSize != 0:
			return "port", fmt.Sprintf("buffer of %d bytes for a tensor with unknown extents, must be 0",
				o.Port.ByteSize)
		}
		return "", ""
	}
	if end > o.Port.ByteSize {
		return "port", fmt.Sprintf("buffer of %d bytes, but the layout reaches byte %d", o.Port.ByteSize, end)
	}
	// Strides of zero, or strides with which elements overlap, would let a few bytes represent any number of elements.
	n, ok := o.Desc.elements()
	width := o.Desc.Storage.Bits()
	if width == 0 {
		width = 8 // a string takes a byte at least
	}
	if hi, lo := bits.Mul64(n, uint64(width)); !ok || hi != 0 || lo/8 > o.Port.ByteSize {
		return "port", fmt.Sprintf("%d elements of %s do not fit %d bytes", n, o.Desc.Storage, o.Port.ByteSize)
	}
	return "", ""
}

// check returns the field and its error, and marks the operands that op fills.
func (op *Operation) check(operands []Operand, filled []bool) (field, msg string) {
	if msg := badName(op.Name); msg != "" {
		return "name", msg
	}
	if !op.Type.Valid() {
		return "op_type", fmt.Sprintf("%d, limit %d", uint8(op.Type), uint8(JitCall))
	}
	for i, k := range op.Inputs {
		if int64(k) >= int64(len(operands)) {
			return "inputs", fmt.Sprintf("input %d is operand %d, but there are %d", i, k, len(operands))
		}
		if !filled[k] {
			return "inputs", fmt.Sprintf("input %d is operand %d (%.80q), which is not filled yet", i, k,
				operands[k].Name)
		}
	}
	for i, k := range op.Outputs {
		if int64(k) >= int64(len(operands)) {
			return "outputs", fmt.Sprintf("output %d is operand %d, but there are %d", i, k, len(operands))
		}
		if operands[k].Aperture == HostInput {
			return "outputs", fmt.Sprintf("output %d is operand %d (%.80q), an input of the model", i, k,
				operands[k].Name)
		}
		filled[k] = true
	}
	if msg := op.checkAttrs(operands); msg != "" {
		return "attrs_section", msg
	}
	return "", ""
}

// checkAttrs checks the attributes against the operands, whose indices are valid.
func (op *Operation) checkAttrs(operands []Operand) string {
	if op.Attrs == nil || reflect.ValueOf(op.Attrs).IsNil() {
		return "no attributes"
	}
	if t := op.Attrs.OpType(); t != op.Type {
		return fmt.Sprintf("attributes of a %s in a %s", t, op.Type)
	}
	pick := func(indices []uint32) []*Operand {
		o := make([]*Operand, len(indices))
		for i, k := range indices {
			o[i] = &operands[k]
		}
		return o
	}
	return op.Attrs.check(pick(op.Inputs), pick(op.Outputs))
}
