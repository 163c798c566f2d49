package passes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// A Decomposition writes an operation that no rule of the target accepts with operations that rules accept.
type Decomposition struct {
	Name string
	Ops  ops
	Doc  string // the operations that it writes, in order, and their operands
	// Covers states the arguments and shapes that it covers, "" for all.
	Covers string
	// Also are the element types that operands and results may have beside fp16.
	Also []ir.DType
	// fp16 requires fp16 of the first operand, also where Also lists types of others.
	fp16 bool
	// live allows integer operands that are computed, whatever the type of x.
	live bool
	// idle marks what is written as idle as movement, whatever the operation computes: the CPU does it sooner if
	// nothing beside it is on the engine.
	idle bool
	// joins allows a result that no tensor of the engine can be, and a concat of it, which the CPU does.
	joins bool
	// apply writes the operations and ends with become or decline.
	apply func(c *decomposer)
}

type ops = []*ir.Operation

// Decompositions is the table. The rows of one operation are tried in the order listed.
var Decompositions = slices.Concat(reductionDecompositions, activationDecompositions, normDecompositions,
	productDecompositions, convolutionDecompositions, quantizeDecompositions, matrixDecompositions,
	logicalDecompositions, recurrentDecompositions, resizeDecompositions, bytesDecompositions, integerDecompositions,
	movementDecompositions, spaceDecompositions, gatherDecompositions, lookupDecompositions)

var decompositionsOf = func() map[*ir.Operation][]*Decomposition {
	m := map[*ir.Operation][]*Decomposition{}
	for i := range Decompositions {
		c := &Decompositions[i]
		for _, o := range c.Ops {
			m[o] = append(m[o], c)
		}
	}
	return m
}()

// DecompositionsOf returns the decompositions of an operation, in the order in which they are tried.
func DecompositionsOf(o *ir.Operation) []*Decomposition { return decompositionsOf[o] }

// RuleDecomposed is the Rule of an operation of State.Reference for which the program has a decomposition.
const RuleDecomposed = "decomposed"

// decomposedFrom describes what an operation that decompose wrote is part of.
type decomposedFrom struct {
	Operation string `json:"operation"` // of the source
	Result    string `json:"result"`    // its first
	Parts     string `json:"parts"`     // all operations that were written for it
	// Moves marks operations that replace one that only moves data: they are as idle as that one, whatever their own
	// class.
	Moves bool `json:"moves,omitempty"`
	// InPlace is copied from the source's operation.
	InPlace bool `json:"in_place,omitempty"`
}

func (c decomposedFrom) String() string { return "decomposed: " + c.Operation + " as " + c.Parts }

// maxDepth limits how deep decompositions are nested.
const maxDepth = 4

// decompose rewrites the operations that no rule accepts and that decompositions cover.
func decompose(s *State) error {
	// An operation between whole fp16 numbers is one of fp16, which costs less than one by bytes.
	if err := s.rewriteAll(map[*ir.Operation]pattern{ir.OpCast: simplifyCast}); err != nil {
		return err
	}
	if err := dropDeadCode(s); err != nil {
		return err
	}
	s.markInPlace()
	return s.rewrite(func(r *rewriter, op *ir.Op) error {
		if decompositionsOf[op.Def.Operation] == nil {
			r.keep(op)
			return nil
		}
		if _, err := s.Accept(op); err == nil {
			r.keep(op)
			return nil
		}
		c, err := s.decomposed(op, 0)
		if err != nil {
			r.keep(op)
			return nil
		}
		c.takeResults()
		of := c.decomposedFrom()
		for _, made := range c.Ops {
			if s.parts == nil {
				s.parts = map[*ir.Op]decomposedFrom{}
			}
			s.parts[made] = of
			r.keep(made)
		}
		return nil
	})
}

