package ir

import "fmt"

// Packing is how the values of a constant can be stored in fewer bytes. The values are there as well: passes compute
// with them, and lowering decides what it stores.
type Packing struct {
	// Codebook has the entries of a palette, packed like the values, each of which is one of them: 2^n entries, n at
	// most 8. Values that are assumed (Const.Assumed) need not be among them.
	Codebook []byte
}

// maxIndexBits is the largest width of a codebook's index.
const maxIndexBits = 8

// newPacking returns the packing of values of a type with a codebook, nil if it is not one for them.
func newPacking(t DType, codebook []byte) *Packing {
	if t.Bits() < 8 {
		return nil
	}
	n := len(codebook) / (t.Bits() / 8)
	if n < 2 || n&(n-1) != 0 || n > 1<<maxIndexBits || n*t.Bits()/8 != len(codebook) {
		return nil
	}
	return &Packing{Codebook: codebook}
}

// PackedAs gives the constant the packing of another, some of whose values it has, in any order and number.
func (c *Const) PackedAs(from *Const) *Const {
	c.Packing = from.Packing
	return c
}

// PackedBy gives the constant, each of whose values follows from one of another in the same way, what f makes of the
// other's codebook, which it gets as a constant of one row. f may return nil.
func (c *Const) PackedBy(from *Const, f func(entries *Const) *Const) *Const {
	if from.Packing == nil {
		return c
	}
	size := from.Type.DType.Bits() / 8
	book := from.Packing.Codebook
	row := &Const{Type: TensorOf(from.Type.DType, 1, int64(len(book)/size)), Data: book}
	if e := f(row); e != nil && e.Type.DType == c.Type.DType {
		c.Packing = newPacking(c.Type.DType, e.Data)
	}
	return c
}

// only returns the first of several constants, nil of none.
func only(cs []*Const, err error) *Const {
	if len(cs) == 0 || err != nil {
		return nil
	}
	return cs[0]
}

// moving returns the fold of an operation that moves the values of its operand x, which keep their packing.
func moving(fold func(op *Op) ([]*Const, error)) func(op *Op) ([]*Const, error) {
	return func(op *Op) ([]*Const, error) {
		cs, err := fold(op)
		for _, c := range cs {
			c.PackedAs(op.Arg(ParamX).Const)
		}
		return cs, err
	}
}

// VerifyPackings returns an error for a constant with a value that is not in its codebook and is not assumed. Verify
// leaves this out: it reads all values.
func VerifyPackings(p *Program) error {
	seen := map[*Const]bool{}
	var bad error
	for _, f := range p.Funcs {
		Walk(f, func(op *Op) {
			op.Operands(func(_ *Param, v *Value) {
				if v == nil || !v.IsConst() || seen[v.Const] {
					return
				}
				seen[v.Const] = true
				if c := v.Const; bad == nil && c.Packing != nil && c.Assumed == nil && !c.Packing.packs(c) {
					bad = fmt.Errorf("%s: %s: a value of %s is not in its codebook", p.PosString(op.Pos), op.Def.Name,
						v.Name)
				}
			})
		})
	}
	return bad
}

// packs reports whether every value of the constant is an entry of the codebook.
func (p *Packing) packs(c *Const) bool {
	size := c.Type.DType.Bits() / 8
	known := map[string]bool{}
	for at := 0; at < len(p.Codebook); at += size {
		known[string(p.Codebook[at:at+size])] = true
	}
	for at := 0; at < len(c.Data); at += size {
		if !known[string(c.Data[at:at+size])] {
			return false
		}
	}
	return true
}
