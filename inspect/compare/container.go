package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// container compares the parts of the containers. It ignores addresses and file offsets, which follow from sizes and
// order, and the names of kernel tiles, which follow from their bytes.
func (p *pairing) container() ([]*Change, error) {
	return records(Container, p.a.parts(p.procedure), p.b.parts(func(n string) string { return n })), nil
}

// parts returns the parts of a container, with the names of procedures on side B.
func (s *Side) parts(procedure func(string) string) (out []record) {
	f := s.file
	head := record{key: "header"}
	head.num("CPU type", uint64(f.Header.CPUType))
	head.num("CPU subtype", uint64(f.Header.CPUSubtype))
	head.num("file type", uint64(f.Header.FileType))
	head.num("flags", uint64(f.Header.Flags))
	head.put("banner", banner(f))
	out = append(out, head)
	for _, g := range f.Segments() {
		r := record{key: "segment " + g.Name.String()}
		r.num("file bytes", g.FileSize)
		if g.FileSize == 0 {
			r.num("address bytes", g.VMSize)
		}
		r.num("flags", uint64(g.Flags))
		r.num("protection", uint64(g.InitProt))
		out = append(out, r)
		for _, x := range g.Sections {
			r := record{key: "section " + g.Name.String() + "," + x.Name.String()}
			r.num("bytes", x.Size)
			r.num("flags", uint64(x.Flags))
			r.num("relocations", uint64(len(x.Relocs)))
			out = append(out, r)
		}
	}
	for _, x := range f.Ports() {
		out = append(out, record{key: "port " + x.Name, names: s.valueNames(x.Name)})
	}
	for _, t := range f.Tensors() {
		r := record{key: "tensor " + t.Name + " of " + procedure(t.Procedure), names: s.valueNames(t.Name)}
		r.put("binding", map[uint32]string{hwx.BindInput: "input", hwx.BindOutput: "output"}[t.Binding])
		r.num("element", uint64(t.Element))
		r.put("dimensions", fmt.Sprint(t.Dims))
		r.put("strides", fmt.Sprint(t.Strides))
		r.num("span", t.Span)
		out = append(out, r)
	}
	for _, x := range f.Procedures() {
		r := record{key: "procedure " + procedure(x.Name)}
		r.put("name", x.Name)
		r.num("tasks", uint64(x.Tasks))
		r.num("words of the first task", uint64(x.FirstWords))
		var bars []string
		for i := range hwx.Bars {
			if x.Bars[i] != 0 {
				bars = append(bars, strconv.Itoa(i))
			}
		}
		r.put("buffer-access registers", strings.Join(bars, " "))
		out = append(out, r)
	}
	names := map[string]int{}
	for _, y := range f.Symbols() {
		names[tileless(y.Name)]++
	}
	keys := slices.Sorted(maps.Keys(names))
	for _, n := range keys {
		value, _, _ := strings.Cut(n, ":")
		r := record{key: "symbol " + n, names: s.valueNames(value)}
		r.num("number", uint64(names[n]))
		out = append(out, r)
	}
	return out
}

// valueNames returns the values of the model's functions that a name may represent.
func (s *Side) valueNames(name string) []string {
	if s.values == nil && s.text != nil {
		s.values = map[string][]string{}
		for _, f := range s.text.Funcs {
			s.declare(f.Name, f.Params)
			s.declareIn(f.Name, f.Body)
		}
	}
	return s.values[name]
}

// declareIn records the values of a block.
func (s *Side) declareIn(fn string, b *mil.Block) {
	if b == nil {
		return
	}
	s.declare(fn, b.Params)
	for _, st := range b.Stmts {
		s.declare(fn, st.Results)
		for _, inner := range st.Blocks {
			s.declareIn(fn, inner)
		}
	}
}

func (s *Side) declare(fn string, ps []mil.Param) {
	for _, p := range ps {
		q := qualified(fn, p.Name)
		if had := s.values[p.Name]; len(had) == 0 || had[len(had)-1] != q {
			s.values[p.Name] = append(had, q)
		}
	}
}

// banner returns the build banner without the name of the source.
func banner(f *hwx.File) string {
	words := strings.Fields(f.Banner())
	if i := slices.Index(words, "-i"); i >= 0 {
		words = slices.Delete(words, i, min(i+2, len(words)))
	}
	return strings.Join(words, " ")
}

// tileless leaves hash and lane out of a kernel tile's name, K<SHA-256>_ne_<lane>: all tiles are one record.
func tileless(name string) string {
	const digits = 64
	if len(name) > digits+1 && name[0] == 'K' && strings.HasPrefix(name[digits+1:], "_ne_") {
		return "of kernel tiles"
	}
	return name
}

// chain compares the descriptors. An operation is identified by its kind and results, not by its number. The hash of
// the container is omitted, since it follows from its bytes.
func (p *pairing) chain() ([]*Change, error) {
	out := records(Chain, p.a.steps(), p.b.steps())
	return linesMoved(out), nil
}

// otherLines is the detail of a CPU program that differs only in source lines.
const otherLines = "program: other lines of the source"