// accept reports how the engine computes an operation, by a rule or as a decomposition, or why it does not.
func (s *State) accept(op *ir.Op) (target.Acceptance, error) {
	a, err := s.Accept(op)
	defer func(n int) { s.fresh = n }(s.fresh) // names used in a trial are used again
	switch {
	case err == nil:
		return a, nil
	case op.Is(ir.OpBatchNorm): // canonicalise splits it into two operations
		return s.acceptBatchNorm(op, err)
	case decompositionsOf[op.Def.Operation] == nil:
		return a, err
	}
	c, no := s.decomposed(op, 0)
	if no != nil {
		return a, s.refusal(err, no)
	}
	return target.Acceptance{Rule: RuleDecomposed, Moves: c.decomposedFrom().Moves, Tasks: c.tasks}, nil
}

// refusal returns the more informative of two refusals of an operation, by the rules and by its decompositions.
func (s *State) refusal(rule, decomposition error) error {
	var a, b *target.Refusal
	switch {
	case !errors.As(rule, &a) || !errors.As(decomposition, &b):
		return rule
	case !a.ByHardware() && b.ByHardware():
		return b
	case !slices.Contains(withoutCode, a.Rule):
		return rule
	case a.Rule == target.RuleFamily && b.Rule == target.RuleOther:
		return rule // the decomposition is for other arguments: what is missing is the operation
	}
	return b
}

// withoutCode are the rules that refuse an operation whatever its arguments.
var withoutCode = []string{
	target.RuleNever, target.RuleFamily, target.RuleNoCode, target.RuleBridge, target.RuleNoLowering,
}

// decomposed tries the decompositions of an operation and returns the first one whose operations the engine accepts. If
// there is none, it returns the refusal of the first that covers the operation, else the reason why the last does not
// cover it.
func (s *State) decomposed(op *ir.Op, depth int) (*decomposer, error) {
	var first, declined error
	for _, row := range decompositionsOf[op.Def.Operation] {
		if no := row.takes(op, s.Target); no != nil {
			declined = no
			continue
		}
		c := &decomposer{s: s, op: op, row: row}
		c.Make = func(o *ir.Operation, args ...ir.Arg) (*ir.Op, error) { return s.makeOp(op, o, args...) }
		c.Const = func(k *ir.Const) *ir.Value { return s.constant(k, op.Pos) }
		err := c.Write(func() { row.apply(c) })
		if errors.As(err, new(*target.Refusal)) {
			declined = err
			continue
		}
		if err != nil {
			declined = target.Refuse(target.RuleOther, "arguments", op.Def.Name,
				"those of decomposition "+row.Name, err.Error())
			continue
		}
		err = c.legalise(depth)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = declined
	}
	return nil, first
}

// takes refuses operands and results that the decomposition does not cover, whatever the arguments.
func (row *Decomposition) takes(op *ir.Op, on *target.Table) error {
	if len(op.Blocks) > 0 {
		return errors.New("it has blocks")
	}
	var no error
	most := int64(max(on.MaxChannels, on.MaxWidth)) // no tensor of the engine has a longer dimension
	check := func(name string, v *ir.Value, also []ir.DType) {
		switch t := v.Type; {
		case no != nil || v.IsConst():
		case t.Kind != ir.Tensor:
			no = target.Refuse(target.RuleValueKind, name, t, "tensor", fmt.Sprintf("%s is a %s", name, t))
		case t.DType == ir.FP32 && !slices.Contains(also, ir.FP32):
			no = target.Refuse(target.RuleFloatType, name, t.DType, ir.FP16,
				fmt.Sprintf("%s is %s; the engine computes in fp16", name, t.DType))
		case t.DType != ir.FP16 && !slices.Contains(also, t.DType):
			no = target.Refuse(target.RuleElementType, name, t.DType, ir.FP16,
				fmt.Sprintf("%s is %s; the engine computes in fp16", name, t.DType))
		case !t.Static():
			no = target.Refuse(target.RuleDynamic, name, ir.ShapeString(t.Shape), "known dimensions",
				fmt.Sprintf("%s has an unknown dimension: %s", name, t))
		case t.Elems() == 0:
			no = target.Refuse(target.RuleEmpty, name, ir.ShapeString(t.Shape), "at least one element",
				name+" is empty")
		case t.Rank() > 0 && slices.Max(t.Shape) > most && !(row.joins && name == "result"):
			no = target.Refuse(target.RuleExtent, "a dimension of "+name, slices.Max(t.Shape), most,
				fmt.Sprintf("%s has a dimension of %d, the limit is %d", name, slices.Max(t.Shape), most))
		}
	}
	op.Operands(func(p *ir.Param, v *ir.Value) {
		truth := v.Type.DType == ir.Bool && slices.Contains(row.Also, ir.Bool)
		if no == nil && !row.live && !v.IsConst() && p != &op.Def.Params[0] && !p.Types.Has(ir.FP16) && !truth {
			no = target.Refuse(target.RuleRuntime, string(p.Name), "runtime value", "constant",
				fmt.Sprintf("the values of %s are known only at run time", p.Name))
		}
		also := row.Also
		if row.fp16 && p == &op.Def.Params[0] {
			also = nil
		}
		check(string(p.Name), v, also)
	})
	for _, v := range op.Results {
		check("result", v, row.Also)
	}
	return no
}

