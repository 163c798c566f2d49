package passes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// floatCast reports whether op converts between fp16 and fp32.
func floatCast(op *ir.Op) bool { return convertsHalf(op) == ir.FP32 }

// intCast reports whether op converts between fp16 and an integer type that transfers convert.
func intCast(op *ir.Op) bool {
	switch convertsHalf(op) {
	case ir.Int32, ir.Int16, ir.UInt16, ir.Int8, ir.UInt8:
		return true
	}
	return false
}

// convertsHalf returns the element type that op converts fp16 to or from, or 0 if op does not convert fp16.
func convertsHalf(op *ir.Op) ir.DType {
	if !op.Is(ir.OpCast) || len(op.Results) != 1 || !known(op.Arg(ir.ParamX)) || !known(op.Results[0]) {
		return 0 // the engine sees neither
	}
	switch from, to := op.Arg(ir.ParamX).Type.DType, op.Results[0].Type.DType; {
	case from == ir.FP16 && to != ir.FP16:
		return to
	case to == ir.FP16 && from != ir.FP16:
		return from
	}
	return 0
}

// place assigns every operation to a unit. An operation that the engine accepts and that computes goes there; one that
// only moves data goes there if a producer or a reader of its data computes there; a conversion between fp16 and fp32
// or integers beside the engine is part of the transfer; the rest goes to the CPU. With PlaceEngine everything that the
// engine accepts goes to the engine, and with PlaceAuto choose picks the placement with the least estimated time of a
// call.
func place(s *State) error {
	s.acceptAll()
	s.keepNarrowStates()
	var p placement
	switch s.Place {
	case "", PlaceCompute:
		p.base = PlaceCompute
	case PlaceEngine:
		p.base = PlaceEngine
	case PlaceAuto:
		var err error
		if p, err = s.choose(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("place %q: %s, %s or %s", s.Place, PlaceAuto, PlaceCompute, PlaceEngine)
	}
	if err := s.apply(p); err != nil {
		return err
	}
	if !s.KeepReference {
		s.Reference = nil
	}
	placeReference(s)
	return nil
}

// alone returns what is known of an operation that the engine accepts.
func alone(a target.Acceptance) ir.Alone {
	return ir.Alone{Nanos: a.Nanos, Tasks: int32(a.Tasks), Moves: a.Moves, Known: true}
}

// acceptAll puts every operation that the engine accepts there, and the others on the CPU with the reason.
func (s *State) acceptAll() {
	for _, op := range s.Func.Body.Ops {
		op.Alone = ir.Alone{}
		a, err := s.Accept(op)
		if err != nil {
			if _, no := s.accept(op); no != nil { // the reason why decompose could not write it
				err = no
			}
			err = s.asHalf(op, err)
		}
		switch {
		case floatCast(op):
			op.Place = ir.Place{Unit: ir.Unplaced}
		case err != nil:
			op.Place = ir.Place{Unit: ir.CPU, Rule: a.Rule, Reason: err.Error()}
			var no *target.Refusal
			if errors.As(err, &no) {
				s.noteRefusal(op, no)
			}
			if why := s.stays[op]; why != "" {
				s.refuse(op, op.Def.Name, target.Refuse(target.RuleControl, op.Def.Name, why,
					"decided when it is compiled", why))
			}
		default:
			op.Place = ir.Place{Unit: ir.Engine, Rule: a.Rule}
			of, part := s.parts[op]
			if part {
				op.Place.Reason = of.String()
			}
			a.Moves = a.Moves || of.Moves
			op.Alone = alone(a)
		}
	}
}

// forceCasts assigns a conversion between fp16 and another type to a dispatch if nothing beside it has one: the engine
// copies the fp16 tensor. It excludes conversions to int32, which the hardware refuses (native-ops.tsv: cast).
func (s *State) forceCasts() error {
	near := s.readByEngine()
	copies := map[*ir.Value]*ir.Value{} // copies of the values that conversions read
	return s.rewrite(func(r *rewriter, op *ir.Op) error {
		to := convertsHalf(op)
		if to == 0 || op.Place.Unit == ir.Engine {
			r.keep(op)
			return nil
		}
		x, y := op.Arg(ir.ParamX), op.Results[0]
		given := x.Type.DType == ir.FP16
		if given && (to == ir.Int32 || x.Def != nil && x.Def.Place.Unit == ir.Engine) || !given && near.Get(y) {
			r.keep(op)
			return nil
		}
		if given && copies[x] != nil {
			op.Args[op.Def.ParamIndex(ir.ParamX)] = []*ir.Value{copies[x]}
			r.keep(op)
			return nil
		}
		of := x
		if !given {
			of = y
		}
		c, err := s.makeOp(op, ir.OpIdentity, arg(ir.ParamX, of))
		if err != nil {
			return err
		}
		a, no := s.Accept(c)
		if no != nil {
			r.keep(op)
			return nil
		}
		c.Place = ir.Place{Unit: ir.Engine, Rule: a.Rule}
		c.Alone = alone(a)
		if given {
			copies[x] = c.Results[0]
			op.Args[op.Def.ParamIndex(ir.ParamX)] = []*ir.Value{c.Results[0]}
			r.keep(c)
			r.keep(op)
			return nil
		}
		// The copy takes over the conversion's result, and the conversion the value that the copy reads.
		op.Results[0], c.Results[0] = c.Results[0], y
		op.Results[0].Def, y.Def = op, c
		c.Args[c.Def.ParamIndex(ir.ParamX)] = []*ir.Value{op.Results[0]}
		r.keep(op)
		r.keep(c)
		return nil
	})
}

// readByEngine returns the values that operations on the engine read.
func (s *State) readByEngine() ir.ValueTable[bool] {
	near := ir.NewValueTable[bool](ir.Number(s.Func.Body))
	for _, op := range s.Func.Body.Ops {
		if op.Place.Unit == ir.Engine {
			op.Operands(func(_ *ir.Param, v *ir.Value) { near.Set(v, true) })
		}
	}
	return near
}

// placeCasts makes the conversions between fp16 and fp32 or integers beside the engine part of the transfer, and leaves
// the others to the CPU.
func (s *State) placeCasts() {
	near := s.readByEngine()
	for _, op := range s.Func.Body.Ops {
		x := op.Arg(ir.ParamX)
		if no := s.Refusals[op]; intCast(op) && no != nil {
			if near.Get(op.Results[0]) || x.Type.DType == ir.FP16 && x.Def != nil && x.Def.Place.Unit == ir.Engine {
				op.Place = ir.Place{Unit: ir.Transfer, Rule: "cast"}
			} else {
				s.refuse(op, "", no)
			}
		}
		if !floatCast(op) {
			continue
		}
		if near.Get(op.Results[0]) || x.Def != nil && x.Def.Place.Unit == ir.Engine {
			op.Place = ir.Place{Unit: ir.Transfer, Rule: "cast"}
			continue
		}
		s.refuse(op, "cast", target.Refuse(target.RuleConversion, "operations around it", "on the CPU",
			"on the engine", "converts between values of the CPU"))
	}
}

// refuse sends an operation to the CPU.
func (s *State) refuse(op *ir.Op, rule string, no *target.Refusal) {
	op.Place = ir.Place{Unit: ir.CPU, Rule: rule, Reason: no.Reason}
	s.noteRefusal(op, no)
}

func (s *State) noteRefusal(op *ir.Op, no *target.Refusal) {
	if s.Refusals == nil {
		s.Refusals = map[*ir.Op]*target.Refusal{}
	}
	s.Refusals[op] = no
}

// keepNarrowStates sends to the CPU the engine operations that read a state, or compute its next value, if the target
// keeps no state of its width: the buffer then belongs to the host.
func (s *State) keepNarrowStates() {
	most := 0
	if s.Target != nil {
		most = s.Target.StateMultiple
	}
	if most == 0 {
		return
	}
	for i := range s.States {
		st := &s.States[i]
		rank := st.Value.Type.Rank()
		if rank == 0 || st.Value.Type.Shape[rank-1]%int64(most) == 0 {
			continue
		}
		width := st.Value.Type.Shape[rank-1]
		for _, op := range s.Func.Body.Ops {
			if op.Place.Unit != ir.Engine || !op.Takes(st.Value) &&
				(st.Result < 0 || s.Func.Body.Outputs[st.Result].Def != op) {
				continue
			}
			s.refuse(op, op.Place.Rule, &target.Refusal{
				Rule: target.RuleState, State: st.Name, What: fmt.Sprintf("last dimension of state %q", st.Name),
				Have: fmt.Sprint(width), Limit: fmt.Sprintf("a multiple of %d", most),
				Reason: fmt.Sprintf("state %q is %d wide, %s keeps states whose last dimension is a multiple of %d",
					st.Name, width, s.Target.Name, most),
			})
		}
	}
}

// dropIdleMoves sends to the CPU every connected run of engine operations in which nothing computes: a dispatch would
// cost more than it saves.
func (s *State) dropIdleMoves() {
	ops, numbers := s.Func.Body.Ops, ir.Number(s.Func.Body)
	parent := make([]int, len(ops)) // a run is a tree of its operations
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for i, op := range ops {
		parent[i] = i
		if op.Place.Unit != ir.Engine {
			continue
		}
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if j := numbers.Op(v.Def); j >= 0 && ops[j].Place.Unit == ir.Engine {
				parent[find(i)] = find(j)
			}
		})
	}
	computes := make([]bool, len(ops))
	for i, op := range ops {
		if op.Place.Unit == ir.Engine && !op.Alone.Moves {
			computes[find(i)] = true
		}
	}
	for i, op := range ops {
		if op.Place.Unit == ir.Engine && !computes[find(i)] {
			s.refuse(op, op.Place.Rule, target.Refuse(target.RuleIdleMove, "operations around it", "on the CPU",
				"on the engine",
				"its inputs are on the CPU, and it and its neighbours only move data: a dispatch costs more"))
		}
	}
}

