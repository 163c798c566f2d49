package computeplan

import (
	"regexp"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// Attributes of the analytics' text.
const (
	attrSupport  = "BackendSupport"
	attrEstimate = "EstimatedRuntime"
	attrSelected = "SelectedBackend"
	attrReasons  = "ValidationMessage"
)

// isAnalytics reports whether a MIL text has what Core ML decided.
func isAnalytics(src string) bool {
	return strings.Contains(src, attrSelected) || strings.Contains(src, attrSupport)
}

// Program returns the syntax tree of the analytics' MIL text. A buffer has the type of the tensor in it.
func Program(file, src string) (*mil.Program, error) {
	p, list := mil.ParseString(file, plainTypes(src))
	if list.HasErrors() {
		return nil, list.Err()
	}
	return p, nil
}

// bufferType is the type of a buffer, such as tensor_buffer<fp16, shape=[1, 4], strides=[4, 1]>.
var bufferType = regexp.MustCompile(`\b(\w*tensor_buffer|pixel_buffer)<\s*(\w+)\s*,` +
	`\s*(shape\s*=\s*)?(\[[^\]<>]*\])[^<>]*>`)

// plainTypes replaces types of buffers by types of tensors of the same length, so that positions stay.
func plainTypes(src string) string {
	var b strings.Builder
	at := 0
	for _, m := range bufferType.FindAllStringSubmatchIndex(src, -1) {
		plain := "tensor<" + src[m[4]:m[5]] + ", " + src[m[8]:m[9]]
		pad := m[1] - m[0] - len(plain) - 1
		if pad < 0 {
			continue
		}
		b.WriteString(src[at:m[0]])
		b.WriteString(plain + strings.Repeat(" ", pad) + ">")
		at = m[1]
	}
	b.WriteString(src[at:])
	return b.String()
}

// readAnalytics reads the MIL text that Core ML writes beside a compiled program.
func readAnalytics(file, src string) (*Plan, error) {
	prog, err := Program(file, src)
	if err != nil {
		return nil, err
	}
	r := analyticsReader{file: file, prog: prog.File, plan: &Plan{Form: "analytics of Core ML"}}
	for _, f := range prog.Funcs {
		if err := r.crossings(f); err != nil {
			return nil, err
		}
		if err := r.block(f.Body, f.Name); err != nil {
			return nil, err
		}
	}
	return r.plan, r.plan.finish(file)
}

// An analyticsReader collects the operations of a syntax tree.
type analyticsReader struct {
	file string
	prog *diag.File
	plan *Plan
}

func (r *analyticsReader) errorAt(at diag.Pos, rule, value string) error {
	p := r.prog.Position(at)
	return &Error{File: r.file, Line: p.Line, Column: p.Column, Rule: rule, Value: value}
}

// crossings reads the attributes Launch_ane_ms and Src_ane_Dest_bnns_ms of a function.
func (r *analyticsReader) crossings(f *mil.Func) error {
	for i := range f.Attrs {
		a := &f.Attrs[i]
		name, ok := strings.CutSuffix(a.Name, "_ms")
		if !ok {
			continue
		}
		var c Crossing
		if to, ok := strings.CutPrefix(name, "Launch_"); ok {
			c.To = to
		} else if pair, ok := strings.CutPrefix(name, "Src_"); ok {
			c.From, c.To, _ = strings.Cut(pair, "_Dest_")
		}
		if c.To == "" {
			continue
		}
		ms, ok := number(a.Value)
		if !ok {
			return r.errorAt(a.Pos, a.Name+": want a time in ms, at least 0", "")
		}
		c.Ms = ms
		r.plan.Crossings = append(r.plan.Crossings, c)
	}
	return nil
}

// number returns a time.
func number(v mil.Value) (float64, bool) {
	l, ok := v.(*mil.Literal)
	if !ok {
		return 0, false
	}
	if v, err := l.Float(); err == nil {
		return v, v >= 0 && v <= maxMs
	}
	s, _ := l.Text()
	return parseMs(s)
}

// block collects the operations of a block and of those in it.
func (r *analyticsReader) block(b *mil.Block, function string) error {
	for _, s := range b.Stmts {
		if len(r.plan.Operations) >= MaxOperations {
			return r.errorAt(s.Pos, tooMany, "")
		}
		o := Operation{Function: function, Line: r.prog.Position(s.Pos).Line, Opset: s.OpOpset, index: -1}
		set, kind := splitKind(s.Op)
		o.Kind = kind
		if set != "" {
			o.Opset = set
		}
		for _, x := range s.Results {
			o.Outputs = append(o.Outputs, x.Name)
		}
		for i := range s.Attrs {
			if err := r.attr(&s.Attrs[i], &o); err != nil {
				return err
			}
		}
		r.plan.Operations = append(r.plan.Operations, o)
		for _, inner := range s.Blocks {
			if err := r.block(inner, function); err != nil {
				return err
			}
		}
	}
	return nil
}

// attr reads an attribute of an operation.
func (r *analyticsReader) attr(a *mil.Arg, o *Operation) error {
	switch a.Name {
	case attrSelected:
		s, _ := mil.TextOf(a.Value)
		d, ok := parseDevice(s)
		if !ok {
			return r.errorAt(a.Pos, notDevice, quoted(s))
		}
		o.Backend, o.Preferred = s, d
	case attrSupport:
		l, ok := a.Value.(*mil.Literal)
		if !ok {
			return r.errorAt(a.Pos, "want a list of backends", "")
		}
		names, err := l.Strings()
		if err != nil {
			return r.errorAt(a.Pos, "want a list of backends", err.Error())
		}
		set, bad := parseDevices(strings.Join(names, ","))
		if bad != "" {
			return r.errorAt(a.Pos, notDevice, quoted(bad))
		}
		o.Supported = set
	case attrEstimate:
		return r.dict(a, func(backend string, v mil.Value) bool {
			ms, ok := number(v)
			o.Estimates = append(o.Estimates, Estimate{backend, ms})
			return ok
		})
	case attrReasons:
		return r.dict(a, func(backend string, v mil.Value) bool {
			s, ok := mil.TextOf(v)
			if s != "" {
				o.Reasons = append(o.Reasons, Reason{backend, s})
			}
			return ok
		})
	}
	return nil
}

// dict calls add for each entry of a dictionary by backend.
func (r *analyticsReader) dict(a *mil.Arg, add func(backend string, v mil.Value) bool) error {
	d, ok := a.Value.(*mil.Dict)
	if !ok {
		return r.errorAt(a.Pos, a.Name+": want a dictionary", "")
	}
	for _, e := range d.Entries {
		backend, ok := mil.TextOf(e.Key)
		if !ok || !add(backend, e.Value) {
			return r.errorAt(a.Pos, a.Name+": want pairs of a backend and a value", quoted(backend))
		}
	}
	return nil
}
