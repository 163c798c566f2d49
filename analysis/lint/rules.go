package lint

import (
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// Rules is the list of rules, in the order of a statement's findings. docs/lint.md is generated from it.
var Rules = []Rule{
	{
		Name: "product-32768", ops: []*ir.Operation{ir.OpConv, ir.OpLinear, ir.OpMatMul}, check: checkProduct,
		Source: measured,
		Doc:    "A sum of products of several taps or channels, on the engine, can reach 32768.",
		Why: "The output port of the multiply-accumulate turns magnitudes of 32768 and more, half of the range of " +
			"fp16, into infinity; 32752 is the largest that passes.",
		Instead: "Divide weight and bias by a power of two and keep the values scaled until they are normalised or " +
			"clipped; a factor directly after the product is folded back into the weights.",
		By: witness.BySimulator, Holds: likeM1,
	},
	{
		Name: "fp16-overflow", check: checkOverflow, Source: fromIEEE,
		Doc:     "A result of type fp16 can exceed 65504.",
		Why:     "The largest fp16 number is 65504; from 65520 on the result is infinity.",
		Instead: "Scale the operands down by a power of two, clip them, or compute the statement in fp32 on the CPU.",
		By:      witness.BySimulator, Holds: everywhere,
	},
	{
		Name: "width-slice-4096", ops: []*ir.Operation{ir.OpSliceByIndex, ir.OpSliceBySize}, check: checkWidthSlice,
		Source: measured,
		Doc:    "A slice of the last axis that does not begin at 0, on the engine, of values that can reach 4095.",
		Why: "Such a slice is a fixed-point copy that multiplies by 16: 4094 4094 survives, 4095 rounds to 4096, " +
			"and from there on the result is infinity. Slices of other axes do not.",
		Instead: "Slice another axis (transpose first), or scale the values below 4095 before the slice.",
		By:      witness.ByANE, Holds: widthSliceH, on: slicesEnd,
	},
	{
		Name: "exp-overflow", ops: []*ir.Operation{ir.OpExp, ir.OpExp2}, check: checkExp, Source: measured,
		Doc: "An exponential in fp16 of an argument that can reach 11.09 (of base 2: 16).",
		Why: "exp(11.094) exceeds 65504 and is infinite. Sums and quotients after it become infinite or, as " +
			"infinity over infinity, 0.",
		Instead: "Subtract the largest argument first, or clip the argument.",
		By:      witness.BySimulator, Holds: everywhere,
	},
	{
		Name: "softmax-without-max", ops: []*ir.Operation{ir.OpExp, ir.OpExp2}, check: checkSoftmax, Source: fromIEEE,
		Doc: "exp(x) over the sum of exp(x) without the maximum subtracted, for x at which an exponential or the " +
			"sum exceeds fp16, or all exponentials are 0.",
		Why: "The exponential overflows from 11.09 on, the sum of n earlier, and from about -17 on every " +
			"exponential is 0, so that the sum is 0 as well.",
		Instead: "Use softmax, which subtracts the maximum, or subtract reduce_max(x) before exp.",
		By:      witness.BySimulator, Holds: everywhere,
	},
	{
		Name: "table-zero-tail", ops: zeroTailOps, check: checkZeroTail, Source: recorded,
		Doc: "An activation on the engine whose table ends in 0, followed by a logarithm, a division or a " +
			"reciprocal root.",
		Why: "Below its low bound the result of a table is exactly 0 (sigmoid from -9.94 down) although the " +
			"function is small and positive; the logarithm or reciprocal of that is infinite.",
		Instead: "Write the composition as one function: log(sigmoid(x)) is -softplus(-x), 1/sigmoid(x) is 1 + " +
			"exp(-x); or clip x above the table's bound.",
		By: witness.BySimulator, Holds: asRecorded,
	},
	{
		Name: "table-relative-error", ops: tableOps, check: checkTableError,
		Source: "the tables that zinc writes, identical to recorded ones where docs/deviations.md says so",
		Doc: "An activation on the engine all of whose arguments are where the table's error exceeds a sixteenth of " +
			"the largest result.",
		Why: "A table of 33 knots has an absolute error; where the function is close to 0, the error is a large " +
			"part of its value.",
		Instead: "Shift the argument's range to where the function has larger values, or use exp for the far " +
			"tail: its table has a relative error.",
		By: witness.BySimulator, Holds: asRecorded,
	},
	{
		Name: "log-of-zero", ops: []*ir.Operation{ir.OpLog}, check: checkLogZero, Source: measured,
		Doc: "A logarithm on the engine of x + epsilon that can be 0 in fp16.",
		Why: "The engine's result for log(+0) is -45440. An epsilon below 6e-8 is " +
			"0 in fp16 and does not help.",
		Instead: "Use an epsilon of at least 6.1e-5, the least normal fp16 number, or clip x from below.",
		By:      witness.BySimulator, Holds: likeM1,
	},
	{
		Name: "nan-to-zero", ops: []*ir.Operation{ir.OpSqrt, ir.OpRsqrt, ir.OpLog}, check: checkNegative,
		Source: measured,
		Doc:    "A root or a logarithm on the engine of an argument that can be negative.",
		Why: "The engine never produces a NaN: the root, reciprocal root or logarithm of a negative number is +0, " +
			"which hides the mistake.",
		Instead: "Clip the argument at 0 from below (maximum with a small positive number), or take its " +
			"absolute value.",
		By: witness.BySimulator, Holds: likeM1,
	},
	{
		Name: "constant-not-finite", ops: []*ir.Operation{ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpRealDiv, ir.OpMaximum,
			ir.OpMinimum, ir.OpConv,
			ir.OpLinear, ir.OpMatMul}, check: checkConstant, Source: measured,
		Doc: "A constant operand on the engine that contains NaN, or infinity in a product.",
		Why: "The engine reads NaN as +infinity, and 0 times infinity is +0 where the result in IEEE arithmetic is " +
			"NaN.",
		Instead: "Replace NaN with the intended number; mask by adding -10000 or with select instead of a " +
			"product with infinity.",
		By: witness.BySimulator, Holds: likeM1,
	},
	{
		Name: "subnormal-flushed", ops: []*ir.Operation{ir.OpConv, ir.OpLinear, ir.OpMatMul}, check: checkSubnormal,
		Source: measured,
		Doc: "A product on the engine of operands below 6.1e-5: a row of weights of which more than a sixteenth is " +
			"subnormal, or inputs that are all subnormal.",
		Why: "The multiply-accumulate reads subnormal fp16 operands as 0.",
		Instead: "Multiply the small operand by a power of two before the product and divide after it, or fold " +
			"the factor into the other operand.",
		By: witness.BySimulator, Holds: productsH, on: flushesProducts,
	},
	{
		Name: normalisedRowFlushed, ops: []*ir.Operation{ir.OpConv, ir.OpLinear, ir.OpMatMul},
		check: checkNormalisedRow, Source: measured,
		Doc: "A product on the engine over a row of n elements that softmax, or exp divided by its sum, normalised, " +
			"for n above 1024 times the largest factor that the row was multiplied by since.",
		Why: "The multiply-accumulate reads subnormal fp16 operands as 0. The elements of such a row have a mean of " +
			"1/n, and those below 2^-14 add up to less than n * 2^-14: more than a sixteenth of the row only for n " +
			"above 1024, and all of a row of more than 16384 equal elements. Zinc scales a normalised row that goes " +
			"straight into a matmul, and no other.",
		Instead: "Divide by the sum after the product, or multiply the row by a power of two before the product and " +
			"divide after it.",
		By: witness.BySimulator, Holds: productsH, on: flushesProducts,
	},
	{
		Name: "epsilon-lost", ops: []*ir.Operation{ir.OpRsqrt, ir.OpLog, ir.OpLayerNorm}, check: checkEpsilon,
		Source: fromIEEE,
		Doc:    "An epsilon on the engine that fp16 does not represent to a sixteenth: below 6e-8 it is 0.",
		Why: "The engine adds epsilon as an fp16 number. If it is lost, the reciprocal deviation of a nearly " +
			"constant row is infinite.",
		Instead: "Use an epsilon of at least 1e-6, or of 6.1e-5, the least normal fp16 number, where the argument " +
			"may be 0.",
		By: witness.BySimulator, Holds: engineFP16,
	},
	{
		Name: "reciprocal-overflow", ops: []*ir.Operation{ir.OpRealDiv}, check: checkReciprocal, Source: recorded,
		Doc: "A division in fp16 by values that can be closer to 0 than 1.53e-5.",
		Why: "The engine divides by multiplying with the reciprocal, rounded to fp16: it is infinite below 1.53e-5 " +
			"for any dividend, and 0 over 0 is +0.",
		Instead: "Keep the divisor away from 0: add an epsilon of at least 6.1e-5 or take the maximum with one.",
		By:      witness.BySimulator, Holds: everywhere,
	},
	{
		Name: "signed-zero", ops: []*ir.Operation{ir.OpRealDiv}, check: checkSignedZero, Source: measured,
		Doc: "A division on the engine by values that are never positive and can be 0.",
		Why: "The engine drops the sign of zero: 1/-0 is +infinity where the result in IEEE arithmetic is " +
			"-infinity.",
		Instead: "Divide by the negated value, kept above 0 by an epsilon, and negate the quotient.",
		By:      witness.BySimulator, Holds: likeM1,
	},
	{
		Name: "cancellation", ops: []*ir.Operation{ir.OpSub}, check: checkCancellation, Source: fromIEEE,
		Doc: "A difference in fp16 of computed values that can both exceed 1024 and be equal.",
		Why: "From 1024 on fp16 numbers are at least 1 apart: a small difference consists only of the rounding of " +
			"the operands.",
		Instead: "Subtract before the values grow: factor the difference (a*a - b*b is (a+b)*(a-b)), or subtract a " +
			"common offset from both operands first.",
		By: witness.BySimulator, Holds: everywhere,
	},
	{
		Name: "variance-as-difference", ops: []*ir.Operation{ir.OpSub}, check: checkVariance, Source: fromIEEE,
		Doc: "A variance computed in fp16 as E[x^2] - E[x]^2.",
		Why: "Both terms are rounded to eleven bits, so a deviation below a thirtieth of the mean is lost, and " +
			"the difference may be negative.",
		Instead: "Subtract the mean first and take the mean of the squares of the differences, or use layer_norm.",
		By:      witness.BySimulator, Holds: everywhere,
	},
	{
		Name: "mean-of-axes", ops: []*ir.Operation{ir.OpReduceMean}, check: checkMeanAxes, Source: modelled,
		Doc: "A mean on the engine over several axes, none of them the last, whose partial sum can exceed 65504.",
		Why: "Such axes are summed one after another, and the last sum applies the factor 1/n: the partial sums are " +
			"fp16.",
		Instead: "Take the mean of one axis after another.",
		By:      witness.BySimulator, Holds: zincsOwn,
	},
	{
		Name: "int-to-fp16", ops: []*ir.Operation{ir.OpCast}, check: checkIntToFP16, Source: fromIEEE,
		Doc: "Integers past 2048 cast to fp16.",
		Why: "fp16 represents integers up to 2048; larger ones are rounded to even numbers, to multiples of four " +
			"and so on, and from 65520 on become infinity.",
		Instead: "Keep the values in integers while they are indices or counts, or subtract an offset or divide " +
			"in int32 before the cast.",
		By: witness.BySimulator, Holds: everywhere,
	},
	{
		Name: "float-to-int", ops: []*ir.Operation{ir.OpCast}, check: checkFloatToInt,
		Source:  "the operation's definition",
		Doc:     "Floats cast to an integer type that cannot represent them.",
		Why:     "The cast saturates at the ends of the integer type.",
		Instead: "Clip the values to the intended range, or cast to a wider type.",
		By:      witness.BySimulator, Holds: "every target; the cast runs on the CPU",
	},
}

func checkProduct(s *site) *suspect {
	r := s.raw()
	if !s.engine || !taps(s.op) || r.Mag() < halfMAC {
		return nil
	}
	p := s.suspect(s.result(), r, "32768")
	p.Goals, p.Limit = extremes(s.result(), r, halfMAC, s.a.hots[s.op]), halfMAC
	k := powerOver(r.Mag(), halfMAC)
	if w := s.arg(ir.ParamWeight); w == nil && (s.arg(ir.ParamX).Const == nil && s.arg(ir.ParamY).Const == nil) {
		p.instead = fmt.Sprintf("Divide one of the operands by 2^%d before the product (attention: scale the "+
			"queries, not the scores) and multiply after the values are small again.", k)
		if r.Mag() >= inf || k > 40 {
			p.instead = "Scale one of the operands down before the product (attention: the queries, not the scores)."
		}
		return p.anyOf(s.result(), func(y float64) bool { return math.Abs(y) >= numerics.MACLimit })
	}
	p.detail = fmt.Sprintf("the sum can reach %s", interval.Number(r.Mag()))
	p.instead = fmt.Sprintf("Divide weight and bias by 2^%d and keep the values scaled until they are normalised or "+
		"clipped; a factor directly after the product is folded back into the weights.", k)
	if r.Mag() >= inf || k > 40 {
		p.instead = ""
	}
	return p.anyOf(s.result(), func(y float64) bool { return math.Abs(y) >= numerics.MACLimit })
}

// overflowElsewhere are operations whose overflow other rules report.
var overflowElsewhere = []*ir.Operation{ir.OpExp, ir.OpExp2, ir.OpRealDiv, ir.OpInverse, ir.OpLog, ir.OpRsqrt,
	ir.OpFill, ir.OpFillLike, ir.OpOneHot, ir.OpSelect}

func checkOverflow(s *site) *suspect {
	r := s.raw()
	o := s.op.Def.Operation
	if !s.isFP16() || r.Mag() < half16 || slices.Contains(overflowElsewhere, o) || moves(o) ||
		ir.IsConstexpr(s.op) || transfers[o] == nil {
		return nil
	}
	if s.engine && o.Class == ir.Product && taps(s.op) {
		return nil // product-32768
	}
	if o == ir.OpCast && s.arg(ir.ParamX).Type.DType.IsInt() {
		return nil // int-to-fp16
	}
	for _, a := range s.op.Args {
		for _, v := range a {
			if v.Type.DType.IsFloat() && !s.a.Range(v).Finite() {
				return nil // a constant that is not finite
			}
		}
	}
	p := s.suspect(s.result(), r, "65504")
	p.Goals, p.Limit = extremes(s.result(), r, half16, s.a.hots[s.op]), half16
	p.detail = fmt.Sprintf("the result can reach %s", interval.Number(r.Mag()))
	if o == ir.OpSquare || o == ir.OpMul && s.arg(ir.ParamX) == s.arg(ir.ParamY) {
		p.instead = "Divide x by a power of two before squaring (255 is the largest whose square fits fp16), or " +
			"compute the square in fp32 on the CPU."
	}
	return p.anyOf(s.result(), func(y float64) bool { return math.IsInf(y, 0) })
}

func checkWidthSlice(s *site) *suspect {
	if !s.engine || !s.isFP16() {
		return nil
	}
	r := s.of(ir.ParamX)
	if at, ok := beginOfLast(s.op); ok && at == 0 || r.Mag() < 4095 {
		return nil
	}
	p := s.suspect(s.arg(ir.ParamX), r, "4095")
	p.Goals, p.Limit = extremes(s.result(), r, 4095, nil), 4095
	p.ANE = true
	return p.anyOf(s.result(), func(y float64) bool { return math.Abs(y) >= numerics.WidthSliceLimit })
}

// expLimit is the argument from which an exponential exceeds fp16.
func expLimit(op *ir.Op) float64 {
	if op.Is(ir.OpExp2) {
		return 16
	}
	return math.Log(half16)
}

func checkExp(s *site) *suspect {
	x := s.of(ir.ParamX)
	if !s.isFP16() || x.Hi < expLimit(s.op) {
		return nil
	}
	if q, _ := sharedQuotient(s.a, s.op); q != nil {
		return nil // softmax-without-max
	}
	p := s.suspect(s.arg(ir.ParamX), x, interval.Number(expLimit(s.op)))
	p.Goals = []witness.Goal{witness.Most(s.arg(ir.ParamX), nil)}
	p.Gap = upTo(s.arg(ir.ParamX), expLimit(s.op))
	return p.anyOf(s.result(), func(y float64) bool { return math.IsInf(y, 1) })
}

// upTo is the gap to a limit above 0.
func upTo(v *ir.Value, limit float64) func(seen func(v *ir.Value) Interval) float64 {
	return func(seen func(v *ir.Value) Interval) float64 { return limit / max(seen(v).Hi, 0) }
}

func checkIntToFP16(s *site) *suspect {
	x := s.of(ir.ParamX)
	if !s.isFP16() || !s.arg(ir.ParamX).Type.DType.IsInt() || x.Mag() <= 2048 || s.arg(ir.ParamX).Const != nil {
		return nil
	}
	p := s.suspect(s.arg(ir.ParamX), x, "2048")
	p.Goals, p.Limit = extremes(s.arg(ir.ParamX), x, 2049, nil), 2049
	p.Exactly = true
	return p.anyOf(s.arg(ir.ParamX), func(v float64) bool { return fp16(v) != v })
}

func checkFloatToInt(s *site) *suspect {
	if len(s.op.Results) != 1 || !s.result().Type.DType.IsInt() || s.result().Type.DType == ir.Bool ||
		!s.arg(ir.ParamX).
			Type.DType.IsFloat() {
		return nil
	}
	x, r := s.of(ir.ParamX), interval.OfType(s.result().Type.DType)
	if x.Lo > r.Lo-1 && x.Hi < r.Hi+1 {
		return nil
	}
	p := s.suspect(s.arg(ir.ParamX), x, fmt.Sprintf("%s to %s (%s)", interval.Number(r.Lo), interval.Number(r.Hi),
		s.result().Type.DType))
	if x.Hi >= r.Hi+1 {
		p.Goals = append(p.Goals, witness.Most(s.arg(ir.ParamX), nil))
	}
	if x.Lo <= r.Lo-1 {
		p.Goals = append(p.Goals, witness.Least(s.arg(ir.ParamX), nil))
	}
	out := func(v float64) bool { return v >= r.Hi+1 || v <= r.Lo-1 }
	p.Gap = func(seen func(v *ir.Value) Interval) float64 {
		x := seen(p.Value)
		g := inf
		if x.Hi > 0 {
			g = (r.Hi + 1) / x.Hi
		}
		if x.Lo < 0 {
			g = min(g, (1-r.Lo)/-x.Lo)
		}
		return g
	}
	p.anyOf(s.arg(ir.ParamX), out)
	p.Need = append(p.Need, s.result())
	xv, yv := s.arg(ir.ParamX), s.result()
	p.Evidence = func(t witness.Trace) *witness.Evidence {
		xs, ys := t.Floats(xv), t.Floats(yv)
		for i := range min(len(xs), len(ys)) {
			if out(xs[i]) && math.Trunc(xs[i]) != ys[i] {
				return &witness.Evidence{
					By:          witness.BySimulator,
					Output:      yv.Name,
					Index:       i,
					Engine:      verifyNumber(ys[i]),
					Interpreter: verifyNumber(ys[i]),
					Exact:       verifyNumber(math.Trunc(xs[i])),
				}
			}
		}
		return nil
	}
	return p
}
