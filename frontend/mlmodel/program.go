package mlmodel

import (
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// programVersion is the version of a MILSpec.Program.
const programVersion = 1

// Versions of texts. Apple's model compilers up to version 3500 wrote the first for iOS 15 to 17, those from 3520 on
// the second, and every one that is known wrote the second for iOS 18.
const (
	oldText     = "1.0"
	newText     = "1.3"
	newCompiler = 3520
	newOpset    = 18
)

// textVersion returns the version of the text of a program: by the model compiler that its build information names, and
// by the operation sets of its functions.
func (d *decoder) textVersion(p *mil.Program, funcs map[string]span) (string, error) {
	by, _ := p.BuildInfo("coremlc-version")
	major, _, _ := strings.Cut(by, ".")
	if n, err := strconv.Atoi(major); err == nil && n >= newCompiler {
		return newText, nil
	}
	version := oldText
	for _, f := range funcs {
		err := d.each(f, functionSchema, func(r *reader) error {
			if r.name == "opset" && ir.OpsetNumber(opsets[r.text()]) >= newOpset {
				version = newText
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return version, nil
}

// program reads a MILSpec.Program, and the order of its functions' inputs. about has the flexible shapes.
func (d *decoder) program(m span, about *metadata.Model) (*mil.Program, map[string][]string, error) {
	p := &mil.Program{}
	order := map[string][]string{}
	funcs := map[string]span{}
	attrs := map[string]span{}
	err := d.each(m, programSchema, func(r *reader) error {
		switch r.name {
		case "version":
			if r.n != programVersion {
				return r.fail("unknown program version %d, want %d", int64(r.n), programVersion)
			}
		case "functions":
			return r.collect(funcs)
		case "attributes":
			return r.collect(attrs)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if len(funcs) == 0 {
		return nil, nil, d.errorf(m.at, "the program lacks a function")
	}
	if p.Attrs, err = d.attributes(attrs); err != nil {
		return nil, nil, err
	}
	if p.Version, err = d.textVersion(p, funcs); err != nil {
		return nil, nil, err
	}
	if d.bare = p.Version == newText; d.bare {
		if p.Attrs, err = d.attributes(attrs); err != nil { // with the other types of scalars
			return nil, nil, err
		}
	}
	for _, a := range p.Attrs {
		sortDict(a.Value)
	}
	return p, order, d.sorted("functions", funcs, func(name string, body span) error {
		f, inputs, err := d.function(name, body, about)
		p.Funcs = append(p.Funcs, f)
		order[name] = inputs
		return err
	})
}

// collect adds the current field, an entry of a map from strings, to m.
func (r *reader) collect(m map[string]span) error {
	key, value, ok := r.entry()
	if !ok {
		return r.err
	}
	if !isName(key) {
		return r.fail("the key %s is not an identifier", shown(key))
	}
	if _, twice := m[key]; twice {
		return r.fail("duplicate %s", key)
	}
	m[key] = value
	return nil
}

// sortDict orders the entries of a dictionary of attributes, which have no order
// in the file, by their keys as text.
func sortDict(v mil.Value) {
	dict, ok := v.(*mil.Dict)
	if !ok {
		return
	}
	key := func(e mil.Entry) string {
		if l, ok := e.Key.(*mil.Literal); ok {
			s, _ := l.Text()
			return s
		}
		return ""
	}
	sort.SliceStable(dict.Entries, func(i, j int) bool { return key(dict.Entries[i]) < key(dict.Entries[j]) })
}

// isName reports whether s is allowed as a name in MIL text: letters, digits and "_./@", not beginning with a digit or
// a mark, and without "//" and "/*".
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '.' || c == '/' || c == '@')) {
			return false
		}
	}
	return s != "" && !strings.Contains(s, "//")
}

// identifier returns the current field, which must be an identifier.
func (r *reader) identifier() (string, error) {
	s := r.text()
	if !isName(s) {
		return "", r.fail("%s is not an identifier", shown(s))
	}
	return s, nil
}

// function reads a MILSpec.Function. The block of its operation set is its body; others are skipped. inputs are in
// the order of the file.
func (d *decoder) function(name string, m span, about *metadata.Model) (f *mil.Func, inputs []string, err error) {
	f = &mil.Func{Name: name}
	blocks := map[string]span{}
	attrs := map[string]span{}
	opset := ""
	err = d.each(m, functionSchema, func(r *reader) error {
		switch r.name {
		case "inputs":
			return d.namedType(r, &f.Params)
		case "opset":
			opset = r.text()
		case "block_specializations":
			return r.collect(blocks)
		case "attributes":
			return r.collect(attrs)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if f.Opset = opsets[opset]; f.Opset == "" {
		return nil, nil, d.errorf(m.at, "unknown operation set %s; want one of %s", shown(opset),
			strings.Join(slices.Sorted(maps.Keys(opsets)), ", "))
	}
	body, ok := blocks[opset]
	if !ok {
		return nil, nil, d.errorf(m.at, "no block for operation set %s, only for %q", opset,
			slices.Sorted(maps.Keys(blocks)))
	}
	for i := range f.Params {
		inputs = append(inputs, f.Params[i].Name)
	}
	sort.SliceStable(f.Params, func(i, j int) bool { return f.Params[i].Name < f.Params[j].Name })
	if f.Attrs, err = d.attributes(attrs); err != nil {
		return nil, nil, err
	}
	err = d.in(keyed("block_specializations", opset), body.at, func() (err error) {
		f.Body, err = d.block(body)
		if err == nil && len(f.Body.Params) > 0 {
			err = d.errorf(body.at, "the block of a function has %d inputs; only nested blocks may have inputs",
				len(f.Body.Params))
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if mil.FindArg(f.Attrs, unbuild.FlexAttr) == nil {
		desc := about.Func(name)
		a, err := d.flexible(m.at, f, desc)
		if err != nil {
			return nil, nil, err
		}
		if a != nil {
			f.Attrs = append(f.Attrs, *a)
		}
	}
	return f, inputs, nil
}

// attributes converts a map of values, sorted by name.
func (d *decoder) attributes(m map[string]span) (out []mil.Arg, err error) {
	err = d.sorted("attributes", m, func(name string, m span) error {
		v, err := d.value(m, true)
		out = append(out, mil.Arg{Name: name, Value: v})
		return err
	})
	return out, err
}

// namedType adds the current field, a NamedValueType, to ps.
func (d *decoder) namedType(r *reader, ps *[]mil.Param) error {
	return element(r, ps, func(m span) (p mil.Param, err error) {
		err = d.each(m, namedTypeSchema, func(r *reader) (err error) {
			if r.name == "name" {
				p.Name, err = r.identifier()
				return err
			}
			return d.in(one(r.name), r.at, func() (err error) { p.Type, err = d.valueType(r.data); return err })
		})
		if err == nil && (p.Name == "" || p.Type == nil) {
			err = d.errorf(r.at, "want a name and a type, got the name %s", shown(p.Name))
		}
		return p, err
	})
}

// block reads a MILSpec.Block.
func (d *decoder) block(m span) (*mil.Block, error) {
	b := &mil.Block{}
	err := d.each(m, blockSchema, func(r *reader) (err error) {
		switch r.name {
		case "inputs":
			err = d.namedType(r, &b.Params)
		case "outputs":
			var name string
			name, err = r.identifier()
			b.Outputs = append(b.Outputs, mil.Ref{Name: name})
		case "operations":
			err = element(r, &b.Stmts, d.operation)
		}
		return err
	})
	return b, err
}

// operation reads a MILSpec.Operation.
func (d *decoder) operation(m span) (*mil.Stmt, error) {
	s := &mil.Stmt{}
	inputs := map[string]span{}
	attrs := map[string]span{}
	err := d.each(m, operationSchema, func(r *reader) (err error) {
		switch r.name {
		case "type":
			s.Op, err = r.identifier()
		case "inputs":
			err = r.collect(inputs)
		case "outputs":
			err = d.namedType(r, &s.Results)
		case "blocks":
			err = element(r, &s.Blocks, d.block)
		case "attributes":
			err = r.collect(attrs)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.Op == "" {
		return nil, d.errorf(m.at, "the operation lacks a type")
	}
	err = d.sorted("inputs", inputs, func(name string, m span) error {
		v, err := d.argument(m)
		s.Args = append(s.Args, mil.Arg{Name: name, Value: v})
		return err
	})
	if err != nil {
		return nil, err
	}
	s.Attrs, err = d.attributes(attrs)
	return s, err
}

// argument reads an Argument: one value unchanged, several as a tuple.
func (d *decoder) argument(m span) (mil.Value, error) {
	var vs []mil.Value
	err := d.each(m, argumentSchema, func(r *reader) error {
		return element(r, &vs, func(m span) (v mil.Value, err error) {
			err = d.each(m, bindingSchema, func(r *reader) error {
				if r.name == "name" {
					name, err := r.identifier()
					v = &mil.Ref{Name: name}
					return err
				}
				return d.in(one(r.name), r.at, func() (err error) { v, err = d.value(r.data, true); return err })
			})
			if err == nil && v == nil {
				err = d.errorf(r.at, "the argument is neither a name nor a value")
			}
			return v, err
		})
	})
	if err != nil {
		return nil, err
	}
	if len(vs) == 1 {
		return vs[0], nil
	}
	return &mil.Tuple{Elems: vs}, nil
}
