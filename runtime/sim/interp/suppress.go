package interp

import (
	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpNonMaximumSuppression: nonMaximumSuppression,
	ir.OpClassify:              classify,
})

// corners is a box by its corners.
type corners struct{ x0, y0, x1, y1 float32 }

// overlap returns intersection over union, or 0 if either box has no area.
func (a corners) overlap(b corners) float32 {
	areaA := float32(a.x1-a.x0) * float32(a.y1-a.y0)
	areaB := float32(b.x1-b.x0) * float32(b.y1-b.y0)
	if !(areaA > 0) || !(areaB > 0) {
		return 0
	}
	both := float32(max(0, min(a.x1, b.x1)-max(a.x0, b.x0)) * max(0, min(a.y1, b.y1)-max(a.y0, b.y0)))
	return both / (areaA + areaB - both)
}

// nonMaximumSuppression keeps, best first and at most max_boxes, the boxes (x and y of the centre, width, height) that
// no kept box of a higher score overlaps by more than iou_threshold. A box's score is its highest, its class the first
// that has it. Rows after the kept boxes are 0 with index -1. If no box has a score of score_threshold or more, the
// best one is still kept.
func nonMaximumSuppression(c *call) []Tensor {
	boxes, scores := c.numeric(ir.ParamBoxes), c.numeric(ir.ParamScores)
	limit := float32(c.float(ir.ParamIOUThreshold, 0))
	floor, hasFloor := float32(c.float(ir.ParamScoreThreshold, 0)), c.op.Def.ParamIndex(ir.ParamScoreThreshold) >= 0
	most := c.imageSize(ir.ParamMaxBoxes, 0)
	perClass := c.bool(ir.ParamPerClassSuppression, false)
	if c.err != nil {
		return nil
	}
	// From iOS 17 on boxes are along the last axis.
	many, per := 1, 2
	if !hasFloor {
		many, per = 2, 1
	}
	bs, ss := boxes.Type.Shape, scores.Type.Shape
	if len(bs) != 3 || len(ss) != 3 || bs[per] != 4 || bs[0] != ss[0] || bs[many] != ss[many] || ss[per] == 0 {
		return c.fail("boxes has shape %s and scores has shape %s", ir.ShapeString(bs), ir.ShapeString(ss))
	}
	outShape := func(each int64) []int64 {
		s := []int64{bs[0], most, most}
		s[per] = each
		return s
	}
	if n := max(ss[per], 4); bs[0] > maxDim/n || most > (1<<40)/(n*max(bs[0], 1)) {
		return c.fail("argument max_boxes is %d, too large for %d images of %d numbers a box", most, bs[0], n)
	}
	bf, sf := c.floats(boxes), c.floats(scores)
	outB, outS := c.buffer(prod(outShape(4))), c.buffer(prod(outShape(ss[per])))
	if c.err != nil || !c.reserve(8*bs[0]*most) {
		return nil
	}
	index, count := make([]int64, bs[0]*most), make([]int64, bs[0])
	n, k, m := int(bs[many]), int(ss[per]), int(most)
	// at is the offset of number j of box i of all, of image b.
	at := func(b, all, each, i, j int) int {
		if many == 1 {
			return (b*all+i)*each + j
		}
		return (b*each+j)*all + i
	}
	for b := range int(bs[0]) {
		box, best, class := make([]corners, n), make([]float32, n), make([]int, n)
		for i := range n {
			v := [4]float32{}
			for j := range v {
				v[j] = bf[at(b, n, 4, i, j)]
			}
			hw, hh := float32(0.5*v[2]), float32(0.5*v[3])
			box[i] = corners{x0: v[0] - hw, y0: v[1] - hh, x1: v[0] + hw, y1: v[1] + hh}
			best[i] = sf[at(b, n, k, i, 0)]
			for j := 1; j < k; j++ {
				if s := sf[at(b, n, k, i, j)]; s > best[i] || best[i] != best[i] {
					best[i], class[i] = s, j
				}
			}
		}
		order := sorted(n, func(i int) float64 { return float64(best[i]) }, false)
		var kept []int
		for _, i := range order {
			if len(kept) == m || hasFloor && !(best[i] >= floor) {
				break
			}
			free := true
			for _, o := range kept {
				if (!perClass || class[o] == class[i]) && box[o].overlap(box[i]) > limit {
					free = false
					break
				}
			}
			if free {
				kept = append(kept, i)
			}
		}
		if len(kept) == 0 && n > 0 {
			kept = order[:1]
		}
		count[b] = int64(len(kept))
		for r := range m {
			index[b*m+r] = -1
			if r >= len(kept) {
				continue
			}
			i := kept[r]
			index[b*m+r] = int64(i)
			for j := range 4 {
				outB[at(b, m, 4, r, j)] = bf[at(b, n, 4, i, j)]
			}
			for j := range k {
				outS[at(b, m, k, r, j)] = sf[at(b, n, k, i, j)]
			}
		}
		if c.r.ctx.Err() != nil {
			return c.fail("the run was stopped: %v", c.r.ctx.Err())
		}
	}
	res := results(c.outFloats(0, outShape(4), outB), c.outFloats(1, outShape(ss[per]), outS),
		c.outInts(2, []int64{bs[0], most}, index))
	if hasFloor {
		res = append(res, c.outInts(3, []int64{bs[0]}, count))
	}
	return res
}

// classify returns the class of the highest probability, the first of equal ones,
// and the probabilities, in the order of classes.
func classify(c *call) []Tensor {
	p := c.numeric(ir.ParamProbabilities)
	classes, ok := c.opt(ir.ParamClasses)
	if !ok {
		return c.fail("argument classes is missing")
	}
	if c.err != nil {
		return nil
	}
	n, named := p.Elems(), classes.Elems()
	if classes.Type.Kind == ir.List {
		named = int(classes.Type.Len)
	}
	if classes.Type.DType == ir.String {
		named = len(classes.Strings)
	}
	if n == 0 || named != n {
		return c.fail("probabilities has %d elements and classes %d", n, named)
	}
	vs := c.values(p)
	if c.err != nil {
		return nil
	}
	i := sorted(n, func(i int) float64 { return vs[i] }, false)[0]
	label := Tensor{Type: ir.Scalar(classes.Type.DType)}
	if classes.Type.DType == ir.String {
		label.Strings = []string{classes.Strings[i]}
	} else {
		label.Data = c.bytes(classes.Type.DType, nil)
		packInts(label.Data, classes.Type.DType, []int64{classes.Const().Int(int64(i))})
	}
	return results(label, p)
}