// fuseEpilogue fuses the single readers of a product with it.
func fuseEpilogue(s *State) error {
	if s.CanFuse == nil {
		return nil
	}
	n := uses(s.Func)
	reader := ir.NewValueTable[*ir.Op](ir.Number(s.Func.Body))
	for _, op := range s.Func.Body.Ops {
		op.Operands(func(_ *ir.Param, v *ir.Value) { reader.Set(v, op) })
	}
	for _, lead := range s.Func.Body.Ops {
		if lead.Place.Unit != ir.Engine || len(lead.Results) != 1 {
			continue
		}
		v := lead.Results[0]
		for n.Get(v) == 1 && reader.Get(v) != nil {
			e := reader.Get(v)
			if e.Place.Unit != ir.Engine || !s.CanFuse(lead, s.Fused[lead], e) {
				break
			}
			s.Fused[lead] = append(s.Fused[lead], e)
			v = e.Results[0]
		}
	}
	return nil
}

// placeReference places the operations of the reference that the engine accepts only in rewritten form: those whose
// results it computes, and what is in blocks that have become operations of the function.
func placeReference(s *State) {
	if s.Reference == nil {
		return
	}
	refused := map[string]*ir.Op{} // by result
	blocks := map[string]bool{}    // results of operations that still have blocks
	for _, op := range s.Func.Body.Ops {
		if len(op.Blocks) == 0 {
			continue
		}
		for _, v := range op.Results {
			blocks[v.Name] = true
		}
	}
	for _, op := range s.Reference.Body.Ops {
		if len(op.Blocks) > 0 && !slices.ContainsFunc(op.Results, func(v *ir.Value) bool { return blocks[v.Name] }) {
			s.placeBlocks(op)
		}
		for _, v := range op.Results {
			if op.Place.Unit == ir.CPU {
				refused[v.Name] = op
			}
		}
	}
	if len(refused) == 0 {
		return
	}
	for _, op := range s.Func.Body.Ops {
		for _, v := range op.Results {
			if of := refused[v.Name]; of != nil && of.Place.Unit == ir.CPU && op.Place.Unit == ir.Engine {
				of.Place = ir.Place{Unit: ir.Engine, Rule: op.Place.Rule}
			}
		}
	}
}

