package docs

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/coreml"
)

// eachRules calls f for the rules that zinc has, the default first.
func eachRules(f func(r *coreml.Rules)) {
	for _, n := range coreml.Names() {
		r, err := coreml.Named(n)
		if err != nil {
			panic(err)
		}
		f(r)
	}
}

func writeCoreMLRules(w *bytes.Buffer) {
	head(w, "rules", "chip", "system", "source")
	eachRules(func(r *coreml.Rules) { row(w, "`"+r.Name+"`", r.Chip, r.System, strings.Join(r.Sources, "; ")) })
}

func writeCoreMLChanges(w *bytes.Buffer) {
	var names []string
	var all []*coreml.Rules
	eachRules(func(r *coreml.Rules) { names, all = append(names, r.Name+" (ms)"), append(all, r) })
	head(w, append([]string{"from", "to"}, names...)...)
	places := []coreml.Place{coreml.Caller}
	for b := range coreml.NumBackends {
		places = append(places, coreml.At(b))
	}
	for _, from := range places {
		for _, to := range places {
			cells := []string{from.String(), to.String()}
			known := false
			for _, r := range all {
				ms, ok := r.Change(from, to)
				known = known || ok
				cells = append(cells, map[bool]string{true: fmt.Sprintf("%g", ms), false: "not known"}[ok])
			}
			if known && from != to {
				row(w, cells...)
			}
		}
	}
}

func writeCoreMLLimits(w *bytes.Buffer) {
	head(w, "rules", "limit", "value")
	eachRules(func(r *coreml.Rules) {
		for _, l := range r.Limits {
			row(w, "`"+r.Name+"`", l.Name, fmt.Sprint(l.Value))
		}
	})
}

func writeCoreMLRefusals(w *bytes.Buffer) {
	head(w, "rules", "backend", "operations", "reason", "evidence")
	eachRules(func(r *coreml.Rules) {
		type group struct{ backend, reason, source string }
		by := map[group][]string{}
		var order []group
		for _, x := range r.Refuse {
			g := group{x.Backend.String(), strings.ReplaceAll(x.Reason, `"`+x.Operation+`"`, `"NAME"`), x.Source}
			if by[g] == nil {
				order = append(order, g)
			}
			by[g] = append(by[g], "`"+x.Operation+"`")
		}
		for _, g := range order {
			row(w, "`"+r.Name+"`", g.backend, strings.Join(by[g], ", "), g.reason, g.source)
		}
	})
}

func writeCoreMLRates(w *bytes.Buffer) {
	head(w, "rules", "operation", "if", "perhaps if", "engine", "classic_cpu", "bnns", "GPU", "evidence")
	eachRules(func(r *coreml.Rules) {
		for _, x := range r.Rates {
			name := cmp.Or(map[string]string{"*": "any other"}[x.Operation], "`"+x.Operation+"`")
			cells := []string{"`" + r.Name + "`", name, x.When.String(), x.Maybe.String()}
			for _, b := range []coreml.Backend{coreml.Engine, coreml.ClassicCPU, coreml.BNNS, coreml.GPU} {
				cells = append(cells, x.Times[b].String())
			}
			row(w, append(cells, x.Source)...)
		}
	})
}
