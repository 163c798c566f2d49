package gowrap

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"github.com/zinc-compiler/zinc"
)

// Package is what a wrapper is written of.
type Package struct {
	Name                  string // a Go identifier
	Model                 string // base name of the source, for comments
	Container, Descriptor string // names of the files beside the source
	Functions             []zinc.Function
}

// goTypes maps each element type (zinc.Tensor.Type) to a Go type.
var goTypes = map[string]string{
	"b1": "bool", "f2": "float32", "f4": "float32", "f8": "float64",
	"i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16", "u4": "uint32",
	"u8": "uint64",
}

// port is a port as the template sees it.
type port struct {
	zinc.Port
	Field string // identifier
	Go    string // element type; "" for a zinc.Tensor
}

// Type is the type of the field.
func (p port) Type() string {
	switch {
	case p.Go == "":
		return "zinc.Tensor"
	case p.Scalar():
		return p.Go
	}
	return "[]" + p.Go
}

// Scalar reports whether the field is one element.
func (p port) Scalar() bool { return p.Go != "" && len(p.Shape) == 0 }

// Tensor is the field of a variable as a tensor.
func (p port) Tensor(variable string) string {
	x := variable + "." + p.Field
	switch {
	case p.Go == "":
		return x
	case p.Scalar():
		// Without a shape zinc.Of makes one dimension.
		return fmt.Sprintf("zinc.Of([]%s{%s}, []int64{}...)", p.Go, x)
	}
	return fmt.Sprintf("zinc.Of(%s, %s)", x, p.Dims())
}

// Reader is the function that reads the field from a tensor.
func (p port) Reader() string {
	if p.Scalar() {
		return "zinc.Scalar"
	}
	return "zinc.Values"
}

// Quoted is the port's name as a literal.
func (p port) Quoted() string { return strconv.Quote(p.Name) }

// Dims are the dimensions as arguments.
func (p port) Dims() string {
	var s []string
	for _, d := range p.Shape {
		s = append(s, strconv.FormatInt(d, 10))
	}
	return strings.Join(s, ", ")
}

// Comment says what the port is: name, element type and shape.
func (p port) Comment() string {
	var s []string
	for _, d := range p.Shape {
		if d < 0 {
			s = append(s, "?")
			continue
		}
		s = append(s, strconv.FormatInt(d, 10))
	}
	return fmt.Sprintf("%s: %s [%s]", line(p.Name), p.Port.Type, strings.Join(s, ", "))
}

// function is a function as the template sees it.
type function struct {
	Name                    string
	Method                  string // identifier; also the beginning of its types' names
	Inputs, Outputs, States []port
}

// Quoted is the function's name as a literal.
func (f function) Quoted() string { return strconv.Quote(f.Name) }

// Comment is the function's name, fit for a comment.
func (f function) Comment() string { return line(f.Name) }

// line makes any name fit for a line of a comment.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar {
			return '.'
		}
		return r
	}, s)
}

// names hands out identifiers, each once.
type names map[string]bool

// exported returns an exported identifier for a name of a model: its letters and
// digits, each part after another character begins with a capital letter, and a V comes first if the first letter has
// no capital.
func (n names) exported(name string) string {
	var b strings.Builder
	up := true
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		if b.Len() == 0 && !unicode.IsUpper(r) {
			b.WriteByte('V')
		}
		b.WriteRune(r)
		up = false
	}
	base := b.String()
	base = cmp.Or(base, "Value")
	id := base
	for i := 2; n[id]; i++ {
		id = fmt.Sprintf("%s%d", base, i)
	}
	n[id] = true
	return id
}

func ports(ps []zinc.Port) []port {
	taken := names{}
	var out []port
	for _, p := range ps {
		x := port{Port: p, Field: taken.exported(p.Name), Go: goTypes[p.Element]}
		if slices.Contains(p.Shape, -1) {
			x.Go = "" // the caller passes, or receives, the shape
		}
		out = append(out, x)
	}
	return out
}

