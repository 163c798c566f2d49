package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/lower/td"
)

// program is what an estimate of a graph follows from: zinc's program of it.
type program struct {
	in, out int64 // bytes that the host hands over
	tasks   []tasks
}

// tasks are equal tasks of a part.
type tasks struct {
	work cost.TaskWork
	part cost.Part
	n    int64
}

// forms are the forms that weights of a graph may have. The engine reads them as they are stored.
var forms = map[string]cost.Form{
	"int8": {Bits: 8}, "palette4": {Bits: 4}, "sparse68": {Bits: 1 + 16*.32, Kept: .32},
}

// compiled compiles a graph for the M1. The other chips are estimated with these programs. Compressed weights are what
// the form, after a colon, makes of the program's weights.
func compiled(g *graphRow, dir string) (*program, error) {
	description, name, compressed := strings.Cut(g.description, ": ")
	form, ok := forms[name]
	if compressed && !ok {
		return nil, fmt.Errorf("%s: unknown form %q", g.name, name)
	}
	text, err := milOf(description)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, g.name+".mil")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		return nil, err
	}
	m, err := frontend.Open(path, frontend.Options{AssumeWeights: true})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	r, err := compile.All(context.Background(), m.Program, compile.Options{Target: cost.Simulated})
	if err != nil {
		return nil, err
	}
	if r.Report.CPUOps > 0 || r.Report.Dispatches != 1 {
		return nil, fmt.Errorf("%s: %d operations on the CPU and %d dispatches, want 0 and 1", g.name, r.Report.CPUOps,
			r.Report.Dispatches)
	}
	codec, err := td.CodecOf(cost.Simulated.TD)
	if err != nil {
		return nil, err
	}
	p := &program{}
	if g.copies {
		for _, c := range r.E5.Functions[0].Chains() {
			p.in, p.out = p.in+int64(c.HandedIn), p.out+int64(c.HandedOut)
		}
	}
	at := map[tasks]int{}
	k := 0
	for _, proc := range r.HWX.Procedures() {
		words, off, ok := r.HWX.Text().Of(proc)
		if !ok {
			return nil, fmt.Errorf("%s: procedure %s has no text", g.name, proc.Name)
		}
		chain, err := codec.DecodeChain(words, off, proc.FirstWords)
		if err != nil {
			return nil, err
		}
		for _, x := range chain {
			t := tasks{work: cost.WorkOf(x.Task, cost.Simulated), part: r.Report.TaskList[k].Part}
			if e := cost.Estimate(x.Task, cost.Simulated); compressed && e.Dense > 0 {
				t.work = e.In(&form, t.work.Cores)
			}
			k++
			i, ok := at[t]
			if !ok {
				i = len(p.tasks)
				at[t] = i
				p.tasks = append(p.tasks, t)
			}
			p.tasks[i].n++
		}
	}
	return p, nil
}

// times returns what a call of the program takes with some rates, by part.
func (p *program) times(r *cost.Rates) (t cost.PartTimes) {
	t[cost.PartDispatch] = cost.Micros(r.Dispatch)
	t[cost.PartWork] = r.Handing(p.in, p.out)
	for i := range p.tasks {
		x := &p.tasks[i]
		s := x.work.Times(r, cost.Simulated)
		t[x.part] += s[s.Binding()] * cost.Time(x.n)
	}
	return t
}
