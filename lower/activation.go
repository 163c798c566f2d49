package lower

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// summed are the operations whose table is computed as a sum over single channels (recorded for rsqrt, and for log on a
// later target; records show that sqrt is not one of them).
var summed = []*ir.Operation{ir.OpRsqrt, ir.OpLog}

// tabled returns the operations that lookup tables compute.
func tabled() (os []*ir.Operation) {
	for _, o := range ir.Operations {
		if o.Modes != nil || o.Curve != nil && o.Curve.Table != "" {
			os = append(os, o)
		}
	}
	return os
}

// tableFor returns the table of an operation on one tensor that needs no input bias and no factor after it, or reports
// that there is none.
func tableFor(op *ir.Op) (*weights.Activation, bool) {
	if op.Is(ir.OpClip, ir.OpRelu6) {
		a, err := clipTable(op)
		return a, err == nil
	}
	if name := binaries[op.Def.Operation].table; name != "" {
		c := scalarConst(op)
		if c == nil {
			return nil, false
		}
		a, err := weights.Activate(name, c.Float(0))
		return a, err == nil
	}
	a, bias, err := activation(op)
	return a, err == nil && bias == 0 && a.After == td.FP16One
}

// activation returns the table of an operation and the fp16 bias of its input.
func activation(op *ir.Op) (*weights.Activation, float64, error) {
	k := ir.CurveOf(op)
	switch modes := op.Def.Modes; {
	case modes != nil && k == nil:
		mode, _ := ir.ArgString(op, ir.ParamMode)
		return nil, 0, target.Refuse(target.RuleActivation, "mode", strconv.Quote(mode),
			strings.Join(slices.Sorted(maps.Keys(modes)), ", "),
			fmt.Sprintf("%s mode %q has no table", op.Def.Name, mode))
	case k == nil || k.Table == "":
		return nil, 0, target.Refuse(target.RuleActivation, "activation", op.Def.Name, "one with a table",
			"no table computes "+op.Def.Name)
	}
	var params []float64
	for _, p := range k.Params {
		v, ok := ir.ArgFloat(op, p)
		if !ok {
			return nil, 0, unknownNow(p, string(p))
		}
		params = append(params, v)
	}
	bias := 0.0
	if k.Shift {
		// A bias that rounds to zero in fp16 counts as zero.
		bias, params = weights.FromFP16(weights.ToFP16(params[0])), nil
	}
	a, err := weights.Activate(k.Table, params...)
	if err != nil {
		return nil, 0, target.Refuse(target.RuleActivation, "parameters", fmt.Sprint(params),
			"ones that a table can hold", err.Error())
	}
	return a, bias, nil
}

func acceptTable(op *ir.Op, l *limits) error {
	if _, _, err := activation(op); err != nil {
		return err
	}
	return l.tensors(op)
}

func lowerTable(b *builder, op *ir.Op, x *view) error {
	a, bias, err := activation(op)
	if err != nil {
		return err
	}
	b.useTable(op, a)
	root := op.Is(summed...)
	dst := b.resultOf(op.Results[0])
	to := dst
	if a.After != td.FP16One {
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
	}, []*view{x}, to)
	if a.After != td.FP16One {
		// The factor is the last one of the planar engine, an fp16 number (log on a later target).
		b.pointwise(func(int64) *draft {
			d := planar(td.PlanarOne)
			d.pe.final = float32(weights.FromFP16(a.After))
			return d
		}, []*view{to}, dst)
	}
	return nil
}

// tableTask emits a task that applies a table to a tensor.
func (b *builder) tableTask(a *weights.Activation, x, dst *view) {
	b.pointwise(func(channels int64) *draft {
		d := copying()
		b.fillTable(d, a, channels)
		return d
	}, []*view{x}, dst)
}