// legalise checks that the engine accepts every operation that was written, and decomposes in turn those that no rule
// accepts.
func (c *decomposer) legalise(depth int) error {
	var all []*ir.Op
	for _, op := range c.Ops {
		a, err := c.s.Accept(op)
		if err == nil || convertsHalf(op) != 0 { // part of the transfer
			c.tasks += a.Tasks
			all = append(all, op)
			continue
		}
		if c.row.joins && op.Is(ir.OpConcat) {
			all = append(all, op)
			continue
		}
		if depth < maxDepth && decompositionsOf[op.Def.Operation] != nil {
			inner, no := c.s.decomposed(op, depth+1)
			if no == nil {
				inner.takeResults()
				c.tasks += inner.tasks
				all = append(all, inner.Ops...)
				continue
			}
			err = c.s.refusal(err, no)
		}
		var no *target.Refusal
		if !errors.As(err, &no) {
			return err
		}
		part := *no
		part.Reason = fmt.Sprintf("%s of its decomposition: %s", op.Def.Name, no.Reason)
		return &part
	}
	c.Ops = all
	return nil
}

// decomposedFrom describes what c wrote, naming each operation once.
func (c *decomposer) decomposedFrom() decomposedFrom {
	var names []string
	for _, op := range c.Ops {
		if !slices.Contains(names, op.Def.Name) {
			names = append(names, op.Def.Name)
		}
	}
	return decomposedFrom{Operation: c.op.Def.Name, Result: c.op.Results[0].Name, Parts: strings.Join(names, ", "),
		Moves: c.row.idle || c.op.Def.Class == ir.Movement, InPlace: c.op.InPlace}
}

// A decomposer writes the operations of one decomposition.
type decomposer struct {
	ir.Builder
	s       *State
	op      *ir.Op // the operation that is decomposed
	row     *Decomposition
	outs    []*ir.Value // values that replace its results
	tasks   int
	made    int64 // elements of the constants that were computed
	ordinal int   // number of constants that were computed
}

// past ends a decomposition that would write more of something than its limit.
func (c *decomposer) past(what string, have, limit int64) *ir.Value {
	return c.Stop(target.Refuse(target.RuleDecomposition, what, have, limit,
		fmt.Sprintf("its decomposition has %d %s, the limit is %d", have, what, limit)))
}

// become ends a decomposition: vs replace the operation's results.
func (c *decomposer) become(vs ...*ir.Value) {
	if len(vs) != len(c.op.Results) {
		c.Fail("the decomposition has %d results, %s has %d", len(vs), c.op.Def.Name, len(c.op.Results))
	}
	for i, v := range vs {
		if want := c.op.Results[i].Type; !v.Type.Equal(want) {
			c.Fail("the decomposition gives %s, %s gives %s", v.Type, c.op.Def.Name, want)
		}
		if !slices.Contains(c.Ops, v.Def) || slices.Contains(vs[:i], v) ||
			slices.ContainsFunc(c.Ops, func(op *ir.Op) bool { return op.Takes(v) }) {
			// A value that exists already, or that is read on the way, keeps its name.
			v = c.Do(ir.OpIdentity, arg(ir.ParamX, v))
		}
		c.outs = append(c.outs, v)
	}
}

