package dump

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// TaskRange is one entry of a choice of tasks.
type TaskRange struct {
	procedure string // "" if the file has one
	from, to  int    // inclusive
	text      string
	// Placed is set for a range of addresses in the section of tasks instead: first to last, inclusive.
	placed      bool
	first, last uint64
}

// at reports whether an entry is for addresses that the bytes from off on have.
func (r *TaskRange) at(off uint64, size int) bool {
	return r.placed && off <= r.last && off+uint64(size) > r.first
}

// addresses parses FIRST, FIRST-LAST and FIRST-.
func (r *TaskRange) addresses(s string) (err error) {
	first, last, isRange := strings.Cut(s, "-")
	r.placed = true
	r.first, err = strconv.ParseUint(first, 0, 64)
	r.last = r.first
	switch {
	case err != nil:
	case isRange && last == "":
		r.last = math.MaxUint64
	case isRange:
		r.last, err = strconv.ParseUint(last, 0, 64)
	}
	if err == nil && r.last < r.first {
		err = errors.New("the last address is before the first")
	}
	return err
}

// ParseTasks parses selections of tasks: comma-separated N, N-M and N-, with PROCEDURE: in front if a procedure is
// named, and @ADDRESS, @FIRST-LAST and @FIRST- for the tasks there. The name also applies to the entries that follow it
// in the list.
func ParseTasks(values []string) (out []TaskRange, err error) {
	for _, v := range values {
		procedure, list := "", v
		if i := strings.LastIndexByte(v, ':'); i >= 0 {
			procedure, list = v[:i], v[i+1:]
			if procedure == "" {
				return nil, fmt.Errorf("%q: missing name before the colon", v)
			}
		}
		for _, s := range strings.Split(list, ",") {
			r := TaskRange{procedure: procedure, text: s}
			if address, ok := strings.CutPrefix(s, "@"); ok {
				if err := r.addresses(address); err != nil || procedure != "" {
					return nil, fmt.Errorf("%q: %q is not a place; want @ADDRESS, @FIRST-LAST or @FIRST-, with no "+
						"procedure, as in @0x300-0x4ff", v, s)
				}
				out = append(out, r)
				continue
			}
			lo, hi, isRange := strings.Cut(s, "-")
			r.from, err = strconv.Atoi(lo)
			r.to = r.from
			switch {
			case err != nil:
			case isRange && hi == "":
				r.to = math.MaxInt
			case isRange:
				r.to, err = strconv.Atoi(hi)
			}
			if err != nil || r.from < 0 || r.to < r.from {
				return nil, fmt.Errorf("%q: %q is not a task; want N, N-M, N-, @ADDRESS or a comma-separated list "+
					"of those, counted from 0", v, s)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// procedureTasks is the number of tasks of a procedure.
type procedureTasks struct {
	name  string
	tasks int
}

// chooseTasks returns, for each procedure, the test for its requested tasks. An unknown task is an error.
func (o *Options) chooseTasks(procedures []procedureTasks) ([]func(i int) bool, error) {
	option := o.name(PartTask)
	chosen := make([][]TaskRange, len(procedures))
	for _, r := range o.Tasks {
		if r.placed {
			continue
		}
		k := -1
		for i, p := range procedures {
			if r.procedure != "" && p.name == r.procedure || r.procedure == "" && len(procedures) == 1 {
				k = i
			}
		}
		if k < 0 {
			var names []string
			for _, p := range procedures {
				names = append(names, fmt.Sprintf("%q", p.name))
				if len(names) == maxNames && len(procedures) > maxNames {
					names = append(names, fmt.Sprintf("and %d more", len(procedures)-maxNames))
					break
				}
			}
			if len(names) == 0 {
				names = []string{"none"}
			}
			if r.procedure == "" {
				return nil, fmt.Errorf("%s %s: name the procedure, as in %s NAME:%s; the file has %s", option,
					r.text, option, r.text, strings.Join(names, ", "))
			}
			return nil, fmt.Errorf("%s %s:%s: unknown procedure; the file has %s", option, r.procedure, r.text,
				strings.Join(names, ", "))
		}
		if p := procedures[k]; r.from >= p.tasks || r.to >= p.tasks && r.to != math.MaxInt {
			return nil, fmt.Errorf("%s %s: procedure %q has %d tasks, counted from 0", option, r.text, p.name, p.tasks)
		}
		chosen[k] = append(chosen[k], r)
	}
	out := make([]func(int) bool, len(procedures))
	for k := range procedures {
		out[k] = func(i int) bool {
			for _, r := range chosen[k] {
				if i >= r.from && i <= r.to {
					return true
				}
			}
			return false
		}
	}
	return out, nil
}

// maxNames is the number of names of procedures that a message lists.
const maxNames = 12
