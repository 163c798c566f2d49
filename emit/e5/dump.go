package e5

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	tree "github.com/zinc-compiler/zinc/internal/node"
)

// shortBytes is the length of the longest byte array that is printed in full.
const shortBytes = 32

// summary replaces an array of bytes in the output.
type summary struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`
	Hex    string `json:"hex,omitempty"`
}

func summarise(b []byte) summary {
	if len(b) <= shortBytes {
		return summary{Bytes: len(b), Hex: hex.EncodeToString(b)}
	}
	h := sha256.Sum256(b)
	return summary{Bytes: len(b), SHA256: hex.EncodeToString(h[:])}
}

func (s summary) String() string {
	switch {
	case s.SHA256 != "":
		return fmt.Sprintf("%d bytes, sha256 %s", s.Bytes, s.SHA256)
	case s.Bytes > 0:
		return fmt.Sprintf("%d bytes, %s", s.Bytes, s.Hex)
	}
	return "0 bytes"
}

// MarshalJSON implements json.Marshaler: the fields, not String.
func (s summary) MarshalJSON() ([]byte, error) {
	type fields summary
	return json.Marshal(fields(s))
}

// operands are values of a function: in JSON by their indices, as String by their names.
type operands struct {
	f       *Function
	indices []uint32
}

func (o operands) String() string {
	var names []string
	for _, i := range o.indices {
		if int64(i) < int64(len(o.f.Operands)) {
			names = append(names, o.f.Operands[i].Name)
		}
	}
	return strings.Join(names, " ")
}

// MarshalJSON implements json.Marshaler.
func (o operands) MarshalJSON() ([]byte, error) {
	return json.Marshal(append([]uint32{}, o.indices...))
}

// Describe describes all of p, with keys as in the schema: a line for each operand and each operation, and under an
// operation a line for each of its attributes. Names of any content are quoted; arrays of more than 32 bytes are
// described as size and SHA-256.
func Describe(p *Program) *tree.Node {
	return p.head("e5", (*Function).describe).Add(p.aliases(), p.extra(), p.symbols())
}

// DescribeHeaders describes p's headers: version, build info, of each function the signature and how many operations it
// has, and the sections of no known kind.
func DescribeHeaders(p *Program) *tree.Node {
	return p.head("headers", (*Function).describeSignature).Add(p.extra())
}

// DescribeSymbols describes the symbols, and in text the aliases.
func DescribeSymbols(p *Program) *tree.Node {
	n := p.symbols()
	n.Key = "symbols"
	return n.Add(tree.Text("").Add(p.aliases()))
}

// head describes version, build info and functions.
func (p *Program) head(key string, function func(f *Function) *tree.Node) *tree.Node {
	info, functions := tree.List("build_info"), tree.List("functions")
	for _, kv := range p.BuildInfo {
		info.Add(tree.Row("", "build-info {key:q} = {value:q}\n", kv.Key, kv.Value))
	}
	for i := range p.Functions {
		functions.Add(function(&p.Functions[i]))
	}
	return tree.Row(key, "e5 format_version {format_version}\n", FormatVersion).Add(info, functions)
}

func (p *Program) extra() *tree.Node {
	n := tree.List("extra")
	for _, s := range p.Extra {
		n.Add(tree.Row("", "section {name:q} kind {kind}: {data}\n", s.Name, s.Kind, summarise(s.Data)))
	}
	return n
}

func (p *Program) aliases() *tree.Node {
	n := tree.List("aliases")
	for _, a := range p.Aliases {
		n.Add(tree.Row("", "alias {name:q} = symbol {symbol_index} {-symbol:q} + {addr_offset}\n", a.Name,
			a.SymbolIndex, p.symbol(a), a.AddrOffset))
	}
	return n
}

func (p *Program) symbols() *tree.Node {
	n := tree.List("symbol_names", tree.Text("symbols %d\n", len(p.Symbols)))
	for i, s := range p.Symbols {
		n.Add(tree.Row("", "  {-index} {:q}\n", i, s))
	}
	return n
}

func (f *Function) describeSignature() *tree.Node {
	operations, signature := 0, tree.List("signature")
	for k := range f.Blocks {
		operations += len(f.Blocks[k].Operations)
	}
	n := tree.Row("", "function {name:q}: {-operands} operands, {-operations} operations in {-blocks} blocks\n", f.Name,
		len(f.Operands), operations, len(f.Blocks))
	if f.AneHashPath != "" {
		n.Add(tree.Text("  anehash_path %q\n", f.AneHashPath))
	}
	for i, list := range [...][]uint32{f.Inputs, f.Outputs, f.States} {
		side := [...]string{"input", "output", "state"}[i]
		for _, k := range list {
			if int64(k) < int64(len(f.Operands)) { // a caller binds those with valid indices
				o := &f.Operands[k]
				signature.Add(tree.Row("", "  {side} {name:q} {layout}\n", side, o.Name, &o.Desc))
			}
		}
	}
	return n.Add(signature, tree.Row("", "{+operands}{+blocks}{+operations}", len(f.Operands), len(f.Blocks),
		operations))
}

func (f *Function) describe() *tree.Node {
	n := tree.Row("", "function {name:q}\n{+anehash_path}", f.Name, f.AneHashPath)
	n.AddIf(f.AneHashPath != "", tree.Text("  anehash_path %q\n", f.AneHashPath))
	n.Add(tree.Row("", "  inputs {-in} outputs {-out} states {-state}\n{+inputs}{+outputs}{+states}", f.Inputs,
		f.Outputs, f.States, operands{f, f.Inputs}, operands{f, f.Outputs}, operands{f, f.States}))
	values, blocks := tree.List("operands"), tree.List("blocks")
	for i := range f.Operands {
		values.Add(f.Operands[i].describe(i))
	}
	for _, b := range f.Blocks {
		operations := tree.List("operations")
		for i := range b.Operations {
			op := &b.Operations[i]
			operations.Add(tree.Row("", "    {name:q} {type} {-in} -> {-out}\n{+inputs}{+outputs}", op.Name, op.Type,
				op.Inputs, op.Outputs, operands{f, op.Inputs}, operands{f, op.Outputs}).Add(describeAttrs(op.Attrs)))
		}
		blocks.Add(tree.Row("", "  block {name:q}\n", b.Name).Add(operations))
	}
	return n.Add(values, blocks)
}

func (o *Operand) describe(i int) *tree.Node {
	d := &o.Desc
	n := tree.Row("", "  operand {-index} {name:q} {-layout}\n", i, o.Name, d)
	n.Add(tree.Row("descriptor", "{+dim}{+stride}{+storage_type}{+component_pack}", append([]uint64{}, d.Dim...),
		append([]uint64{}, d.Stride...), d.Storage, d.ComponentPack))
	if dim, stride := d.vectors(); len(dim) > len(d.Dim) {
		n.Add(tree.Text("    dim %s stride %d\n", extents(dim), stride))
	}
	return n.Add(tree.Row("", "    {aperture} ", o.Aperture), tree.Row("port", "{name:q}, {byte_size} bytes at "+
		"0x{aperture_va:x}\n", o.Port.Name, o.Port.ByteSize, o.Port.ApertureVA))
}

// describeAttrs describes the fields of any attributes, in the order of their declaration.
func describeAttrs(a Attrs) *tree.Node {
	v := reflect.ValueOf(a)
	if !v.IsValid() || v.IsNil() {
		return tree.Value("attrs", nil)
	}
	n := tree.Object("attrs")
	v = v.Elem()
	for i := range v.NumField() {
		name := snake(v.Type().Field(i).Name)
		row := func(format string, x any) { n.Add(tree.Row("", "      "+format+"\n", name, x), tree.Value(name, x)) }
		switch x := v.Field(i).Interface().(type) {
		case string:
			if !strings.Contains(x, "\n") {
				row("{-field} {-value:q}", x)
				continue
			}
			n.Add(tree.Text("      %s\n", name), tree.Value(name, x))
			for l := range strings.Lines(x) { // unchanged
				n.Add(tree.Row("", "        {-line}\n", printable(strings.TrimSuffix(l, "\n"))))
			}
		case []byte:
			row("{-field} {-value}", summarise(x))
		case []Constant:
			list := tree.List(name)
			for _, c := range x {
				list.Add(tree.Row("", "      constant {name:q}: {data}\n", c.Name, summarise(c.Data)))
			}
			n.Add(list)
		default:
			row("{-field} {-value}", x)
		}
	}
	return n
}

// printable quotes a line that a terminal would not simply display.
func printable(s string) string {
	for _, r := range s {
		if r != '\t' && !unicode.IsPrint(r) {
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}

// extents prints extents, with ? for one that is known only at run time.
func extents(dim []uint64) string {
	return strings.ReplaceAll(fmt.Sprint(dim), strconv.FormatUint(UnknownDim, 10), "?")
}

// String prints a layout: "fp16[1 64] strides [128 2]".
func (d *TensorDescriptor) String() string {
	s := fmt.Sprintf("%s%s strides %d", d.Storage, extents(d.Dim), d.Stride)
	if d.ComponentPack > 1 {
		s += fmt.Sprintf(" pack %d", d.ComponentPack)
	}
	return s
}

// schemaNames are the attributes whose schema name differs from snake's result.
var schemaNames = map[string]string{"SrcDType": "src_dtype", "DstDType": "dst_dtype", "AneHash": "anehash"}

// snake converts the name of a Go field to the schema's name.
func snake(s string) string {
	if n, ok := schemaNames[s]; ok {
		return n
	}
	var b strings.Builder
	for i, r := range s {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