// takeResults makes the operations that were written define the results of the decomposed operation.
func (c *decomposer) takeResults() {
	for i, v := range c.outs {
		def := v.Def
		def.Results[slices.Index(def.Results, v)] = c.op.Results[i]
		c.op.Results[i].Def = def
	}
}

// num returns an fp16 scalar.
func (c *decomposer) num(v float64) *ir.Value { return c.Num(ir.FP16, v) }

// maxMade limits the number of elements of a constant that a decomposition computes.
const maxMade = 1 << 22

// halves returns an fp16 constant whose element i, in row-major order, is at(i).
func halves(at func(i int64) float64, shape []int64) *ir.Const {
	k := &ir.Const{Type: ir.TensorOf(ir.FP16, shape...)}
	n := k.Type.Elems()
	k.Data = make([]byte, 0, 2*n)
	for i := range n {
		k.Data = ir.AppendElem(k.Data, ir.FP16, at(i))
	}
	return k
}

// filled is like halves, but constants with the same key, which states what at depends on, share their bytes.
func (c *decomposer) filled(key string, at func(i int64) float64, shape ...int64) *ir.Value {
	if n := volume(shape); n <= 0 || n > maxMade {
		return c.past("elements of a constant", n, maxMade)
	}
	key = fmt.Sprint(key, shape)
	k := c.s.made16[key]
	if k == nil {
		k = halves(at, shape)
		if c.s.made16 == nil {
			c.s.made16 = map[string]*ir.Const{}
		}
		c.s.made16[key] = k
	}
	return c.s.constant(k, c.op.Pos)
}

// matrix returns a constant with the given rows and columns whose element at r, k is f(r, k).
func (c *decomposer) matrix(key string, rows, cols int64, f func(r, k int64) float64) *ir.Value {
	return c.filled(key, func(i int64) float64 { return f(i/cols, i%cols) }, rows, cols)
}

// maxGrowth is how many elements of computed constants are allowed for each element of an operation's constants, in
// addition to maxMade.
const maxGrowth = 8

// computed is like halves for a constant that is computed from the constants in from.
func (c *decomposer) computed(at func(i int64) float64, shape []int64, from ...*ir.Value) *ir.Value {
	given := int64(0)
	c.op.Operands(func(_ *ir.Param, v *ir.Value) {
		if v.IsConst() {
			given += v.Type.Elems()
		}
	})
	n := int64(1)
	for _, d := range shape {
		if n *= d; n > maxMade+maxGrowth*given {
			break
		}
	}
	if c.made += n; c.made > maxMade+maxGrowth*given {
		return c.past("elements of computed constants", c.made, maxMade+maxGrowth*given)
	}
	v := c.s.constant(c.remembered(at, shape, from), c.op.Pos)
	for _, f := range from {
		c.s.derive(f, v)
	}
	c.s.cameFrom(v, from...)
	return v
}

