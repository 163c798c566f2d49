package mlmodel

import (
	"maps"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// An encoder writes a specification, and collects what the format cannot represent.
type encoder struct {
	writer
	model *Model
	list  diag.List
}

// codeSpec is the code of diagnostics about what a specification cannot represent.
const codeSpec = "specification"

// Encode writes the specification of a model with a program, with m.Description or, if that is nil, a description
// from m.Metadata. Decoding the bytes returns an equal model, and equal models have equal bytes. What a specification
// cannot represent is an error, of a program with diagnostics (diag.AsList).
func Encode(m *Model) ([]byte, error) {
	if m.Description == nil {
		if err := describable(m.Metadata); err != nil {
			return nil, err
		}
	}
	e := &encoder{model: m}
	e.number(modelSchema, "specificationVersion", uint64(m.Metadata.SpecificationVersion))
	e.message(modelSchema, "description", func() {
		if m.Description != nil {
			e.b = append(e.b, m.Description...)
		} else {
			e.description(m.Metadata)
		}
	})
	e.message(modelSchema, ProgramForm, e.program)
	if e.list.HasErrors() {
		e.list.Sort()
		return nil, e.list.Err()
	}
	return e.b, nil
}

// fail reports what is at a place of the text.
func (e *encoder) fail(pos, end diag.Pos, op, format string, args ...any) {
	e.list.Errorf(e.model.Program.Span(pos, end), codeSpec, op, format, args...)
}

// opsetNames maps the names of operation sets in MIL text to those in specifications.
var opsetNames = func() map[string]string {
	m := map[string]string{}
	for name, text := range opsets {
		m[text] = name
	}
	return m
}()

// specVersions are the first versions of specifications that may have an operation set.
var specVersions = map[string]int64{"ios15": 6, "ios16": 7, "ios17": 8, "ios18": 9, "ios26": 10}

// SpecificationVersion returns the lowest version of a specification that may have the operation sets of p.
func SpecificationVersion(p *mil.Program) int64 {
	version := specVersions["ios15"]
	for _, f := range p.Funcs {
		version = max(version, specVersions[f.Opset])
	}
	return version
}

func (e *encoder) program() {
	e.number(programSchema, "version", programVersion)
	funcs := map[string]*mil.Func{}
	for _, f := range e.model.Program.Funcs {
		funcs[f.Name] = f
	}
	entries(&e.writer, programSchema, "functions", funcs, e.function)
	e.attributes(programSchema, "", e.model.Program.Attrs)
}

func (e *encoder) function(f *mil.Func) {
	for _, p := range e.model.Ordered(f) {
		e.declared(functionSchema, "inputs", &p)
	}
	opset := opsetNames[f.Opset]
	if opset == "" {
		e.fail(f.NamePos, f.NamePos, "", "function %s has operation set %q; a specification has one of %q", f.Name,
			f.Opset, slices.Sorted(maps.Keys(opsetNames)))
	}
	e.text(functionSchema, "opset", opset)
	entries(&e.writer, functionSchema, "block_specializations", map[string]*mil.Block{opset: f.Body},
		func(b *mil.Block) { e.block(b, f.Opset) })
	e.attributes(functionSchema, "", e.withoutShapes(f))
}

// withoutShapes returns the attributes of a function without the shapes of its inputs, if they are what the
// description says.
func (e *encoder) withoutShapes(f *mil.Func) []mil.Arg {
	i := slices.IndexFunc(f.Attrs, func(a mil.Arg) bool { return a.Name == unbuild.FlexAttr })
	if i < 0 {
		return f.Attrs
	}
	sorted := &mil.Func{Name: f.Name, Params: slices.Clone(f.Params)} // as a decoded one
	slices.SortStableFunc(sorted.Params, func(a, b mil.Param) int { return strings.Compare(a.Name, b.Name) })
	implied, err := new(decoder).flexible(0, sorted, e.model.Metadata.Func(f.Name))
	if err != nil || implied == nil || !mil.EqualValue(implied.Value, f.Attrs[i].Value) {
		return f.Attrs
	}
	return slices.Delete(slices.Clone(f.Attrs), i, i+1)
}

// Ordered returns the inputs of a function of the program in the order of its specification: as in Order or in the
// description, and inputs that are in neither at the end.
func (m *Model) Ordered(f *mil.Func) []mil.Param {
	names := m.Order[f.Name]
	if about := m.Metadata.Func(f.Name); names == nil && about != nil {
		for _, x := range slices.Concat(about.Inputs, about.States) {
			names = append(names, x.Name)
		}
	}
	place := make(map[string]int, len(names))
	for i, n := range names {
		place[n] = i - len(names)
	}
	ps := slices.Clone(f.Params)
	slices.SortStableFunc(ps, func(a, b mil.Param) int { return place[a.Name] - place[b.Name] })
	return ps
}

// declared writes a NamedValueType.
func (e *encoder) declared(s schema, name string, p *mil.Param) {
	e.message(s, name, func() {
		e.text(namedTypeSchema, "name", p.Name)
		e.message(namedTypeSchema, "type", func() { e.valueType(p.Type) })
	})
}

func (e *encoder) block(b *mil.Block, opset string) {
	for i := range b.Params {
		e.declared(blockSchema, "inputs", &b.Params[i])
	}
	for _, r := range b.Outputs {
		e.element(blockSchema, "outputs", r.Name)
	}
	for _, s := range b.Stmts {
		e.message(blockSchema, "operations", func() { e.operation(s, opset) })
	}
}

func (e *encoder) operation(s *mil.Stmt, opset string) {
	if s.OpOpset != "" && s.OpOpset != opset {
		e.fail(s.OpPos, s.OpPos, s.Op, "the operation is of operation set %s in a function of %s; a specification has "+
			"one for each function", s.OpOpset, opset)
	}
	e.text(operationSchema, "type", s.Op)
	args := map[string]mil.Value{}
	for _, a := range s.Args {
		args[a.Name] = a.Value
	}
	entries(&e.writer, operationSchema, "inputs", args, func(v mil.Value) { e.argument(s.Op, v) })
	for i := range s.Results {
		e.declared(operationSchema, "outputs", &s.Results[i])
	}
	for _, b := range s.Blocks {
		e.message(operationSchema, "blocks", func() { e.block(b, opset) })
	}
	e.attributes(operationSchema, s.Op, s.Attrs)
}

// argument writes an Argument: one binding for a value, several for a tuple without a type.
func (e *encoder) argument(op string, v mil.Value) {
	vs := []mil.Value{v}
	if t, ok := v.(*mil.Tuple); ok && t.Type == nil {
		vs = t.Elems
	}
	for _, v := range vs {
		e.message(argumentSchema, "arguments", func() {
			if r, ok := v.(*mil.Ref); ok {
				e.text(bindingSchema, "name", r.Name)
			} else {
				e.message(bindingSchema, "value", func() { e.value(op, v, nil) })
			}
		})
	}
}

// attributes writes the map that every kind of node calls attributes.
func (e *encoder) attributes(s schema, op string, as []mil.Arg) {
	m := map[string]mil.Value{}
	for _, a := range as {
		m[a.Name] = a.Value
	}
	entries(&e.writer, s, "attributes", m, func(v mil.Value) { e.value(op, v, nil) })
}

func (e *encoder) valueType(t *mil.Type) {
	switch t.Kind {
	case mil.ScalarType, mil.TensorType:
		e.message(valueTypeSchema, "tensorType", func() { e.tensorType(t) })
	case mil.ListType:
		e.message(valueTypeSchema, "listType", func() {
			e.message(listTypeSchema, "type", func() { e.valueType(t.Args[0]) })
			e.message(listTypeSchema, "length", func() { e.dimension(&t.Dims[0]) })
		})
	case mil.TupleType:
		e.message(valueTypeSchema, "tupleType", func() {
			for _, a := range t.Args {
				e.message(tupleTypeSchema, "types", func() { e.valueType(a) })
			}
		})
	case mil.DictType:
		e.message(valueTypeSchema, "dictionaryType", func() {
			e.message(dictTypeSchema, "keyType", func() { e.valueType(t.Args[0]) })
			e.message(dictTypeSchema, "valueType", func() { e.valueType(t.Args[1]) })
		})
	case mil.StateType:
		e.message(valueTypeSchema, "stateType", func() {
			e.message(stateTypeSchema, "wrappedType", func() { e.valueType(t.Args[0]) })
		})
	}
}

// dataTypeNumbers maps the names of element types in MIL text to MILSpec.DataType.
var dataTypeNumbers = inverse(dataTypes)

func (e *encoder) tensorType(t *mil.Type) {
	e.number(tensorTypeSchema, "dataType", dataTypeNumbers[t.Elem])
	rank := int64(len(t.Dims))
	if rank == 1 && t.Dims[0].Kind == mil.VariadicDim {
		rank = -1
	}
	e.number(tensorTypeSchema, "rank", uint64(rank))
	for i := range t.Dims {
		e.message(tensorTypeSchema, "dimensions", func() { e.dimension(&t.Dims[i]) })
	}
}

func (e *encoder) dimension(d *mil.Dim) {
	switch d.Kind {
	case mil.FixedDim:
		e.message(dimensionSchema, "constant", func() { e.number(constantSchema, "size", uint64(d.Size)) })
		return
	case mil.NamedDim:
		e.fail(d.Pos, d.Pos, "", "dimension %s has a name; a specification has only ? for one of unknown size", d.Name)
	}
	e.message(dimensionSchema, "unknown", func() {
		e.flag(unknownSchema, "variadic", d.Kind == mil.VariadicDim)
	})
}

// blobFile writes a BlobFileValue.
func (e *encoder) blobFile(v *mil.BlobRef) {
	e.text(blobFileSchema, "fileName", v.Path)
	e.number(blobFileSchema, "offset", v.Offset)
}
