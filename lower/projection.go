package lower

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
)

// Products with constants that compute the operands of a dynamic matmul, as a layer of attention does with its queries,
// keys and values, write them in the form in which that product reads them (case chain_block_d512_s128_proj1).

// imageOfDynamic reports whether only a dynamic matmul reads v, as the matrix y with rows and columns exchanged. The
// columns of v are then that product's channels, as a product with a constant computes them.
func (b *builder) imageOfDynamic(v *ir.Value) bool {
	op := b.read[v].last
	if !b.feedsDynamic(v) || op.Arg(ir.ParamY) != v {
		return false
	}
	a, err := ir.MatMulAttrs(op)
	return err == nil && a.TransposeY
}

// feedsDynamic reports whether only a dynamic matmul of two matrices reads v.
func (b *builder) feedsDynamic(v *ir.Value) bool {
	op := b.read[v].last
	return op != nil && b.read[v].n == 1 && b.outs[v] == nil && isDynamicMatMul(op) && oneMatrix(op)
}

// oneMatrix reports whether the result of op is one matrix.
func oneMatrix(op *ir.Op) bool {
	out := op.Results[0].Type
	return out.Rank() >= 2 && out.Elems() == out.Shape[out.Rank()-1]*out.Shape[out.Rank()-2]
}

// transposedReader returns the dynamic matmul that reads v as its y, and that is computed with rows and columns
// exchanged, so that the columns of v are its kernel; nil if there is none.
func (b *builder) transposedReader(v *ir.Value) *ir.Op {
	op := b.read[v].last
	if op == nil || !b.transposesProduct(op) || op.Arg(ir.ParamY) != v {
		return nil
	}
	return op
}

// transposesProduct reports whether a dynamic matmul is computed with rows and columns exchanged: its y is the result
// of a product with a constant, and a product with a constant is the only one to read its result, as channels that are
// columns. The columns of y make several equal pieces.
func (b *builder) transposesProduct(op *ir.Op) bool {
	if !isDynamicMatMul(op) || !oneMatrix(op) {
		return false
	}
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	a, err := ir.MatMulAttrs(op)
	if err != nil || a.TransposeX || a.TransposeY || x == y ||
		b.outs[y] != nil || b.read[y].n != 1 || b.vals[y] != nil || !constProduct(y.Def) {
		return false
	}
	out := op.Results[0]
	if f := b.fused[op]; len(f) > 0 {
		out = f[len(f)-1].Results[0]
	}
	m, k, n := out.Type.Shape[out.Type.Rank()-2], x.Type.Shape[x.Type.Rank()-1], y.Type.Shape[y.Type.Rank()-1]
	lanes := b.pieceLanes(n, k, m)
	return b.feedsProduct(out) && lanes > 1 && n%(b.t.Cores*lanes) == 0 &&
		k*align(m*elemBytes, b.t.L2Granule) <= b.t.L2Bytes/2
}

// constProduct reports whether op multiplies the rows of its x with one matrix of constants.
func constProduct(op *ir.Op) bool {
	if op == nil || op.Is(ir.OpLinear) {
		return op != nil
	}
	if !op.Is(ir.OpMatMul) || !op.Arg(ir.ParamY).IsConst() || !constMatrix(op.Arg(ir.ParamY)) {
		return false
	}
	a, err := ir.MatMulAttrs(op)
	return err == nil && !a.TransposeX
}

// piecesKernel is the kernel of a product that is computed with rows and columns exchanged, and the image that it
// multiplies.
type piecesKernel struct {
	rows        kernelRows
	lanes, outs int64
	image       *view
}

// productAsKernel multiplies the rows of x with a constant kernel; the result is the kernel of reader, a dynamic
// matmul, whose image is transposed before. The image waits in L2 meanwhile, and the tasks name its place in scratch.
func (b *builder) productAsKernel(reader *ir.Op, x *view, k *weights.Kernel, e *epilogue) error {
	p, err := b.tensor(reader.Arg(ir.ParamX))
	if err != nil {
		return err
	}
	rows := asRows(matrixOf(p))
	if rows == nil {
		return fmt.Errorf("operand of shape %v is not laid out as rows", p.dims)
	}
	image := b.transposed(rows)
	image.buf.keepScratch()
	outs, sum := int64(k.Out), x.dims[1]
	lanes := b.pieceLanes(outs, sum, rows.dims[0])
	dst := piecesSurface(outs, sum, lanes)
	b.pieces[e.out] = piecesKernel{
		rows:  kernelRows{buf: dst.buf, step: dst.stride[0], size: dst.stride[0]},
		lanes: lanes,
		outs:  outs,
		image: image,
	}
	return b.imageByConst(x, dst, k, e, false)
}

// transposedProduct multiplies with a kernel that productAsKernel has written. The result is the image of the product
// that reads it.
func (b *builder) transposedProduct(k piecesKernel, e *epilogue) error {
	next := b.temp([]int64{k.outs, k.image.dims[1]})
	b.images[e.out] = next
	b.multiplyPieces(k.rows, k.lanes, k.outs, k.image, next, e)
	return nil
}
