package lower

import (
	"crypto/sha256"
	"fmt"
	"strconv"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
)

// small is the number of bytes up to which a digest has the values of a constant. Of a larger one it has the place in
// memory, so that digests compare segments of one process.
const small = 64

// digest collects what a segment is lowered to depends on.
type digest struct {
	data   []byte
	number map[*ir.Value]int64 // of the values so far
}

func (d *digest) int(n int64)     { d.data = append(strconv.AppendInt(d.data, n, 36), 0x20) }
func (d *digest) string(s string) { d.int(int64(len(s))); d.data = append(d.data, s...) }

// value adds an operand or a result, which is nil for an absent one.
func (d *digest) value(v *ir.Value) {
	if v == nil {
		d.int(-1)
		return
	}
	if n, ok := d.number[v]; ok {
		d.int(n)
		return
	}
	n := int64(len(d.number))
	d.number[v] = n
	d.int(n)
	t := &v.Type
	d.int(int64(t.Kind))
	d.int(int64(t.DType))
	d.int(t.Len)
	d.int(int64(len(t.Shape)))
	for _, x := range t.Shape {
		d.int(x)
	}
	switch c := v.Const; {
	case c == nil:
		d.int(0)
	case len(c.Data) <= small && c.Strings == nil && c.Packing == nil:
		d.int(1)
		d.string(string(c.Data))
	default:
		d.int(2)
		d.string(fmt.Sprintf("%p", c))
	}
}

// source adds the operation that computes a value, with depth levels of what its operands come from.
func (d *digest) source(v *ir.Value, depth int) {
	if v == nil || v.Def == nil || v.Const != nil || depth < 0 {
		d.int(0)
		return
	}
	d.int(1)
	d.op(v.Def, depth)
}

// op adds an operation, with depth levels of what its operands come from.
func (d *digest) op(op *ir.Op, depth int) {
	d.string(op.Def.Name)
	d.string(op.Place.Rule)
	d.int(int64(len(op.Blocks)))
	for _, args := range op.Args {
		d.int(int64(len(args)))
		for _, v := range args {
			d.value(v)
			d.source(v, depth-1)
		}
	}
	d.int(int64(len(op.Results)))
	for _, v := range op.Results {
		d.value(v)
	}
}

// sourceDepth is how far rules look from an operation at what its operands come from, in other segments too.
const sourceDepth = 2

// Digest returns a digest that is equal for segments that are lowered to equal tasks, up to the addresses of constants,
// if Codec, target and Keep are equal.
func (seg *Segment) Digest() [sha256.Size]byte {
	d := &digest{number: make(map[*ir.Value]int64, 4*len(seg.Ops))}
	bars := portRegisters(seg)
	for _, vs := range [...][]*ir.Value{seg.Inputs, seg.Outputs} {
		d.int(int64(len(vs)))
		for _, v := range vs {
			d.value(v)
			d.int(int64(bars[v]))
			d.source(v, sourceDepth)
		}
	}
	place := make(map[*ir.Op]int, len(seg.Ops))
	for i, op := range seg.Ops {
		place[op] = i
	}
	for _, op := range seg.Ops {
		d.op(op, 0)
		d.int(int64(len(seg.Fused[op])))
		for _, f := range seg.Fused[op] {
			d.int(int64(place[f]))
		}
	}
	return sha256.Sum256(d.data)
}

// Again returns what another segment of the same digest, of, was lowered to, for seg. The constants go from one section
// to the other; both are tracked.
func (p *Procedure) Again(seg, of *Segment, sec, from *weights.Section) (*Procedure, error) {
	ops, values := make(map[*ir.Op]*ir.Op, len(seg.Ops)), make(map[*ir.Value]*ir.Value, 4*len(seg.Ops))
	pair := func(old, now *ir.Op) {
		ops[old] = now
		for i, args := range old.Args {
			for k, v := range args {
				values[v] = now.Args[i][k]
			}
		}
	}
	for i, op := range of.Ops {
		pair(op, seg.Ops[i])
	}
	for i, v := range of.Outputs {
		if w := seg.Outputs[i]; v.Def != nil && ops[v.Def] == nil { // passed on
			pair(v.Def, w.Def)
		}
	}
	out := *p
	out.Name, out.Exceeds = seg.Name, nil
	out.Inputs, out.Outputs = again(p.Inputs, seg, seg.Inputs), again(p.Outputs, seg, seg.Outputs)
	out.Infos = make([]TaskInfo, len(p.Infos))
	for i, x := range p.Infos {
		x.Op = ops[x.Op]
		out.Infos[i] = x
	}
	out.Tables = make([]TableUse, len(p.Tables))
	for i, x := range p.Tables {
		x.Op = ops[x.Op]
		out.Tables[i] = x
	}
	out.Constants = make([]ConstantUse, len(p.Constants))
	before := sec.Exceeds()
	for i, x := range p.Constants {
		if err := sec.Take(from, x.Offset); err != nil {
			return nil, err
		}
		x.Offset = sec.Last()
		x.Op, x.Table, x.Values, x.Bias = ops[x.Op], ops[x.Table], values[x.Values], values[x.Bias]
		if err := sec.Exceeds(); err != before && out.Exceeds == nil {
			out.Exceeds = exceeds(x.Op, err)
		}
		out.Constants[i] = x
	}
	return &out, nil
}

// again returns surfaces of the values of another segment.
func again(list []Surface, seg *Segment, values []*ir.Value) []Surface {
	out := make([]Surface, len(list))
	for i, s := range list {
		s.Value, s.Name = values[i], seg.Ports[values[i]]
		out[i] = s
	}
	return out
}
