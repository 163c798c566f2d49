package compare

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/node"
)

// apart are the keys of values that are not compared: those that follow from sizes and order, or from the bytes of
// another file, and lists of parts that are records of their own. A record's own name is in its key.
var apart = []string{
	"addr", "offset", "vmaddr", "fileoff", "entry", "aperture_va", "symbol_index", "anehash", "anehash_path",
	"program_symbol", "intermediate_buffer_handle", "procedure", "sections", "operands", "blocks",
}

// take adds the values of a node, those of its objects by both keys. Of the buffer-access registers, whose values are
// addresses, it adds which are set.
func (r *record) take(n *node.Node, within string) {
	for _, p := range n.Entries() {
		name, text := within+cmp.Or(p.Key, nameOf(p)), fmt.Sprint(p.Value)
		switch {
		case slices.Contains(apart, p.Key), name == "name":
		case p.Value == nil:
			r.take(p, name+" ")
		case within == "bars ":
			r.put(name, "set")
		case strings.Contains(text, "\n"):
			r.text = text
		default:
			r.put(name, text)
		}
	}
}

// nameOf returns the name of a node's object.
func nameOf(n *node.Node) string { return fmt.Sprint(n.Get("name").Value) }

// newRecord returns the record of a node's object, which came from statements.
func newRecord(key string, n *node.Node, names ...string) record {
	r := record{key: key, names: names}
	r.take(n, "")
	return r
}

// container compares the parts of the containers. It ignores addresses and file offsets, which follow from sizes and
// order, and the names of kernel tiles, which follow from their bytes.
func (p *pairing) container() ([]*Change, error) {
	a, err := p.a.parts(p.procedure)
	if err != nil {
		return nil, err
	}
	b, err := p.b.parts(func(n string) string { return n })
	return records(Container, a, b), err
}

// parts returns the parts of a container, with the names of procedures on side B.
func (s *Side) parts(procedure func(string) string) ([]record, error) {
	n, err := hwx.Describe(s.file)
	if err != nil {
		return nil, err
	}
	head := newRecord("header", n.Get("header"))
	head.put("banner", banner(s.file))
	out := []record{head}
	for _, c := range n.Get("commands").Parts {
		for _, p := range c.Entries() {
			switch name := nameOf(p); p.Key {
			case "program":
				r := newRecord("procedure "+procedure(name), p)
				r.put("name", name)
				out = append(out, r)
			case "tensor":
				of := procedure(fmt.Sprint(p.Get("procedure").Value))
				out = append(out, newRecord("tensor "+name+" of "+of, p, s.valueNames(name)...))
			case "port", "segment":
				out = append(out, newRecord(p.Key+" "+name, p, s.valueNames(name)...))
				for _, x := range p.Get("sections").Parts {
					out = append(out, newRecord("section "+name+","+nameOf(x), x))
				}
			}
		}
	}
	names := map[string]int{}
	for _, y := range s.file.Symbols() {
		names[tileless(y.Name)]++
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		value, _, _ := strings.Cut(n, ":")
		r := record{key: "symbol " + n, names: s.valueNames(value)}
		r.num("number", uint64(names[n]))
		out = append(out, r)
	}
	return out, nil
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
		out = append(out, newChange(Chain, Moved, "lines of the source", nil,
			diag.Count(n, "program for the CPU names", "programs for the CPU name")+" other lines and "+
				map[bool]string{true: "differs", false: "differ"}[n == 1]+" in nothing else"))
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
	n := e5.Describe(s.program)
	for _, kv := range n.Get("build_info").Parts {
		if key := fmt.Sprint(kv.Get("key").Value); key != e5.KeyInputFilePath { // the name of the source
			out = append(out, newRecord("build info "+key, kv))
		}
	}
	told := s.toldOperations()
	for _, f := range n.Get("functions").Parts {
		fn := nameOf(f)
		out = append(out, newRecord("function "+fn, f))
		for _, o := range f.Get("operands").Parts {
			out = append(out, newRecord("operand "+nameOf(o)+" of "+fn, o, qualified(sourceName(fn), nameOf(o))))
		}
		k := 0
		for _, b := range f.Get("blocks").Parts {
			for _, o := range b.Get("operations").Parts {
				key := fmt.Sprintf("%v giving %v of %s", o.Get("type").Value, o.Get("outputs").Value, fn)
				r := newRecord(key, o)
				if x := told[operationID{fn, k}]; x != nil {
					r.names = s.from(x.Node, x.With)
				}
				out = append(out, r)
				k++
			}
		}
	}
	for _, x := range n.Get("aliases").Parts {
		out = append(out, newRecord("alias "+nameOf(x), x))
	}
	return out
}

// digest returns the first half of a SHA-256, in hex.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:len(sum)/2])
}
