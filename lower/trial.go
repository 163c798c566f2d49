package lower

import (
	"errors"
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// opTasks bounds the tasks of one operation to a quarter of a chain, so that the operations around it fit the same
// procedure. A shape of a few bytes can require any number of small products.
func opTasks(t *target.Table) int { return t.MaxTasks / 4 }

// trial lowers an operation alone, between ports of its own, and returns how many tasks that takes; see is called with
// each. An operation that the rule cannot lower is refused. A trial packs no coefficients and stops at opTasks, so that
// its time and memory follow from the number of tasks and not from the size of a constant.
func (l *limits) trial(r *Rule, op *ir.Op, see func(t *td.Task)) (tasks int, err error) {
	b, err := l.drafts(r, op)
	var no *Refusal
	if limit := opTasks(l.t); b.full() {
		return 0, target.Refuse(target.RuleTasks, "tasks", fmt.Sprintf("more than %d", limit), limit,
			fmt.Sprintf("takes more than %d tasks; a chain of %d needs room for the operations around it", limit,
				l.t.MaxTasks))
	}
	if err == nil {
		err = b.fits(see)
	}
	if err == nil || errors.As(err, &no) {
		return len(b.drafts), err
	}
	return 0, target.Refuse(target.RuleOther, "arguments", op.Def.Name, "what rule "+r.Name+" can lower", err.Error())
}

// drafts returns a builder with a rule's drafts of an operation alone.
func (l *limits) drafts(r *Rule, op *ir.Op) (*builder, error) {
	b := newBuilder(&Segment{Codec: trialCodec(l.t)}, l.t, &weights.Section{})
	b.trial, b.op, b.rule = true, op, r.Name
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		b.read[v] = reading{whole: b.read[v].whole || !takesColumnVectors(op)}
		if !v.IsConst() {
			buf, _ := b.port(v, inPort, "", b.codec.FirstPort)
			b.giveInput(v, buf)
		}
	})
	for _, v := range op.Results {
		b.outs[v], _ = b.port(v, outPort, "", b.codec.FirstPort)
	}
	err := r.lower(b, op)
	if err == nil {
		err = b.err
	}
	return b, err
}

// trialCodec returns the codec whose fields a trial must fit: the target's, or V7 if it has none.
func trialCodec(t *target.Table) *td.Codec {
	if c, err := td.CodecOf(t.TD); err == nil {
		return c
	}
	return td.V7
}

// constantsOf is what tasks read of an operation's constants, which a trial does not pack.
func constantsOf(t *target.Table, op *ir.Op) (all Stream) {
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		if v.IsConst() && v.Type.DType.IsFloat() {
			s, _ := Packed(t, op, v)
			if s.Form == "" {
				s.Bytes = v.Type.WithDType(ir.FP16).Bytes()
			}
			all.Bytes, all.Expanded, all.Values = all.Bytes+s.Bytes, all.Expanded+s.Expanded, all.Values+s.Values
		}
	})
	return all
}

// fits reports the first draft whose sources do not fit L2, whose numbers do not fit its registers or whose extents
// exceed the target's. It calls see with the tasks.
func (b *builder) fits(see func(t *td.Task)) error {
	if err := b.plan(Planners[:trialPlanners]); err != nil {
		return errors.Unwrap(err)
	}
	for i, d := range b.drafts {
		t := td.New()
		b.encode(t, d)
		if err := b.codec.Fits(t); err != nil {
			return fmt.Errorf("task %d: %w", i, err)
		}
		if err := b.within(t); err != nil {
			return err
		}
		see(t)
	}
	return nil
}

// within refuses a task that is wider, higher or has more channels than the target's table allows: rules view rows as
// channels and channels as rows or columns, so that an extent of a task may be larger than any of a tensor.
func (b *builder) within(t *td.Task) error {
	for _, l := range [][2]td.Field{{td.Win, td.Wout}, {td.Hin, td.Hout}, {td.Cin, td.Cout}} {
		what, most := "width of a task", b.t.MaxWidth
		switch l[0] {
		case td.Hin:
			what, most = "height of a task", b.t.MaxHeight
		case td.Cin:
			what, most = "channels of a task", b.t.MaxChannels
		}
		if n := max(t.Int(l[0]), t.Int(l[1])); n > most {
			return past(target.RuleExtent, what, int64(n), int64(most))
		}
	}
	return nil
}
