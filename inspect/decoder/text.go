package decoder

import (
	"bytes"
	"fmt"
	"io"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// Text writes the answer as a section.
func (a *Answer) Text(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("\nAs a language model\n")
	for i := range a.Rates {
		fmt.Fprintf(&b, "  %s\n", a.Rates[i].String())
	}
	if n := a.Programs.Count; n > 1 {
		fmt.Fprintf(&b, "  with %s between the programs\n", diag.Count(n-1, "dispatch", "dispatches"))
	}
	m := &a.Memory
	fmt.Fprintf(&b, "  memory: weights %s (%s as the model stores them), states %s, intermediates %s, inputs and "+
		"outputs %s, tasks %s\n", size(m.Weights), size(m.Stored), size(m.States), size(m.Intermediates),
		size(m.Ports), size(m.Tasks))
	p := &a.Programs
	most := "at most " + size(p.Ceiling) + " of constants each"
	if p.Count > 0 {
		fmt.Fprintf(&b, "  programs: %d, with %s\n    %s\n", p.Count, most, p.Source)
	} else {
		fmt.Fprintf(&b, "  programs: no cut leaves %s: %s\n    %s\n", most, p.Why, p.Source)
	}
	fmt.Fprintf(&b, "  first load: %s\n    %s: %s\n    %s\n", a.Load.String(), a.Load.Source, a.Load.Means,
		a.Load.Caveat)
	if a.Load.Advice != "" {
		fmt.Fprintf(&b, "    %s\n", a.Load.Advice)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// String says the rate in words.
func (r *Rate) String() string {
	switch {
	case r.Call == 0:
		return fmt.Sprintf("%s: no time is estimated", r.Function)
	case r.Tokens == 0:
		return fmt.Sprintf("%s: %s calls/s, %s a call; what a call adds to the states is not known", r.Function,
			digits(r.PerSecond), r.Call.Short())
	case r.Tokens == 1:
		return fmt.Sprintf("decode, %s: %s tokens/s, %s a token", r.Function, digits(r.PerSecond), r.Call.Short())
	}
	return fmt.Sprintf("prefill, %s: %s tokens/s, %s a call of %d; %s tokens/s if it generates one a call", r.Function,
		digits(r.PerSecond), r.Call.Short(), r.Tokens, digits(r.Alone))
}

// digits writes a number with three digits, and not with an exponent.
func digits(x float64) string {
	switch {
	case x >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// size writes bytes with three digits at most.
func size(n int64) string {
	v := float64(n)
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if v < 999.5 {
			return fmt.Sprintf("%.3g %s", v, unit)
		}
		v /= 1000
	}
	return fmt.Sprintf("%.3g TB", v)
}
