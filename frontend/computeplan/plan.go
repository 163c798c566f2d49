package computeplan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of a dump.
const (
	MaxBytes      = 64 << 20
	MaxDepth      = 64
	MaxOperations = 1_000_000
)

// tooMany is the rule of an Error about a dump that is too long.
var tooMany = "the dump has more than " + strconv.Itoa(MaxOperations) + " operations"

// A Plan is what Core ML decided about the operations of a model.
type Plan struct {
	Form       string // what kind of dump it is
	Operations []Operation
	ByOrder    bool // operations have kinds and an order, but no names
	// Partial says that only operations off the engine are in the dump, and Rest that the others are on the engine.
	Partial, Rest bool
	Units         string // compute units of the load: all, cpu-ane, cpu-gpu or cpu; "" if the dump does not have them
	Machine       string // chip or machine, "" if the dump does not have it
	System        string // operating system, "" if the dump does not have it
	// Crossings are what Core ML charges for starting backends and for changing between them.
	Crossings []Crossing
	Summary   *Summary // of a dump that has only counts; there are no Operations then
}

// Function is the function of every operation that has one; "" if there are several or none.
func (p *Plan) Function() (name string) {
	for i := range p.Operations {
		f := p.Operations[i].Function
		if name != "" && f != name {
			return ""
		}
		name = f
	}
	return name
}

// An Operation is one operation of a dump.
type Operation struct {
	Function  string   // "" if the dump does not have it
	Outputs   []string // names, without the suffix of tensors at the border of the program; nil in a plan ByOrder
	Kind      string   // operator, without its operation set; "" for a layer known by its name alone
	Opset     string   // such as ios17; "" if absent
	Line      int      // of the dump
	Preferred Device
	Supported Devices
	Weight    float64 // share of the estimated time, 0 to 1, if Weighed
	Weighed   bool
	Backend   string     // selected backend, where the dump has backends
	Estimates []Estimate // by backend
	Reasons   []Reason   // why backends refused it, by backend

	index  int64 // position in Core ML's own program, -1 if the dump does not have it
	border bool  // an output had the suffix of tensors at the border
}

// Name is the first output, or "".
func (o *Operation) Name() string {
	if len(o.Outputs) == 0 {
		return ""
	}
	return o.Outputs[0]
}

// Estimate returns the estimate of a backend in ms, and whether the dump has it.
func (o *Operation) Estimate(backend string) (float64, bool) {
	for _, e := range o.Estimates {
		if e.Backend == backend {
			return e.Ms, true
		}
	}
	return 0, false
}

// An Estimate is the time of an operation on a backend.
type Estimate struct {
	Backend string  `json:"backend"`
	Ms      float64 `json:"ms"`
}

// A Reason is why a backend does not run an operation.
type Reason struct {
	Backend string `json:"backend"`
	Text    string `json:"text"`
}

// A Crossing is the time that it takes to start a backend (From is "") or to change from one to another.
type Crossing struct {
	From, To string
	Ms       float64
}

// Summary is a dump of counts.
type Summary struct {
	Engine, GPU, CPU int
	Kinds            []KindCount // by kind and device
	// Unreliable says why the devices of the summary are not the preferred ones, if they are not.
	Unreliable string
}

// Total is the number of operations that have a device.
func (s *Summary) Total() int { return s.Engine + s.GPU + s.CPU }

// KindCount is how many operations of a kind are on a device. For NoDevice the summary says only that they are not on
// the engine.
type KindCount struct {
	Kind   string
	Device Device
	Count  int
}

// add counts n operations on a device.
func (s *Summary) add(d Device, n int) {
	switch d {
	case Engine:
		s.Engine += n
	case GPU:
		s.GPU += n
	case CPU:
		s.CPU += n
	}
}

// Device is a compute device.
type Device uint8

// The devices. The values are the bits of Devices.
const (
	NoDevice Device = 0
	CPU      Device = 1
	GPU      Device = 2
	Engine   Device = 4
)

// String returns CPU, GPU, engine or none.
func (d Device) String() string {
	switch d {
	case CPU:
		return "CPU"
	case GPU:
		return "GPU"
	case Engine:
		return "engine"
	}
	return "none"
}

// Devices is a set of devices.
type Devices uint8

// Has reports whether d is in the set.
func (s Devices) Has(d Device) bool { return d != NoDevice && s&Devices(d) != 0 }

// String lists the devices, separated by commas.
func (s Devices) String() string {
	var names []string
	for _, d := range []Device{CPU, GPU, Engine} {
		if s.Has(d) {
			names = append(names, d.String())
		}
	}
	return strings.Join(names, ", ")
}

// noDevice are words for an operation without a device.
var noDevice = []string{"", "-", "none", "null", "(null)", "nil", "unreported", "static", "unknown", "n/a"}

// parseDevice returns the device that a dump names: a class, its description, a case of an enumeration, a backend or a
// tool's own word.
func parseDevice(name string) (Device, bool) {
	s := strings.ToLower(strings.Trim(name, " \t\"'"))
	switch {
	case slices.Contains(noDevice, s):
		return NoDevice, true
	case strings.Contains(s, "neural"), s == "ane", s == "ne", s == "n", s == "engine":
		return Engine, true
	case strings.Contains(s, "gpu"), strings.Contains(s, "mps"), s == "g":
		return GPU, true
	case strings.Contains(s, "cpu"), strings.Contains(s, "bnns"), s == "c", s == "jit_call":
		return CPU, true
	}
	return NoDevice, false
}

