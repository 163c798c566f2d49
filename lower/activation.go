package lower

import (
	"fmt"
	"strconv"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// tableOf names the lookup table of an operation and, where it has any, its
// parameters.
type tableOf struct {
	name   string
	params []string // attributes that are the table's parameters
	bias   string   // attribute added to the input ahead of the table
	root   bool     // computed as a sum over single channels (recorded for rsqrt; for log on a later target)
}

var tableOps = map[string]tableOf{
	"sigmoid":      {name: "sigmoid"},
	"tanh":         {name: "tanh"},
	"silu":         {name: "silu"},
	"erf":          {name: "erf"},
	"softplus":     {name: "softplus"},
	"softsign":     {name: "softsign"},
	"exp":          {name: "exp"},
	"exp2":         {name: "exp2"},
	"sqrt":         {name: "sqrt", root: true},
	"rsqrt":        {name: "rsqrt", bias: "epsilon", root: true},
	"log":          {name: "log", bias: "epsilon", root: true},
	"atan":         {name: "atan"},
	"leaky_relu":   {name: "leaky_relu", params: []string{"alpha"}},
	"elu":          {name: "elu", params: []string{"alpha"}},
	"sigmoid_hard": {name: "sigmoid_hard", params: []string{"alpha", "beta"}},
	"scaled_tanh":  {name: "scaled_tanh", params: []string{"alpha", "beta"}},
}

var geluTables = map[string]string{
	"EXACT":                 "gelu",
	"TANH_APPROXIMATION":    "gelu_tanh_approximation",
	"SIGMOID_APPROXIMATION": "gelu_sigmoid_approximation",
}

// tableFor makes the table of an operation without an input bias or a factor
// behind it, or reports that it has none.
func tableFor(op *ir.Op) (*weights.Activation, bool) {
	a, bias, err := activation(op)
	return a, err == nil && bias == 0 && a.After == td.HalfOne
}

// activation makes the table of an operation and the fp16 bias of its input.
func activation(op *ir.Op) (*weights.Activation, float64, error) {
	name := op.Def.Name
	if name == "gelu" {
		mode, ok := ir.ArgString(op, "mode")
		if !ok || geluTables[mode] == "" {
			return nil, 0, refuse(target.RuleActivation, "mode", strconv.Quote(mode),
				"EXACT, SIGMOID_APPROXIMATION, TANH_APPROXIMATION", fmt.Sprintf("gelu mode %q has no table", mode))
		}
		a, err := weights.Activate(geluTables[mode])
		return a, 0, err
	}
	row, ok := tableOps[name]
	if !ok {
		return nil, 0, refuse(target.RuleActivation, "activation", name, "one with a table", "no table computes "+name)
	}
	var params []float64
	for _, p := range row.params {
		v, ok := ir.ArgFloat(op, p)
		if !ok {
			return nil, 0, unknownNow(p, p)
		}
		params = append(params, v)
	}
	bias := 0.0
	if row.bias != "" {
		v, ok := ir.ArgFloat(op, row.bias)
		if !ok {
			return nil, 0, unknownNow(row.bias, row.bias)
		}
		// What rounds to nothing in fp16 is nothing.
		bias = weights.FromHalf(weights.ToHalf(v))
	}
	a, err := weights.Activate(row.name, params...)
	if err != nil {
		return nil, 0, refuse(target.RuleActivation, "parameters", fmt.Sprint(params), "ones that a table can hold",
			err.Error())
	}
	return a, bias, nil
}

func acceptTable(op *ir.Op, l *limits) error {
	if _, _, err := activation(op); err != nil {
		return err
	}
	return l.tensors(op)
}

func lowerTable(b *builder, op *ir.Op) error {
	a, bias, err := activation(op)
	if err != nil {
		return err
	}
	x, err := b.tensor(op.Arg("x"))
	if err != nil {
		return err
	}
	b.useTable(op, a)
	root := tableOps[op.Def.Name].root
	dst := b.resultOf(op.Results[0])
	to := dst
	if a.After != td.HalfOne {
		to = b.temp(dst.dims)
	}
	b.pointwise(func(channels int64) *draft {
		d := copying()
		d.ne.bias = bias
		if root {
			d.ne.op, d.ne.category = td.NESum, 1
		}
		b.fillTable(d, a, channels)
		return d
	}, []*surf{x}, to)
	if a.After != td.HalfOne {
		// The factor is the planar engine's last one, a number of fp16 (log on a
		// later target).
		b.pointwise(func(int64) *draft {
			d := planar(td.PlanarOne)
			d.pe.final = float32(weights.FromHalf(a.After))
			return d
		}, []*surf{to}, dst)
	}
	return nil
}

// tableTask emits a table over a tensor.
func (b *builder) tableTask(a *weights.Activation, x, dst *surf) {
	b.pointwise(func(channels int64) *draft {
		d := copying()
		b.fillTable(d, a, channels)
		return d
	}, []*surf{x}, dst)
}
