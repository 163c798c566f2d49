package reduce

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// writes reports whether op or an operation in its blocks changes a state.
func writes(op *ir.Op) bool {
	if op.Def.Effect == ir.Writes {
		return true
	}
	for _, b := range op.Blocks {
		if slices.ContainsFunc(b.Ops, writes) {
			return true
		}
	}
	return false
}

// replace makes every reader of the keys in b, and in blocks inside, read what represents them.
func replace(b *ir.Block, with map[*ir.Value]*ir.Value) {
	var r ir.Rewriter
	for old, v := range with {
		r.Replace(old, v)
	}
	r.Block(b)
}

// sweep drops operations whose results nothing reads and which change no state.
func sweep(b *ir.Block, live map[*ir.Value]bool) {
	for _, v := range b.Outputs {
		live[v] = true
	}
	kept := make([]*ir.Op, 0, len(b.Ops))
	for i := len(b.Ops) - 1; i >= 0; i-- {
		op := b.Ops[i]
		if !writes(op) && !slices.ContainsFunc(op.Results, func(v *ir.Value) bool { return live[v] }) {
			continue
		}
		for _, inner := range op.Blocks {
			sweep(inner, live)
		}
		op.Reads(func(v *ir.Value) { live[v] = true })
		kept = append(kept, op)
	}
	slices.Reverse(kept)
	b.Ops = kept
}

// reinfer runs the shape rules over a block again. A result whose operands are as
// they were keeps its type, which may know dimensions that the rule does not.
func reinfer(b *ir.Block, changed map[*ir.Value]bool) error {
	for _, op := range b.Ops {
		touched := len(op.Blocks) > 0
		op.Operands(func(_ *ir.Param, v *ir.Value) { touched = touched || changed[v] })
		for _, inner := range op.Blocks {
			if err := reinfer(inner, changed); err != nil {
				return err
			}
		}
		if !touched {
			continue
		}
		ts, err := ir.InferOp(op)
		if err != nil {
			return fmt.Errorf("%s: %w", op.Def.Name, err)
		}
		if len(ts) != len(op.Results) {
			return fmt.Errorf("%s gives %d results, %d are named", op.Def.Name, len(ts), len(op.Results))
		}
		for i, t := range ts {
			if r := op.Results[i]; !t.Equal(r.Type) && !(len(op.Blocks) > 0 && t.Fits(r.Type)) {
				if t.Elems() == 0 && r.Type.Elems() != 0 {
					return fmt.Errorf("%s: %s would be empty", op.Def.Name, r.Name)
				}
				r.Type = t
				changed[r] = true
			}
		}
	}
	return nil
}

// legalise makes an edited program whole: dead operations go, types follow from the
// shape rules, and the verifier has the last word. changed are the values whose
// type or constant is another.
func legalise(p *ir.Program, changed map[*ir.Value]bool) error {
	for _, f := range p.Funcs {
		sweep(f.Body, map[*ir.Value]bool{})
		if err := reinfer(f.Body, changed); err != nil {
			return err
		}
		if len(f.Body.Outputs) == 0 && !slices.ContainsFunc(f.Body.Ops, writes) {
			return fmt.Errorf("function %s gives nothing", f.Name)
		}
	}
	return ir.Verify(p)
}

// hasher makes the keys of programs. The digest of a constant is made once.
type hasher struct {
	digest map[*ir.Const][sha256.Size]byte
}

type key [sha256.Size]byte

func (h *hasher) constant(c *ir.Const) [sha256.Size]byte {
	d, ok := h.digest[c]
	if !ok {
		d = sha256.Sum256(c.Data)
		h.digest[c] = d
	}
	return d
}

// key returns the digest of a program's text and of the blobs that it uses.
func (h *hasher) key(t *unbuild.Text) key {
	sum := sha256.New()
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(t.MIL)))
	sum.Write(n[:])
	sum.Write(t.MIL)
	for _, c := range t.Blobs {
		d := h.constant(c)
		io.WriteString(sum, c.Type.String())
		sum.Write(d[:])
	}
	return key(sum.Sum(nil))
}