// units are the names of compute units, in the letters of foldKey; the numbers are from Xcode's report.
var units = map[string]string{
	"all": "all", "2": "all",
	"cpuonly": "cpu", "cpu": "cpu", "0": "cpu",
	"cpuandgpu": "cpu-gpu", "cpugpu": "cpu-gpu", "1": "cpu-gpu",
	"cpuandneuralengine": "cpu-ane", "cpuandne": "cpu-ane", "cpuandane": "cpu-ane", "cpuane": "cpu-ane",
	"cpune": "cpu-ane", "3": "cpu-ane",
}

// parseUnits returns the compute units that a dump names, "" for others.
func parseUnits(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 { // ComputeUnit.ALL
		name = name[i+1:]
	}
	return units[foldKey(name)]
}

// foldKey returns the letters and digits of a key in lower case, so that preferred_device and preferredDevice are one.
func foldKey(key string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, key)
}

// splitKind separates the operation set from the operator.
func splitKind(s string) (opset, kind string) {
	s = strings.TrimSpace(s)
	set, op, ok := strings.Cut(s, ".")
	if !ok {
		return "", s
	}
	name := strings.TrimRight(strings.ToLower(set), "0123456789")
	if name == "ios" || name == "macos" || name == "tvos" || name == "watchos" || name == "coreml" {
		return strings.ToLower(set), op
	}
	return "", s
}

// borderSuffix is MEM_OPT in hexadecimal, which Core ML adds to the names of tensors at the border of the program.
const borderSuffix = "_4D454D5F4F5054"

// isConstant reports whether operations of a kind are constants, which have no device.
func isConstant(kind string) bool { return kind == "const" || strings.HasPrefix(kind, "constexpr_") }

// An Error is a file that is not a dump, or an invalid dump.
type Error struct {
	File   string
	Line   int // from 1; 0 for the file
	Column int // from 1; 0 for the line
	Rule   string
	Value  string // the value found; "" if there is none
	Hint   string // what to do; "" if that is plain
}

// Error returns the place, the rule, the value and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Column > 0 {
		fmt.Fprintf(&b, ":%d", e.Column)
	}
	fmt.Fprintf(&b, ": %s", e.Rule)
	if e.Value != "" {
		fmt.Fprintf(&b, ", got %s", e.Value)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "; %s", e.Hint)
	}
	return b.String()
}

// quoted returns a value for an Error.
func quoted(s string) string {
	const limit = 60
	if len(s) > limit {
		return fmt.Sprintf("%q and %d bytes more", s[:limit], len(s)-limit)
	}
	return fmt.Sprintf("%q", s)
}

// finish completes a plan whose operations are read: it drops constants, orders the operations, and derives what all
// formats have.
func (p *Plan) finish(file string) error {
	p.Operations = slices.DeleteFunc(p.Operations, func(o Operation) bool {
		return o.Preferred == NoDevice && !o.Weighed && isConstant(o.Kind) || o.Kind == "const"
	})
	if len(p.Operations) == 0 {
		return &Error{File: file, Rule: "the dump has no operations"}
	}
	if !slices.ContainsFunc(p.Operations, func(o Operation) bool { return o.index < 0 }) {
		slices.SortStableFunc(p.Operations, func(a, b Operation) int { return cmp.Compare(a.index, b.index) })
	}
	named := 0
	for i := range p.Operations {
		o := &p.Operations[i]
		if len(o.Outputs) > 0 {
			named++
		}
		for k, name := range o.Outputs {
			plain, border := strings.CutSuffix(name, borderSuffix)
			o.Outputs[k], o.border = plain, o.border || border
		}
		slices.SortFunc(o.Estimates, func(a, b Estimate) int { return cmp.Compare(a.Backend, b.Backend) })
		slices.SortFunc(o.Reasons, func(a, b Reason) int { return cmp.Compare(a.Backend, b.Backend) })
	}
	p.ByOrder = named == 0
	p.guessUnits()
	p.weigh()
	return nil
}

// guessUnits derives the compute units where the dump does not have them: devices that they do not allow support no
// operation, and their backends have neither estimates nor reasons.
func (p *Plan) guessUnits() {
	var seen, supported Devices
	for i := range p.Operations {
		supported |= p.Operations[i].Supported
		for _, e := range p.Operations[i].Estimates {
			d, _ := parseDevice(e.Backend)
			seen |= Devices(d)
		}
		for _, e := range p.Operations[i].Reasons {
			d, _ := parseDevice(e.Backend)
			seen |= Devices(d)
		}
	}
	if p.Units != "" {
		return
	}
	switch both := seen | supported; {
	case both.Has(GPU) && both.Has(Engine):
		p.Units = "all"
	case seen.Has(GPU):
		p.Units = "cpu-gpu"
	case seen.Has(Engine):
		p.Units = "cpu-ane"
	}
}

// weigh removes weights that say nothing, and derives the weights of a dump with estimates: the selected backend's
// estimate over the sum for the operations of the function.
func (p *Plan) weigh() {
	sums := map[string]float64{}
	var all float64
	weighed := false
	for i := range p.Operations {
		o := &p.Operations[i]
		if o.Preferred == NoDevice && o.Weight == 0 {
			o.Weighed = false
		}
		weighed = weighed || o.Weighed
		all += o.Weight
		if ms, ok := o.Estimate(o.Backend); ok {
			sums[o.Function] += ms
		}
	}
	for i := range p.Operations {
		o := &p.Operations[i]
		if weighed && all == 0 { // written for weights that are absent
			o.Weighed = false
		}
		if ms, ok := o.Estimate(o.Backend); ok && !weighed && sums[o.Function] > 0 {
			o.Weight, o.Weighed = ms/sums[o.Function], true
		}
	}
}