// methods are the methods of zinc.Model, which the wrapper has too, and what the
// wrapper declares itself.
var methods = []string{"Functions", "Run", "RunFunction", "State", "SetState", "Keep", "Kept", "Close", "Model",
	"Load", "Pair"}

// Source returns the wrapper.
func Source(p *Package) ([]byte, error) {
	taken := names{}
	for _, m := range methods {
		taken[m] = true
	}
	var fs []function
	for _, f := range p.Functions {
		x := function{Name: f.Name, Inputs: ports(f.Inputs), Outputs: ports(f.Outputs), States: ports(f.States)}
		for {
			x.Method = taken.exported(f.Name)
			// The types must be free as well.
			if !taken[x.Method+"Input"] && !taken[x.Method+"Output"] {
				break
			}
		}
		taken[x.Method+"Input"], taken[x.Method+"Output"] = true, true
		fs = append(fs, x)
	}
	var b bytes.Buffer
	err := source.Execute(&b, struct {
		*Package
		Comment   string
		Functions []function
	}{p, line(p.Model), fs})
	if err != nil {
		return nil, err
	}
	return format.Source(b.Bytes())
}

// Header is the first line of a wrapper.
const Header = "// Code generated by zinc generate; DO NOT EDIT."

var source = template.Must(template.New("wrapper").Parse(Header + `

// Package {{.Name}} runs the model {{.Comment}}, whose compiled pair it embeds.
package {{.Name}}

import (
	"context"
	_ "embed" // the pair
{{- if .Functions}}
	"fmt"
{{- end}}

	"github.com/zinc-compiler/zinc"
)

//go:embed {{.Container}}
var container []byte

//go:embed {{.Descriptor}}
var descriptor []byte

// Pair returns the compiled model. Its bytes must not be changed.
func Pair() *zinc.Pair { return &zinc.Pair{Container: container, Descriptor: descriptor} }

// Model is the model, ready to run. It may be used by several goroutines.
type Model struct{ *zinc.Model }

// Load makes the model ready. Close it when it is done.
func Load(ctx context.Context, o zinc.RunOptions) (*Model, error) {
	m, err := Pair().Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Model{m}, nil
}
{{range .Functions}}
// {{.Method}}Input is what {{.Method}} takes, row-major.
type {{.Method}}Input struct {
{{- range .Inputs}}
	{{.Field}} {{.Type}} // {{.Comment}}
{{- end}}
}

// {{.Method}}Output is what {{.Method}} gives, row-major.
type {{.Method}}Output struct {
{{- range .Outputs}}
	{{.Field}} {{.Type}} // {{.Comment}}
{{- end}}
}

// {{.Method}} runs the function {{.Comment}} once.
{{- if .States}} Its states, which State and SetState reach, keep
// what the run leaves in them:
//
{{- range .States}}
//	{{.Comment}}
{{- end}}
{{- end}}
func (m *Model) {{.Method}}(ctx context.Context, in {{.Method}}Input) (out {{.Method}}Output, err error) {
	{{if .Outputs}}got, err :={{else}}_, err = {{end}} m.RunFunction(ctx, {{.Quoted}}, map[string]zinc.Tensor{
{{- range .Inputs}}
		{{.Quoted}}: {{.Tensor "in"}},
{{- end}}
	})
	if err != nil {
		return out, fmt.Errorf("{{$.Name}}: %w", err)
	}
{{- range .Outputs}}
{{- if .Go}}
	if out.{{.Field}}, err = {{.Reader}}[{{.Go}}](got[{{.Quoted}}]); err != nil {
		return out, fmt.Errorf("{{$.Name}}: %w", err)
	}
{{- else}}
	out.{{.Field}} = got[{{.Quoted}}]
{{- end}}
{{- end}}
	return out, nil
}
{{end}}`))
