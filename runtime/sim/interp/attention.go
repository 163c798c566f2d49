package interp

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{ir.OpScaledDotProductAttention: attention})

// attention computes softmax(query keyT / sqrt(E) + mask) value. A boolean mask keeps the elements where it is true. A
// row that is masked everywhere produces NaN.
func attention(c *call) []Tensor {
	q, k, v := c.numeric(ir.ParamQuery), c.numeric(ir.ParamKey), c.numeric(ir.ParamValue)
	if c.err != nil {
		return nil
	}
	qs, ks, vs := q.Type.Shape, k.Type.Shape, v.Type.Shape
	n := len(qs)
	if n < 2 || len(ks) != n || len(vs) != n || ks[n-1] != qs[n-1] || vs[n-2] != ks[n-2] {
		return c.fail("query %s, key %s and value %s do not go together", ir.ShapeString(qs), ir.ShapeString(ks),
			ir.ShapeString(vs))
	}
	lead, ok1 := broadcastShape(qs[:n-2], ks[:n-2])
	lead, ok2 := broadcastShape(lead, vs[:n-2])
	if !ok1 || !ok2 {
		return c.fail("the leading dimensions of query %s, key %s and value %s do not broadcast", ir.ShapeString(qs),
			ir.ShapeString(ks), ir.ShapeString(vs))
	}
	l, s, e, ev := int(qs[n-2]), int(ks[n-2]), int(qs[n-1]), int(vs[n-1])
	score := append(slices.Clone(lead), int64(l), int64(s))
	shape := append(slices.Clone(lead), int64(l), int64(ev))
	if ir.TensorOf(ir.FP32, score...).Bytes() < 0 || ir.TensorOf(ir.FP32, shape...).Bytes() < 0 {
		return c.fail("the scores of shape %s are too many", ir.ShapeString(score))
	}
	one := func(s []int64) []int64 { return append(slices.Clone(s[:n-2]), 1) }
	batch := append(slices.Clone(lead), 1)
	qf, kf, vf := c.macFloats(q), c.macFloats(k), c.macFloats(v)
	scores, out := c.buffer(prod(score)), c.buffer(prod(shape))
	first := batchJob{a: matrix{rows: l, cols: e}, b: matrix{rows: s, cols: e, t: true}, m: l, n: s, batch: batch,
		st: [][]int{broadcastStrides(one(qs), batch), broadcastStrides(one(ks), batch)}}
	first.run(c, qf, kf, scores)
	if c.err != nil {
		return nil
	}
	scale := float32(1 / math.Sqrt(float64(e)))
	for i := range scores {
		scores[i] *= scale
	}
	if m, ok := c.opt(ir.ParamAttnMask); ok {
		if b, fits := broadcastShape(m.Type.Shape, score); !fits || !slices.Equal(b, score) {
			return c.fail("attn_mask has shape %s, the scores %s", ir.ShapeString(m.Type.Shape), ir.ShapeString(score))
		}
		ms := c.floats(m)
		if c.err != nil {
			return nil
		}
		keep := m.Type.DType == ir.Bool
		zip2(c, score, scores, score, ms, m.Type.Shape, scores, func(x, y float32) float32 {
			switch {
			case keep && y == 0:
				return float32(math.Inf(-1))
			case keep:
				return x
			}
			return x + y
		})
	}
	if s > 0 {
		c.parallel(len(scores)/s, 1+4096/s, func(lo, hi int) {
			for r := lo; r < hi; r++ {
				softmaxLane(scores, r*s, 1, s, c.ane)
			}
		})
	}
	second := batchJob{a: matrix{rows: l, cols: s}, b: matrix{rows: s, cols: ev}, m: l, n: ev, batch: batch,
		st: [][]int{broadcastStrides(batch, batch), broadcastStrides(one(vs), batch)}}
	second.run(c, scores, vf, out)
	return results(c.outMAC(0, shape, out))
}
