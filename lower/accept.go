package lower

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"weak"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// An Acceptor reports how operations are lowered and caches its reports: passes ask about one operation several times,
// and models repeat operations.
//
// It may serve compilations one after another (Next) as long as the weight files do not change.
type Acceptor struct {
	t    *target.Table
	time *Estimator

	mu       sync.Mutex // of what follows
	verdicts map[string]verdict
	key      []byte            // of the latest operation (sign)
	live     map[*ir.Value]int // its operands that are not constants
}

// An Estimator estimates times in nanoseconds: of a task, and of loading constants.
type Estimator struct {
	Task      func(t *td.Task) int64
	Constants func(s Stream) int64
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
	return &Acceptor{t: t, time: time, verdicts: map[string]verdict{}, live: map[*ir.Value]int{}}
}

// maxVerdicts bounds the verdicts that are kept for the next compilation.
const maxVerdicts = 1 << 16

// Next prepares for another compilation: it drops the verdicts that depend on constants of the last one.
func (c *Acceptor) Next() {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.verdicts, func(_ string, v verdict) bool { return len(v.consts) > 0 })
	if len(c.verdicts) > maxVerdicts {
		clear(c.verdicts)
	}
}

// Accept reports which rule lowers an operation and how many tasks it takes, or why no
// rule does.
func (c *Acceptor) Accept(op *ir.Op) (target.Acceptance, error) {
	if len(op.Blocks) > 0 {
		return accept(op, c.t, c.time)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	consts := c.sign(op)
	if v, ok := c.verdicts[string(c.key)]; ok && v.valid() {
		return v.Acceptance, v.err
	}
	key := string(c.key)
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

// sign sets c.key to what the verdict on an operation depends on, except for the target: its name, the types of
// operands and results, which operands are the same value, and its constants: small ones by content, large ones by
// their place in a file or else by address. All that are unknown are the same. Texts begin with their length and
// numbers end with a comma, so that different operations have different keys. It returns the constants with addresses.
// What may fuse with the operation is not in the key, since a trial lowers it alone.
func (c *Acceptor) sign(op *ir.Op) (held []*ir.Const) {
	const small = 64
	clear(c.live)
	key := appendText(appendText(c.key[:0], op.Def.Name), op.Def.Since)
	op.Operands(func(p *ir.Param, v *ir.Value) {
		key = appendType(appendText(key, string(p.Name)), v.Type)
		if v.Const != nil && v.Const.Packing != nil {
			key = appendNumber(append(key, '~'), int64(len(v.Const.Packing.Codebook)))
			key = appendNumber(appendNumber(key, v.Const.Packing.Zeros), int64(len(v.Const.Packing.Scales)))
			key = appendNumber(key, int64(v.Const.Packing.Axis))
		}
		switch k := v.Const; {
		case k == nil:
			n, ok := c.live[v]
			if !ok {
				n = len(c.live)
				c.live[v] = n
			}
			key = appendNumber(append(key, '#'), int64(n))
		case len(k.Data) <= small:
			key = appendText(append(key, '='), string(k.Data))
			key = appendNumber(key, int64(len(k.Strings)))
			for _, s := range k.Strings {
				key = appendText(key, s)
			}
		case k.Assumed != nil:
			key = append(key, '?')
		case k.Stored:
			key = appendText(append(key, '!'), k.Blob)
		default:
			held = append(held, k)
			key = fmt.Appendf(key, "@%p,", &k.Data[0])
		}
	})
	key = append(key, '>')
	for _, v := range op.Results {
		key = appendType(key, v.Type)
	}
	c.key = key
	return held
}

func appendNumber(key []byte, n int64) []byte { return append(strconv.AppendInt(key, n, 10), ',') }

func appendText(key []byte, s string) []byte { return append(appendNumber(key, int64(len(s))), s...) }

func appendType(key []byte, t ir.Type) []byte {
	key = append(key, byte(t.Kind), byte(t.DType))
	key = appendNumber(appendNumber(key, t.Len), int64(len(t.Shape)))
	for _, n := range t.Shape {
		key = appendNumber(key, n)
	}
	return key
}
