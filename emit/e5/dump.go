package e5

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
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

// summaryKeys is a summary in JSON, by its keys.
type summaryKeys summary

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

// Dump prints p as text: a line for each operand and each operation, and under
// an operation a line for each of its attributes. Names of any content are
// quoted; arrays of more than 32 bytes are printed as size and SHA-256.
func Dump(w io.Writer, p *Program) error {
	d := &dumper{w: w}
	d.head(p)
	for i := range p.Functions {
		d.function(&p.Functions[i])
	}
	d.aliases(p)
	d.extra(p)
	d.symbols(p)
	return d.err
}

// DescribeHeaders describes p's headers: version, build info, of each function the signature and how many operations it
// has, and the sections of no known kind.
func DescribeHeaders(p *Program) *tree.Node {
	info, functions := tree.List("build_info"), tree.List("functions")
	for _, kv := range p.BuildInfo {
		info.Add(tree.Row("", "build-info {key:q} = {value:q}\n", kv.Key, kv.Value))
	}
	for i := range p.Functions {
		functions.Add(p.Functions[i].describe())
	}
	n := tree.Row("headers", "e5 format_version {format_version}\n", FormatVersion).Add(info, functions)
	for _, s := range p.Extra {
		n.Add(tree.Text("section %q kind %d: %s\n", s.Name, s.Kind, summarise(s.Data)))
	}
	return n
}

func (f *Function) describe() *tree.Node {
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

// DumpSymbols prints the symbols and aliases.
func DumpSymbols(w io.Writer, p *Program) error {
	d := &dumper{w: w}
	d.symbols(p)
	d.aliases(p)
	return d.err
}

func (d *dumper) head(p *Program) {
	d.line(0, "e5 format_version %d", FormatVersion)
	for _, kv := range p.BuildInfo {
		d.line(0, "build-info %q = %q", kv.Key, kv.Value)
	}
}

func (d *dumper) aliases(p *Program) {
	for _, a := range p.Aliases {
		d.line(0, "alias %q = symbol %d %q + %d", a.Name, a.SymbolIndex, p.symbol(a), a.AddrOffset)
	}
}

func (d *dumper) extra(p *Program) {
	for _, s := range p.Extra {
		d.line(0, "section %q kind %d: %s", s.Name, s.Kind, summarise(s.Data))
	}
}

func (d *dumper) symbols(p *Program) {
	d.line(0, "symbols %d", len(p.Symbols))
	for i, s := range p.Symbols {
		d.line(1, "%d %q", i, s)
	}
}

// dumper writes lines; the first error sticks.
type dumper struct {
	w   io.Writer
	err error
}

func (d *dumper) line(depth int, format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, strings.Repeat("  ", depth)+format+"\n", args...)
	}
}

func (d *dumper) function(f *Function) {
	d.line(0, "function %q", f.Name)
	if f.AneHashPath != "" {
		d.line(1, "anehash_path %q", f.AneHashPath)
	}
	d.line(1, "inputs %d outputs %d states %d", f.Inputs, f.Outputs, f.States)
	for i := range f.Operands {
		o := &f.Operands[i]
		d.line(1, "operand %d %q %s", i, o.Name, o.Desc.String())
		if dim, stride := o.Desc.vectors(); len(dim) > len(o.Desc.Dim) {
			d.line(2, "dim %s stride %d", extents(dim), stride)
		}
		d.line(2, "%s %q, %d bytes at 0x%x", o.Aperture, o.Port.Name, o.Port.ByteSize, o.Port.ApertureVA)
	}
	for _, b := range f.Blocks {
		d.line(1, "block %q", b.Name)
		for i := range b.Operations {
			op := &b.Operations[i]
			d.line(2, "%q %s %d -> %d", op.Name, op.Type, op.Inputs, op.Outputs)
			d.attrs(op.Attrs)
		}
	}
}

// attrs prints the fields of any attributes, in the order of their declaration.
func (d *dumper) attrs(a Attrs) {
	v := reflect.ValueOf(a)
	if !v.IsValid() || v.IsNil() {
		return
	}
	v = v.Elem()
	for i := range v.NumField() {
		name := snake(v.Type().Field(i).Name)
		switch x := v.Field(i).Interface().(type) {
		case string:
			d.text(name, x)
		case []byte:
			d.line(3, "%s %s", name, summarise(x))
		case []Constant:
			for _, c := range x {
				d.line(3, "constant %q: %s", c.Name, summarise(c.Data))
			}
		default:
			d.line(3, "%s %v", name, x)
		}
	}
}

// text prints a string; one of several lines unchanged.
func (d *dumper) text(name, s string) {
	if !strings.Contains(s, "\n") {
		d.line(3, "%s %q", name, s)
		return
	}
	d.line(3, "%s", name)
	for l := range strings.Lines(s) {
		d.line(4, "%s", printable(strings.TrimSuffix(l, "\n")))
	}
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

// schemaNames are the fields whose schema name differs from snake's result.
var schemaNames = map[string]string{
	"SrcDType": "src_dtype", "DstDType": "dst_dtype", "AneHash": "anehash", "AneHashPath": "anehash_path",
	"ApertureVA": "aperture_va", "Desc": "descriptor", "Storage": "storage_type", "Symbols": "symbol_names",
}

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

// Describe describes all of p, with field names as in the schema. Arrays of more than 32 bytes are described as size
// and SHA-256.
func Describe(p *Program) *tree.Node { return jsonValue(reflect.ValueOf(p)).(*tree.Node) }

// jsonValue converts a part of the model to a form that encoding/json prints well: bytes as a summary, types by their
// names, structs in the order of their fields.
func jsonValue(v reflect.Value) any {
	if v.IsValid() && v.Kind() != reflect.Pointer && v.Kind() != reflect.Struct {
		if s, ok := v.Interface().(fmt.Stringer); ok {
			return s.String()
		}
		if b, ok := v.Interface().([]byte); ok {
			return summaryKeys(summarise(b))
		}
	}
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer, reflect.Interface:
		return jsonValue(v.Elem())
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = jsonValue(v.Index(i))
		}
		return list
	case reflect.Struct:
		o := tree.Object("")
		for i := range v.NumField() {
			o.Add(tree.Value(snake(v.Type().Field(i).Name), jsonValue(v.Field(i))))
		}
		return o
	}
	return v.Interface()
}
