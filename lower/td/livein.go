package td

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// LiveIn is a live-in parameter: a shape or stride that a call chooses. It is bound to a procedure's input and can have
// the values Start, Start + Step, and so on up to Stop.
type LiveIn struct {
	Name              string
	Input             int // index among the procedure's inputs
	Start, Stop, Step uint32
}

// Check reports a parameter whose range is not valid.
func (l *LiveIn) Check() error {
	switch {
	case l.Name == "" || len(l.Name) > maxLiveInName || !utf8.ValidString(l.Name):
		return fieldf(0, "name", "%q: wanted 1..%d bytes of UTF-8", l.Name, maxLiveInName)
	case l.Input < 0 || l.Input > 0xffff:
		return fieldf(2, "input", "%d: the field holds 0..%d", l.Input, 0xffff)
	case l.Step == 0:
		return fieldf(12, "step", "0: parameter %q never leaves its start", l.Name)
	case l.Stop < l.Start || (l.Stop-l.Start)%l.Step != 0:
		return fieldf(8, "stop", "%d: parameter %q, from %d in steps of %d, does not reach it", l.Stop, l.Name, l.Start,
			l.Step)
	}
	return nil
}

// Bind checks a value that a call passes for the parameter.
func (l *LiveIn) Bind(v int64) error {
	switch {
	case v < int64(l.Start) || v > int64(l.Stop):
		return fmt.Errorf("live-in parameter %q = %d: out of its range %d..%d", l.Name, v, l.Start, l.Stop)
	case (v-int64(l.Start))%int64(l.Step) != 0:
		return fmt.Errorf("live-in parameter %q = %d: off its step: values are %d + k*%d up to %d", l.Name, v, l.Start,
			l.Step, l.Stop)
	}
	return nil
}

// BindLiveIns checks the values of a call: there must be one for every parameter and no others.
func BindLiveIns(params []LiveIn, values map[string]int64) error {
	for i := range params {
		v, ok := values[params[i].Name]
		if !ok {
			return fmt.Errorf("live-in parameter %q has no value; wanted %d..%d in steps of %d", params[i].Name,
				params[i].Start, params[i].Stop, params[i].Step)
		}
		if err := params[i].Bind(v); err != nil {
			return err
		}
	}
	if len(values) == len(params) {
		return nil
	}
	known := map[string]bool{}
	for i := range params {
		known[params[i].Name] = true
	}
	first := ""
	for n := range values {
		if !known[n] && (first == "" || n < first) {
			first = n
		}
	}
	return fmt.Errorf("%q is no live-in parameter of the procedure", first)
}

// A list of parameters: magic, u16 version, u16 count, then for each u16 bytes of the name, u16 input, u32 start, u32
// stop, u32 step, the name. The layout is zinc's own.
const (
	liveInMagic   = "ZTLI"
	liveInVersion = 1
	liveInHeader  = 8
	liveInFixed   = 16
	maxLiveInName = 1024
)

// LiveInError reports a list of live-in parameters that breaks a rule.
type LiveInError struct {
	Off   int64
	Field string
	Msg   string
}

func (e *LiveInError) Error() string {
	return fmt.Sprintf("live-in parameters byte %#x: %s: %s", e.Off, e.Field, e.Msg)
}

func liveInf(off int, field, format string, args ...any) error {
	return &LiveInError{int64(off), field, fmt.Sprintf(format, args...)}
}

// EncodeLiveIns returns the list of a procedure's parameters.
func EncodeLiveIns(params []LiveIn) ([]byte, error) {
	le := binary.LittleEndian
	out := le.AppendUint16([]byte(liveInMagic), liveInVersion)
	if len(params) > 0xffff {
		return nil, liveInf(6, "count", "%d parameters: the field holds 0..%d", len(params), 0xffff)
	}
	out = le.AppendUint16(out, uint16(len(params)))
	names := map[string]bool{}
	for i := range params {
		l := &params[i]
		if err := l.checkAt(len(out), names); err != nil {
			return nil, err
		}
		out = le.AppendUint16(out, uint16(len(l.Name)))
		out = le.AppendUint16(out, uint16(l.Input))
		out = le.AppendUint32(out, l.Start)
		out = le.AppendUint32(out, l.Stop)
		out = le.AppendUint32(out, l.Step)
		out = append(out, l.Name...)
	}
	return out, nil
}

// checkAt checks a parameter whose entry starts at byte off.
func (l *LiveIn) checkAt(off int, names map[string]bool) error {
	if e, ok := l.Check().(*fieldError); ok {
		return &LiveInError{int64(off + e.off), e.field, e.msg}
	}
	if names[l.Name] {
		return liveInf(off, "name", "%q is there twice", l.Name)
	}
	names[l.Name] = true
	return nil
}

// DecodeLiveIns reads what EncodeLiveIns writes.
func DecodeLiveIns(b []byte) ([]LiveIn, error) {
	le := binary.LittleEndian
	if len(b) < liveInHeader || string(b[:4]) != liveInMagic {
		return nil, liveInf(0, "magic", "a list of parameters opens with %d bytes, the first four %q", liveInHeader,
			liveInMagic)
	}
	if v := le.Uint16(b[4:]); v != liveInVersion {
		return nil, liveInf(4, "version", "%d is not known: known is %d", v, liveInVersion)
	}
	n := int(le.Uint16(b[6:]))
	params := []LiveIn{}
	names := map[string]bool{}
	off := liveInHeader
	for range n {
		p := b[off:]
		if len(p) < liveInFixed {
			return nil, liveInf(off, "size", "%d bytes are left, a parameter has %d and its name", len(p), liveInFixed)
		}
		size := int(le.Uint16(p))
		if size > len(p)-liveInFixed {
			return nil, liveInf(off, "name", "%d bytes, %d are left", size, len(p)-liveInFixed)
		}
		l := LiveIn{
			Name:  string(p[liveInFixed : liveInFixed+size]),
			Input: int(le.Uint16(p[2:])),
			Start: le.Uint32(p[4:]),
			Stop:  le.Uint32(p[8:]),
			Step:  le.Uint32(p[12:]),
		}
		if err := l.checkAt(off, names); err != nil {
			return nil, err
		}
		params = append(params, l)
		off += liveInFixed + size
	}
	if off != len(b) {
		return nil, liveInf(off, "size", "%d bytes behind the last parameter", len(b)-off)
	}
	return params, nil
}