// linesMoved merges the programs that differ only in source lines into one change.
func linesMoved(all []*Change) (out []*Change) {
	n := 0
	for _, c := range all {
		if len(c.Details) == 1 && c.Details[0] == otherLines {
			n++
			continue
		}
		out = append(out, c)
	}
	if n > 0 {
		out = append(out, &Change{Level: Chain, Kind: Moved, Subject: "lines of the source", Details: []string{
			diag.Count(n, "program for the CPU names", "programs for the CPU name") + " other lines and " +
				map[bool]string{true: "differs", false: "differ"}[n == 1] + " in nothing else",
		}})
	}
	return out
}

// programText compares two programs for the CPU line by line, without the positions in
// the source.
func programText(a, b string) (out []string) {
	if a == b {
		return nil
	}
	bag := func(text string) (lines []string, index map[string]int) {
		index = map[string]int{}
		for l := range strings.Lines(text) {
			l = string(placeless([]byte(strings.TrimRight(l, "\n"))))
			lines = append(lines, l)
			index[l]++
		}
		return lines, index
	}
	x, left := bag(a)
	y, right := bag(b)
	n := 0
	add := func(mark string, lines []string, other map[string]int) {
		for _, l := range lines {
			if other[l] > 0 {
				other[l]--
				continue
			}
			if n++; n <= 2*maxLines {
				out = append(out, mark+lineText(l))
			}
		}
	}
	add("- ", x, right)
	add("+ ", y, left)
	switch {
	case n > 2*maxLines:
		out = append(out, fmt.Sprintf("and %d lines more", n-2*maxLines))
	case n == 0 && slices.Equal(x, y):
		out = []string{otherLines}
	case n == 0:
		out = []string{"program: the same lines in another order"}
	}
	return out
}

// operationID identifies an operation of the descriptor by its function and its number there.
type operationID struct {
	fn    string
	index int
}

// toldOperations returns what the debug database knows of the operations, nothing without one.
func (s *Side) toldOperations() map[operationID]*provenance.Operation {
	m := map[operationID]*provenance.Operation{}
	if s.told != nil {
		for i := range s.told.Operations {
			x := &s.told.Operations[i]
			m[operationID{x.Func, int(x.Index)}] = x
		}
	}
	return m
}

func (s *Side) steps() (out []record) {
	for _, kv := range s.program.BuildInfo {
		if kv.Key == e5.KeyInputFilePath {
			continue // the name of the source
		}
		r := record{key: "build info " + kv.Key}
		r.put("value", kv.Value)
		out = append(out, r)
	}
	told := s.toldOperations()
	for i := range s.program.Functions {
		f := &s.program.Functions[i]
		head := record{key: "function " + f.Name}
		name := func(ids []uint32) string {
			var ns []string
			for _, x := range ids {
				ns = append(ns, f.Operands[x].Name)
			}
			return strings.Join(ns, " ")
		}
		head.put("inputs", name(f.Inputs))
		head.put("outputs", name(f.Outputs))
		head.put("states", name(f.States))
		out = append(out, head)
		for k := range f.Operands {
			o := &f.Operands[k]
			r := record{
				key:   "operand " + o.Name + " of " + f.Name,
				names: []string{qualified(sourceName(f.Name), o.Name)},
			}
			r.put("layout", o.Desc.String())
			r.put("aperture", o.Aperture.String())
			r.put("port", o.Port.Name)
			r.num("bytes", o.Port.ByteSize)
			out = append(out, r)
		}
		n := 0
		for b := range f.Blocks {
			for k := range f.Blocks[b].Operations {
				o := &f.Blocks[b].Operations[k]
				r := record{key: o.Type.String() + " giving " + name(o.Outputs) + " of " + f.Name}
				r.put("inputs", name(o.Inputs))
				parameters(&r, o.Attrs)
				if x := told[operationID{f.Name, n}]; x != nil {
					r.names = s.from(x.Node, x.With)
				}
				out = append(out, r)
				n++
			}
		}
	}
	for _, x := range s.program.Aliases {
		out = append(out, record{key: "alias " + x.Name})
	}
	return out
}

// parameters lists the attributes of an operation of the chain.
func parameters(r *record, a e5.Attrs) {
	switch a := a.(type) {
	case *e5.AneInferenceAttrs:
		r.put("procedure", a.ProcedureName)
		r.put("options", a.CompilerOptions)
	case *e5.CpuInferenceAttrs:
		r.put("entry", a.Entry)
		r.text = a.Program
		for i := range a.Constants {
			r.put("constant "+a.Constants[i].Name, "SHA-256 "+digest(a.Constants[i].Data))
		}
	case *e5.CastAttrs:
		r.put("from", a.SrcDType.String())
		r.put("to", a.DstDType.String())
		r.put("component pack", strconv.Itoa(int(a.ComponentPack)))
	default:
		r.put("parameters", brief(fmt.Sprintf("%+v", a)))
	}
}

// digest returns the first half of a SHA-256, in hex.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:len(sum)/2])
}
