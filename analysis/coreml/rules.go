package coreml

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Rules are what is known of the placement of one chip and system: what a change of backend costs, the limits of the
// engine's validator, and the rates of the estimates. Read and Write have the format.
type Rules struct {
	Name    string   // as on the command line, such as "m4-macos27"
	Chip    string   // such as "M4"
	System  string   // such as "macOS 27"
	Sources []string // where the numbers are published, a line each
	Changes []Change
	// Line is what is known of the saving at which a graph goes to the engine: the largest that was seen to stay on the
	// CPU and the smallest that was seen to go, in milliseconds.
	Line   [2]float64
	Limits []Limit
	Refuse []Refusal
	Rates  []Rate // of an operation the first that applies counts
}

// Change is the cost of going from one backend to the next. The caller is before the first operation and after the
// last one.
type Change struct {
	From, To Place
	MS       float64
}

// Place is a backend or the caller.
type Place uint8

// Caller is the program that calls the framework, on the CPU's side.
const Caller = Place(NumBackends)

// At returns the place of a backend.
func At(b Backend) Place { return Place(b) }

// String returns the backend's name, or "caller".
func (p Place) String() string {
	if p == Caller {
		return "caller"
	}
	return Backend(p).String()
}

// Refusal says that a backend never runs an operation.
type Refusal struct {
	Backend   Backend
	Operation string // name without its opset
	Reason    string // in the framework's words
	Source    string // evidence, as text
}

// Limit is a number of the engine's validator, by name.
type Limit struct {
	Name  string
	Value int64
}

// Names of limits. A file states each of them that is known; an absent limit is not checked.
const (
	limitN            = "N"                 // most elements of the batch
	limitD            = "D"                 // of the depth
	limitC            = "C"                 // of the channels
	limitH            = "H"                 // of the height
	limitW            = "W"                 // of the width, the last dimension
	limitRowBytes     = "matmul-row-bytes"  // most bytes of a row of a matrix product's sum
	limitKernelWidth  = "conv-kernel-width" // most taps across of a kernel of height 1
	limitKernelHeight = "conv-kernel-height"
	limitKernelSquare = "conv-kernel-square" // most taps across of a kernel that is higher than 1
	limitPoolWidth    = "max-pool-width"
	limitCasts        = "fp32-casts" // 1 if the engine takes fp32 in casts, 0 if nowhere
)

// limitNames are the names that a file may use.
var limitNames = []string{limitN, limitD, limitC, limitH, limitW, limitRowBytes, limitKernelWidth, limitKernelHeight,
	limitKernelSquare, limitPoolWidth, limitCasts}

// Rate is a leaf of the tree of rates: what an operation's work takes on each backend, if the conditions hold.
type Rate struct {
	Operation string     // name of the operation without its opset, "*" for any
	When      Conditions // all must hold
	// Maybe is the wider interval in which the rate may apply too, because its edges are not known better. nil if the
	// edges are known.
	Maybe  Conditions
	Times  [NumBackends]Times // nil where the backend's rate is not known
	Source string             // evidence, as text
}

// Times are the parts of an estimate. The longest counts.
type Times []Term

// Term is work divided by a rate.
type Term struct {
	Giga float64 // rate, in 10^9 a second
	Work Measure
}

// Change returns the cost of going from one place to another, in milliseconds; ok is false if the rules state none.
// Staying costs nothing.
func (r *Rules) Change(from, to Place) (ms float64, ok bool) {
	if from == to {
		return 0, true
	}
	for _, c := range r.Changes {
		if c.From == from && c.To == to {
			return c.MS, true
		}
	}
	return 0, false
}

// limit returns a limit, or false.
func (r *Rules) limit(name string) (int64, bool) {
	for _, l := range r.Limits {
		if l.Name == name {
			return l.Value, true
		}
	}
	return 0, false
}

// covers reports whether the rules state what it costs to reach the backend from the caller and back.
func (r *Rules) covers(b Backend) bool {
	_, to := r.Change(Caller, At(b))
	_, from := r.Change(At(b), Caller)
	return to && from
}

//go:embed rates/*.tsv
var files embed.FS

// builtIn are the names of the files in rates, the default first.
var builtIn = []string{"m4-macos27", "m1-macos14"}

// Names returns the names of the rules that zinc has, the default first.
func Names() []string { return slices.Clone(builtIn) }

// Default returns the rules that apply if no others are named.
func Default() *Rules { return builtInRules(builtIn[0]) }

// Named returns the rules of that name.
func Named(name string) (*Rules, error) {
	if slices.Contains(builtIn, name) {
		return builtInRules(name), nil
	}
	return nil, fmt.Errorf("unknown rules %q; zinc has %s", name, strings.Join(builtIn, ", "))
}

// builtInRules reads an embedded file. Tests read each of them.
func builtInRules(name string) *Rules {
	b, err := files.ReadFile(path.Join("rates", name+".tsv"))
	if err != nil {
		panic(err)
	}
	r, err := Read(bytes.NewReader(b), name+".tsv")
	if err != nil {
		panic(err)
	}
	return r
}
