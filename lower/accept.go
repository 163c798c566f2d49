package lower

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"weak"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// An Acceptor reports how operations are lowered and caches its reports: passes ask about one operation several times,
// and models repeat operations. It must not be used by several goroutines at once.
type Acceptor struct {
	t        *target.Table
	time     *Estimator
	verdicts map[string]verdict
}

// An Estimator estimates times in nanoseconds: of a task, and of loading constants of a size.
type Estimator struct {
	Task      func(t *td.Task) int64
	Constants func(bytes int64) int64
}

type verdict struct {
	target.Acceptance
	err error
	// consts are the constants whose addresses the signature has. The verdict is valid while all of them are alive:
	// passes try operations on constants that they then drop.
	consts []weak.Pointer[ir.Const]
}

// valid reports whether every constant of the signature still exists, so that its address is not reused.
func (v *verdict) valid() bool {
	return !slices.ContainsFunc(v.consts, func(p weak.Pointer[ir.Const]) bool { return p.Value() == nil })
}

// NewAcceptor returns an Acceptor for a target, which estimates times if time is not nil.
func NewAcceptor(t *target.Table, time *Estimator) *Acceptor {
	return &Acceptor{t: t, time: time, verdicts: map[string]verdict{}}
}

// Accept reports which rule lowers an operation and how many tasks it takes, or why no
// rule does.
func (c *Acceptor) Accept(op *ir.Op) (target.Acceptance, error) {
	if len(op.Blocks) > 0 {
		return accept(op, c.t, c.time)
	}
	key, consts := signature(op)
	if v, ok := c.verdicts[key]; ok && v.valid() {
		return v.Acceptance, v.err
	}
	a, err := accept(op, c.t, c.time)
	var no *Refusal
	if err == nil || errors.As(err, &no) && no.Rule != target.RuleOther { // other messages may name the operation
		v := verdict{Acceptance: a, err: err}
		for _, k := range consts {
			v.consts = append(v.consts, weak.Make(k))
		}
		c.verdicts[key] = v
	}
	return a, err
}

// signature returns what the verdict on an operation depends on, except for the target:
// its name, the types of operands and results, which operands are the same value, and its
// constants, small ones by content and large ones by address. It also returns the large
// ones. What may fuse with the operation is not in the signature, since a trial lowers it
// alone.
func signature(op *ir.Op) (string, []*ir.Const) {
	const small = 64
	var b strings.Builder
	var held []*ir.Const
	live := map[*ir.Value]int{}
	fmt.Fprintf(&b, "%s<%s>", op.Def.Name, op.Def.Since)
	op.Operands(func(p *ir.Param, v *ir.Value) {
		fmt.Fprintf(&b, " %s %s", p.Name, v.Type)
		switch c := v.Const; {
		case c == nil:
			if _, ok := live[v]; !ok {
				live[v] = len(live)
			}
			fmt.Fprintf(&b, " #%d", live[v])
		case len(c.Data) <= small:
			fmt.Fprintf(&b, " %x %q", c.Data, c.Strings)
		default:
			held = append(held, c)
			fmt.Fprintf(&b, " @%p", &c.Data[0])
		}
	})
	for _, v := range op.Results {
		fmt.Fprintf(&b, " > %s", v.Type)
	}
	return b.String(), held
}
