package verify

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// A rule returns enclosures of the results; ts are the results without errors.
type rule func(s *statement, ts []interp.Tensor) ([]*enclosure, error)

// rules has the operations that are neither curves nor monotone movements.
var rules map[*ir.Operation]rule

func init() {
	rules = map[*ir.Operation]rule{
		ir.OpAdd: sum(false), ir.OpSub: sum(true), ir.OpMul: product, ir.OpRealDiv: quotient,
		ir.OpConv: dot, ir.OpConvTranspose: dot, ir.OpLinear: dot, ir.OpMatMul: dot, ir.OpEinsum: dot,
		ir.OpReduceSum: total, ir.OpReduceMean: total, ir.OpAvgPool: total, ir.OpCumsum: total,
		ir.OpReduceL1Norm: total, ir.OpReduceSumSquare: squares,
		ir.OpSoftmax: softmax, ir.OpLayerNorm: layerNorm, ir.OpBatchNorm: batchNorm,
		ir.OpCast: cast, ir.OpSelect: choose, ir.OpEqual: equal, ir.OpNotEqual: equal,
		ir.OpGreater: steps(ir.ParamY), ir.OpGreaterEqual: steps(ir.ParamY),
		ir.OpLess: steps(ir.ParamX), ir.OpLessEqual: steps(ir.ParamX), ir.OpLogicalNot: steps(ir.ParamX),
		ir.OpLogicalAnd: steps(), ir.OpLogicalOr: steps(),
		ir.OpReduceArgmax: pick, ir.OpReduceArgmin: pick, ir.OpArgsort: pick, ir.OpTopK: pick,
	}
}

// steps is the rule of operations that are monotone in every operand and do not round: falling in the named operands,
// rising in the others. A result is between the results for the ends of the operands.
func steps(falling ...ir.ParamName) rule {
	return func(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
		low, high := map[*ir.Value]interp.Tensor{}, map[*ir.Value]interp.Tensor{}
		moved := false
		s.op.Operands(func(p *ir.Param, v *ir.Value) {
			a := s.of(v)
			if v.IsConst() {
				return
			}
			low[v], high[v] = a.t, a.t
			if a.exact() || a.unknown { // only the shape of an unknown value matters
				return
			}
			moved = true
			low[v], high[v] = like(a.t, a.lo), like(a.t, a.hi)
			if slices.Contains(falling, p.Name) {
				low[v], high[v] = high[v], low[v]
			}
		})
		if !moved {
			return enclosuresOf(ts, false), nil
		}
		return s.between(ts, low, high)
	}
}

// between returns the enclosures between the results for each of the operands.
func (s *statement) between(ts []interp.Tensor, operands ...map[*ir.Value]interp.Tensor) ([]*enclosure, error) {
	ends := make([][]interp.Tensor, len(operands))
	for k, with := range operands {
		var err error
		if ends[k], err = s.wide(s.op, with); err != nil {
			return nil, err
		}
	}
	out := make([]*enclosure, len(ts))
	for i, t := range ts {
		v := t.View32()
		out[i] = &enclosure{t: t, lo: s.memory.floats(len(v)), hi: s.memory.floats(len(v))}
		if len(ends) == 2 {
			out[i].between(v, ends[0][i].View32(), ends[1][i].View32())
			continue
		}
		from := [2][]float32{v, v}
		for _, e := range ends {
			out[i].include(from, e[i].View32())
			from = [2][]float32{out[i].lo, out[i].hi}
		}
	}
	return out, nil
}

// inexact returns whether any operand has an enclosure.
func (s *statement) inexact() bool {
	for _, a := range s.args {
		if !a.exact() {
			return true
		}
	}
	return false
}

// floatResult reports whether the operation computes in floats, so that it rounds.
func (s *statement) floatResult() bool { return s.op.Results[0].Type.DType.IsFloat() }

// onEngine is 1 for operations on the engine and 0 for others.
func (s *statement) onEngine() float64 {
	if s.isEngine() {
		return 1
	}
	return 0
}

// isEngine reports whether the engine computes the operation.
func (s *statement) isEngine() bool { return s.engine && s.op.Place.Unit == ir.Engine }
