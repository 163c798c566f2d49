package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/compile/cost"
)

// Number is a number that is encoded in JSON as a string if it is not finite.
type Number float64

// MarshalJSON writes the number, or "NaN", "+Inf" or "-Inf".
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return json.Marshal(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return json.Marshal(float64(n))
}

// Contributor is a part of a value that exceeds its budget, or of what the value grew by.
type Contributor struct {
	What  string `json:"what"`             // operation, output or other kind
	Name  string `json:"name,omitempty"`   // name of the operation or output
	Line  int    `json:"line,omitempty"`   // line of the statement, from 1
	Col   int    `json:"column,omitempty"` // column of the statement, from 1
	Value Number `json:"value"`            // part of the violated value
}

// Violation is a budget that was exceeded.
type Violation struct {
	Budget       string        `json:"budget"`                 // name of the budget
	Target       string        `json:"target,omitempty"`       // target for which it was exceeded
	Function     string        `json:"function,omitempty"`     // if functions are checked separately
	Value        Number        `json:"value"`                  // value of the program
	Band         *cost.Band    `json:"band,omitempty"`         // times that the known error of the value allows
	Unit         string        `json:"unit"`                   // unit of value and base
	Base         *Number       `json:"base,omitempty"`         // value of the base, if the budget compares with one
	Growth       *Number       `json:"growth,omitempty"`       // over the base, in per cent or as a difference
	Limit        float64       `json:"limit"`                  // value, or growth, that the budget allows
	Contributors []Contributor `json:"contributors,omitempty"` // largest parts of the value, or of its growth
}

// String returns the violation in one line: value, limit, largest contributors.
func (v *Violation) String() string {
	var w strings.Builder
	if v.Function != "" {
		fmt.Fprintf(&w, "function %s: ", v.Function)
	}
	b := budgetOf(v.Budget)
	value, limit := apart(b.amount, float64(v.Value), v.Limit)
	more, largest := "", "largest"
	if v.Growth != nil {
		more, limit = apart(b.growth, float64(*v.Growth), v.Limit)
		base := ""
		value, base = apart(b.amount, float64(v.Value), float64(*v.Base))
		if more = fmt.Sprintf(", %s more than the base's %s", more, base); math.IsInf(float64(*v.Growth), 1) {
			more = ", the base has none"
		}
		largest = "largest growth"
	}
	if v.Band != nil {
		value += " (" + v.Band.Range(cost.Micros(float64(v.Value))) + ")"
	}
	fmt.Fprintf(&w, "%s%s", value, b.noun(float64(v.Value)))
	if v.Target != "" {
		fmt.Fprintf(&w, " for %s", v.Target)
	}
	w.WriteString(more)
	verb := "allows"
	if b.Least {
		verb = "requires"
	}
	fmt.Fprintf(&w, ", --%s %s %s", v.Budget, verb, limit)
	if v.Growth == nil && v.Band != nil && v.Band.Holds(v.Limit) {
		w.WriteString(", which is in that band")
	}
	for i, c := range v.Contributors {
		if i == 0 {
			fmt.Fprintf(&w, "; %s:", largest)
		} else {
			w.WriteByte(',')
		}
		fmt.Fprintf(&w, " %s", c.What)
		if c.Name != "" {
			fmt.Fprintf(&w, " %q", c.Name)
		}
		if c.Line > 0 {
			fmt.Fprintf(&w, " line %d", c.Line)
		}
		part := plain(float64(c.Value))
		if b.isTime() {
			part = b.amount(float64(c.Value), false)
		}
		fmt.Fprintf(&w, " %s", part)
	}
	return w.String()
}

// apart writes a value and what it is compared with, exactly if they look the same otherwise.
func apart(write func(v float64, exact bool) string, v, with float64) (string, string) {
	a, b := write(v, false), write(with, false)
	if a == b && v != with {
		return write(v, true), write(with, true)
	}
	return a, b
}

// microseconds begins the units of times.
const microseconds = "us "

func (b *Budget) isTime() bool { return strings.HasPrefix(b.Unit, microseconds) }

// amount writes a value without what it counts.
func (b *Budget) amount(v float64, exact bool) string {
	switch {
	case b.isTime() && exact:
		return cost.Micros(v).String() + " us"
	case b.isTime():
		return cost.Micros(v).Short()
	case b.Most > 0:
		return percent(v, exact)
	}
	return plain(v)
}

// growth writes what a value grew by, or may grow by.
func (b *Budget) growth(v float64, exact bool) string {
	if b.Growth == Percentage {
		return percent(v, exact)
	}
	return b.amount(v, exact)
}

// noun says what the amount v counts.
func (b *Budget) noun(v float64) string {
	noun := b.Unit
	if v == 1 && b.One != "" {
		noun = b.One
	}
	return " " + strings.TrimPrefix(strings.TrimPrefix(noun, microseconds), "% ")
}

// percent writes a share in per cent, with three digits if it need not be exact.
func percent(v float64, exact bool) string {
	if exact {
		return strconv.FormatFloat(v, 'g', -1, 64) + " %"
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + " %"
}

// plain returns a number without an exponent if it is whole.
func plain(v float64) string {
	if math.Abs(v) < 1<<53 && v == math.Trunc(v) {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// Message returns the line of the violation in a log.
func (v *Violation) Message() string { return "budget exceeded: " + v.String() }

// WriteViolations writes a line for each violation.
func WriteViolations(w io.Writer, vs []Violation) error {
	for i := range vs {
		if _, err := fmt.Fprintf(w, "%s\n", vs[i].Message()); err != nil {
			return err
		}
	}
	return nil
}