// remembered is like halves, but the same constant of the same decomposition with the same arguments is computed once,
// although an operation is decomposed for its reference, in a trial of fp16 precision, in pass decompose, for its place
// and for its parts.
func (c *decomposer) remembered(at func(i int64) float64, shape []int64, from []*ir.Value) *ir.Const {
	memory := c.s.computed
	if memory == nil {
		memory = &computedConstants{made: map[string]computedConstant{}}
		c.s.computed = memory
	}
	b := &strings.Builder{}
	fmt.Fprint(b, c.row.Name, " ", c.ordinal, shape, c.s.Precision)
	c.ordinal++
	var held []*ir.Const
	note := func(v *ir.Value) {
		const small = 64
		switch k := v.Const; {
		case k == nil:
		case len(k.Data) <= small:
			fmt.Fprintf(b, " %x %q", k.Data, k.Strings)
		default:
			held = append(held, k)
			fmt.Fprintf(b, " %p", k)
		}
	}
	c.op.Operands(func(p *ir.Param, v *ir.Value) {
		fmt.Fprint(b, " ", p.Name, " ", v.Type)
		note(v)
	})
	for _, v := range c.op.Results {
		fmt.Fprint(b, " > ", v.Type)
	}
	for _, v := range from {
		fmt.Fprint(b, " from ", v.Type)
		note(v)
	}
	if x, ok := memory.made[b.String()]; ok {
		return x.Const
	}
	k := halves(at, shape)
	if memory.bytes += int64(len(k.Data)); memory.bytes <= maxRemembered {
		memory.made[b.String()] = computedConstant{k, held}
	}
	return k
}

// maxRemembered is the largest number of bytes of computed constants that are remembered.
const maxRemembered = 256 << 20

// computedConstants are the constants that decompositions computed, by what they depend on.
type computedConstants struct {
	made  map[string]computedConstant
	bytes int64
}

type computedConstant struct {
	*ir.Const
	held []*ir.Const // constants whose addresses are in the key
}

// exchangeOf returns the permutation of rank dimensions that exchanges a and b.
func exchangeOf(rank, a, b int) []int64 {
	perm := make([]int64, rank)
	for i := range perm {
		perm[i] = int64(i)
	}
	perm[a], perm[b] = perm[b], perm[a]
	return perm
}

// conv convolves x; pad and bias may be nil for none.
func (c *decomposer) conv(x, weight, bias *ir.Value, strides, pad, dilations []int64, groups int64) *ir.Value {
	if pad == nil {
		pad = make([]int64, 2*len(strides))
	}
	args := []ir.Arg{arg(ir.ParamX, x), arg(ir.ParamWeight, weight)}
	if bias != nil {
		args = append(args, arg(ir.ParamBias, bias))
	}
	return c.Do(ir.OpConv, append(args, arg(ir.ParamStrides, c.Ints(strides...)), arg(ir.ParamPadType, c.Str("custom")),
		arg(ir.ParamPad, c.Ints(pad...)), arg(ir.ParamDilations, c.Ints(dilations...)),
		arg(ir.ParamGroups, c.Int(groups)))...)
}

func (c *decomposer) add(x, y *ir.Value) *ir.Value { return c.Binary(ir.OpAdd, x, y) }
func (c *decomposer) sub(x, y *ir.Value) *ir.Value { return c.Binary(ir.OpSub, x, y) }
func (c *decomposer) mul(x, y *ir.Value) *ir.Value { return c.Binary(ir.OpMul, x, y) }
func (c *decomposer) div(x, y *ir.Value) *ir.Value { return c.Binary(ir.OpRealDiv, x, y) }
func (c *decomposer) max(x, y *ir.Value) *ir.Value { return c.Binary(ir.OpMaximum, x, y) }
func (c *decomposer) min(x, y *ir.Value) *ir.Value { return c.Binary(ir.OpMinimum, x, y) }

// unary writes an operation of one operand.
func (c *decomposer) unary(o *ir.Operation, x *ir.Value) *ir.Value { return c.Do(o, arg(ir.ParamX, x)) }

// reduce writes a reduction that keeps its dimensions.
func (c *decomposer) reduce(o *ir.Operation, x *ir.Value, axes []int) *ir.Value {
	vs := make([]int64, len(axes))
	for i, a := range axes {
		vs[i] = int64(a)
	}
	return c.Do(o, arg(ir.ParamX, x), arg(ir.ParamAxes, c.Ints(vs...)), arg(ir.ParamKeepDims, c.Bool(true)))
}

// shaped ends a decomposition with v, reshaped to the shape of the result.
func (c *decomposer) shaped(v *ir.Value) {
	c.become(c.Reshape(v, c.op.Results[0].Type.Shape...))
}

// volume multiplies dimensions.
func volume(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}
