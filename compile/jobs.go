package compile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// job is a function to compile in one configuration of its shapes.
type job struct {
	name    string
	program *ir.Program // of this function alone
	shapes  map[string][]int64
}

// MaxConfigurations bounds the number of configurations of its shapes that are compiled for one function.
const MaxConfigurations = 128

// OptionError reports a program that compiles only if an option is set.
type OptionError struct {
	Option string // field of Options
	Msg    string
}

func (e *OptionError) Error() string { return e.Msg }

// jobs returns the functions that the options select. The one that runs by default comes first: main, or the first of
// the source.
func (o *Options) jobs(p *ir.Program) ([]job, error) {
	fs := p.Funcs
	if o.Func != "" || len(fs) == 0 {
		f, err := p.Entry(o.Func)
		if err != nil {
			return nil, err
		}
		fs = []*ir.Func{f}
	} else if i := slices.IndexFunc(fs, func(f *ir.Func) bool { return f.Name == "main" }); i > 0 {
		fs = slices.Concat([]*ir.Func{fs[i]}, fs[:i], fs[i+1:])
	}
	given := slices.DeleteFunc(slices.Clone(o.Shapes), func(s map[string][]int64) bool { return len(s) == 0 })
	if len(fs) > 1 && len(given) > 0 {
		return nil, &OptionError{"Func", fmt.Sprintf("shapes are set and the program has %d functions, want one",
			len(fs))}
	}
	var jobs []job
	for _, f := range fs {
		sets := configurations(f, f.Flex.Enums)
		if len(given) > 0 {
			sets = configurations(f, given)
		}
		if len(sets) > MaxConfigurations {
			return nil, &OptionError{"Shapes", fmt.Sprintf("function %s has %d configurations of its shapes; at most "+
				"%d are compiled together", f.Name, len(sets), MaxConfigurations)}
		}
		if len(sets) == 0 {
			sets = []map[string][]int64{nil}
		}
		for i, shapes := range sets {
			j := job{name: f.Name, shapes: shapes}
			g := f
			if i > 0 {
				j.name = fmt.Sprintf("%s%s%d", f.Name, VariantMark, i)
			}
			if i < len(sets)-1 {
				g = ir.CloneFunc(f, f.Name) // passes rewrite it
			}
			j.program = &ir.Program{Version: p.Version, BuildInfo: p.BuildInfo, Files: p.Files, Funcs: []*ir.Func{g}}
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// configurations returns sets of shapes of a function without duplicates, starting with the default shapes if they are
// among them. Inputs that a set leaves out keep their default.
func configurations(f *ir.Func, sets []map[string][]int64) []map[string][]int64 {
	var out []map[string][]int64
	same := func(a, b map[string][]int64) bool { return maps.EqualFunc(a, b, slices.Equal[[]int64]) }
	for _, e := range sets {
		full := maps.Clone(e)
		for n, d := range f.Flex.Default {
			if _, ok := full[n]; !ok {
				full[n] = d
			}
		}
		switch {
		case slices.ContainsFunc(out, func(o map[string][]int64) bool { return same(o, full) }):
		case same(full, f.Flex.Default):
			out = slices.Insert(out, 0, full)
		default:
			out = append(out, full)
		}
	}
	return out
}
