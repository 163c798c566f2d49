package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/compile/cost"
)

// timing prints where the virtual time of the last run has gone.
func (r *simulation) timing(w io.Writer) {
	spent := r.model.Spent()
	call, busy := spent.Call(), spent.Engine()
	fmt.Fprintf(w, "timing: %s us a call in virtual time, %s us of it on the engine: %.1f %% is software\n", call, busy,
		percentOf(call-busy, call))
	if saved := spent.Chained(); saved != 0 {
		fmt.Fprintf(w, "data chaining: a trigger of a resident request, %s us less than a call\n", saved)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for c := range cost.Cause(cost.CallCauses) {
		if d := cost.Time(spent[c]); d != 0 {
			fmt.Fprintf(t, "  %s\t%s\t%12s us\t%5.1f %%\n", c.Layer(), c, d, percentOf(d, call))
		}
	}
	t.Flush()
	if len(r.tasks) > 0 {
		fmt.Fprintf(w, "tasks: %d\n", len(r.tasks))
	}
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, x := range r.tasks {
		fmt.Fprintf(t, "  %s\ttask %d\t%12s us\t%s\n", x.Procedure, x.Task, x.Time, x.Bound)
	}
	t.Flush()
	if r.runs > 1 {
		fmt.Fprintf(w, "all %d runs: %s us", r.runs, r.spent.Call())
		if saved := r.spent.Chained(); saved != 0 {
			fmt.Fprintf(w, ", %s us less than with a call a run", saved)
		}
		fmt.Fprintln(w)
	}
	all := r.stack.Device.Clock().Spent()
	fmt.Fprintf(w, "once, since power on:")
	sep := ""
	for c := cost.Cause(cost.CallCauses); c < cost.Causes; c++ {
		if d := cost.Time(all[c]); d != 0 {
			fmt.Fprintf(w, "%s %s %s us", sep, c, d)
			sep = ","
		}
	}
	fmt.Fprintln(w)
}

// percentOf returns a part of a time in percent.
func percentOf(part, of cost.Time) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(part) / float64(of)
}
