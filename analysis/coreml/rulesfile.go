package coreml

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Limits of a file, far above what rules need.
const (
	maxLine  = 64 << 10
	maxLines = 10_000
)

// lineForms are the fields of each kind of line, after the first.
var lineForms = map[string]string{
	"name":   "NAME",
	"chip":   "NAME",
	"system": "NAME",
	"source": "TEXT",
	"change": "FROM TO MS",
	"line":   "LARGEST SMALLEST",
	"limit":  "NAME VALUE",
	"refuse": "BACKEND OPERATION REASON SOURCE",
	"rate":   "OPERATION WHEN MAYBE ANE CLASSIC_CPU BNNS MPS_GRAPH SOURCE",
}

// Read reads rules. The format is text of lines with tabs between the fields; a line that starts with # is a comment.
// The first field says what the line is:
//
//	name    NAME                 of the rules
//	chip    NAME
//	system  NAME
//	source  TEXT                 may be repeated
//	change  FROM TO MS           milliseconds from a backend, or the caller, to another
//	line    LARGEST SMALLEST     milliseconds saved that stayed on the CPU, and that went to the engine
//	limit   NAME VALUE           of the engine's validator
//	refuse  BACKEND OPERATION REASON SOURCE
//	rate    OPERATION WHEN MAYBE ANE CLASSIC_CPU BNNS MPS_GRAPH SOURCE
//
// WHEN is Conditions, "-" for always. MAYBE is the wider interval in which the rate may apply too, "-" for none. The
// four times are "GIGA MEASURE", several with commas between if the longest counts, or "-" for a rate that is not
// known. file names the text in errors.
func Read(from io.Reader, file string) (*Rules, error) {
	r := new(Rules)
	s := bufio.NewScanner(from)
	s.Buffer(nil, maxLine)
	n := 0
	for s.Scan() {
		n++
		line := strings.TrimRight(s.Text(), "\r")
		if n > maxLines {
			return nil, fmt.Errorf("%s has more than %d lines", file, maxLines)
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := r.line(strings.Split(line, "\t")); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// line reads the fields of one line.
func (r *Rules) line(f []string) (err error) {
	form, ok := lineForms[f[0]]
	if !ok {
		return fmt.Errorf("unknown line %q; want name, chip, system, source, change, line, limit, refuse or rate", f[0])
	}
	if want := len(strings.Fields(form)); len(f)-1 != want {
		return fmt.Errorf("%s has %d fields, want %d with tabs between: %s", f[0], len(f)-1, want, form)
	}
	switch f[0] {
	case "name":
		r.Name = f[1]
	case "chip":
		r.Chip = f[1]
	case "system":
		r.System = f[1]
	case "source":
		r.Sources = append(r.Sources, f[1])
	case "change":
		err = r.readChange(f[1:])
	case "line":
		err = r.readLine(f[1:])
	case "refuse":
		err = r.readRefusal(f[1:])
	case "limit":
		err = r.readLimit(f[1:])
	case "rate":
		err = r.readRate(f[1:])
	}
	return err
}

func (r *Rules) readChange(f []string) (err error) {
	var c Change
	if c.From, err = parsePlace(f[0]); err != nil {
		return err
	}
	if c.To, err = parsePlace(f[1]); err != nil {
		return err
	}
	if _, known := r.Change(c.From, c.To); known {
		return fmt.Errorf("the change from %s to %s is stated already", f[0], f[1])
	}
	c.MS, err = parseMS(f[2])
	r.Changes = append(r.Changes, c)
	return err
}

func parseMS(text string) (float64, error) {
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil || !(ms >= 0 && ms <= maxMS) {
		return 0, fmt.Errorf("%q is not a time; want 0 to %d ms", text, maxMS)
	}
	return ms, nil
}

func (r *Rules) readLine(f []string) (err error) {
	for i := range r.Line {
		if r.Line[i], err = parseMS(f[i]); err != nil {
			return err
		}
	}
	if r.Line[0] > r.Line[1] {
		return fmt.Errorf("line from %s to %s; want the larger last", f[0], f[1])
	}
	return nil
}

func (r *Rules) readRefusal(f []string) error {
	b, ok := ParseBackend(f[0])
	if !ok || b.Device() == CPU {
		return fmt.Errorf("unknown backend %q of a refusal; want %s or %s", f[0], Engine, GPU)
	}
	if f[1] == "" || f[2] == "" {
		return fmt.Errorf("refusal without an operation or a reason")
	}
	r.Refuse = append(r.Refuse, Refusal{Backend: b, Operation: f[1], Reason: f[2], Source: f[3]})
	return nil
}

// maxMS is the largest time of a change: a second, thousands of times what is known.
const maxMS = 1000

func parsePlace(name string) (Place, error) {
	if name == Caller.String() {
		return Caller, nil
	}
	if b, ok := ParseBackend(name); ok {
		return At(b), nil
	}
	return 0, fmt.Errorf("unknown backend %q; want caller, %s", name, strings.Join(backendNames[:], ", "))
}

func (r *Rules) readLimit(f []string) error {
	if !slices.Contains(limitNames, f[0]) {
		return fmt.Errorf("unknown limit %q; want %s", f[0], strings.Join(limitNames, ", "))
	}
	if _, known := r.limit(f[0]); known {
		return fmt.Errorf("limit %s is stated already", f[0])
	}
	n, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("limit %s is %q; want a whole number of at least 0", f[0], f[1])
	}
	r.Limits = append(r.Limits, Limit{Name: f[0], Value: n})
	return nil
}

func (r *Rules) readRate(f []string) (err error) {
	x := Rate{Operation: f[0], Source: f[len(f)-1]}
	if x.Operation == "" {
		return fmt.Errorf("rate without an operation; want a name, or * for any")
	}
	if x.When, err = parseConditions(f[1]); err != nil {
		return err
	}
	if x.Maybe, err = parseConditions(f[2]); err != nil {
		return err
	}
	for i, b := range fileOrder {
		if x.Times[b], err = parseTimes(f[3+i]); err != nil {
			return fmt.Errorf("time on %s: %w", b, err)
		}
	}
	r.Rates = append(r.Rates, x)
	return nil
}

// fileOrder is the order of the four times of a rate.
var fileOrder = [...]Backend{Engine, ClassicCPU, BNNS, GPU}

// parseTimes reads "754.54 flops, 60.8454 bytes".
func parseTimes(text string) (out Times, err error) {
	if text == "-" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		f := strings.Fields(part)
		if len(f) != 2 || !slices.Contains(measures, Measure(f[1])) {
			return nil, fmt.Errorf("%q; want such as \"25 elements\", with one of %s", text, measureList())
		}
		giga, err := strconv.ParseFloat(f[0], 64)
		if err != nil || !(giga > 0 && giga < math.MaxFloat32) {
			return nil, fmt.Errorf("%q: rate %q; want a number above 0", text, f[0])
		}
		out = append(out, Term{Giga: giga, Work: Measure(f[1])})
	}
	return out, nil
}

// check reports what rules must have for a forecast: a name, the way between any two backends that they cover, and a
// rate of any operation on the CPU.
func (r *Rules) check() error {
	if r.Name == "" {
		return fmt.Errorf("no name; want a line: name, tab, NAME")
	}
	modelled := []Place{Caller}
	for b := range NumBackends {
		if r.covers(b) {
			modelled = append(modelled, At(b))
		}
	}
	for _, from := range modelled {
		for _, to := range modelled {
			if _, ok := r.Change(from, to); !ok {
				return fmt.Errorf("no cost of the change from %s to %s; want a line: change, FROM, TO, MS", from, to)
			}
		}
	}
	for _, b := range []Backend{ClassicCPU, BNNS} {
		if !r.covers(b) {
			return fmt.Errorf("no cost of the changes from caller to %s and back", b)
		}
	}
	for _, x := range r.Rates {
		if x.Operation == "*" && x.When == nil && x.Times[ClassicCPU] != nil && x.Times[BNNS] != nil {
			return nil
		}
	}
	return fmt.Errorf("no rate of any operation on the CPU; want a line that begins with rate, *, -")
}

// Write writes the rules as Read reads them.
func (r *Rules) Write(to io.Writer) error {
	w := bufio.NewWriter(to)
	line := func(fields ...string) { fmt.Fprintln(w, strings.Join(fields, "\t")) }
	line("name", r.Name)
	line("chip", r.Chip)
	line("system", r.System)
	for _, s := range r.Sources {
		line("source", s)
	}
	for _, c := range r.Changes {
		line("change", c.From.String(), c.To.String(), number(c.MS))
	}
	line("line", number(r.Line[0]), number(r.Line[1]))
	for _, l := range r.Limits {
		line("limit", l.Name, strconv.FormatInt(l.Value, 10))
	}
	line("#", "BACKEND", "OPERATION", "REASON", "SOURCE")
	for _, x := range r.Refuse {
		line("refuse", x.Backend.String(), x.Operation, x.Reason, x.Source)
	}
	line("#", "OPERATION", "WHEN", "MAYBE", "ANE", "CLASSIC_CPU", "BNNS", "MPS_GRAPH", "SOURCE")
	for _, x := range r.Rates {
		f := []string{"rate", x.Operation, x.When.String(), x.Maybe.String()}
		for _, b := range fileOrder {
			f = append(f, x.Times[b].String())
		}
		line(append(f, x.Source)...)
	}
	return w.Flush()
}

// String returns the times as in a file, "-" for none.
func (ts Times) String() string {
	if len(ts) == 0 {
		return "-"
	}
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = number(t.Giga) + " " + string(t.Work)
	}
	return strings.Join(parts, ", ")
}