// placeBlocks places what is in the blocks of an operation, and in the blocks of that.
func (s *State) placeBlocks(op *ir.Op) {
	for _, b := range op.Blocks {
		s.placeAlone(b.Ops)
		for _, in := range b.Ops {
			s.placeBlocks(in)
		}
	}
}

// keepDecomposable copies only what restoreSources reads: the operations that have decompositions, those that expand
// compressed constants or access states, and those that compute integers, since a decomposition may not read them all.
func (s *State) keepDecomposable() {
	var ops []*ir.Op
	for _, op := range s.Func.Body.Ops {
		integers := len(op.Results) > 0 && op.Results[0].Type.DType.IsInt()
		if decompositionsOf[op.Def.Operation] != nil || ir.IsConstexpr(op) || integers ||
			op.Def.Class == ir.StateAccess {
			ops = append(ops, op)
		}
	}
	if len(ops) > 0 {
		s.Reference, _, _ = ir.Extract(s.Func, s.Func.Name, ops)
	}
}

// keepReference copies the function and places the copy's operations, so that the interpreter knows what the engine
// would round.
func keepReference(s *State) error {
	if !s.KeepReference {
		s.keepDecomposable()
		return nil
	}
	s.Reference = ir.CloneFunc(s.Func, s.Func.Name)
	s.placeAlone(s.Reference.Body.Ops)
	return nil
}

// placeAlone places operations as the engine accepts each by itself.
func (s *State) placeAlone(ops []*ir.Op) {
	for _, op := range ops {
		a, err := s.accept(op)
		op.Place = ir.Place{Unit: ir.Engine, Rule: a.Rule}
		if err != nil && !(op.Is(ir.OpBatchNorm) && op.Arg(ir.ParamX).Type.DType == ir.FP16) {
			// A batch norm becomes a factor and an addend, which the engine rounds.
			op.Place = ir.Place{Unit: ir.CPU, Rule: a.Rule, Reason: err.Error()}
		}
	}
}
