package loader

import (
	"fmt"
	"iter"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/lower/td"
)

// place is the position of a task.
type place struct {
	proc  *procedure
	index int // in its chain
	off   int // in the text
}

func (p place) String() string {
	return fmt.Sprintf("procedure %q, task %d at text byte %#x", p.proc.name, p.index, p.off)
}

// check refuses a stream without a buffer.
func (p place) check(r *td.Record) error {
	if r.Slot == 0 {
		return nil
	}
	where := fmt.Sprintf("%s, %s", p, r.Slot)
	if r.Bar == td.NoBar {
		return &Error{Where: where, Rule: "the stream is enabled but names no buffer-access register"}
	}
	b := p.proc.bar(r.Bar)
	switch {
	case b == nil:
		return &Error{
			Where: where,
			Rule:  "the procedure's command does not set the buffer-access register",
			Val:   r.Bar,
		}
	case b.usage == afpp.UsageText:
		return &Error{Where: where, Rule: "no task reads or writes the text", Val: r.Bar}
	case r.Slot == td.SlotResult && !b.writable():
		return &Error{
			Where: where,
			Rule: fmt.Sprintf("the destination must be an output or scratch; buffer-access register %d is %s", b.id,
				b.usage),
		}
	case uint64(r.Offset) >= b.size:
		return &Error{
			Where: where,
			Rule:  fmt.Sprintf("the offset is outside buffer-access register %d", b.id),
			Val:   r.Offset,
			Limit: b.size - 1,
		}
	}
	return nil
}

// checkKernel refuses coefficients outside their buffer.
func (p place) checkKernel(t *td.Task) error {
	if !t.On(td.KBE0) || t.On(td.TDSkip) {
		return nil
	}
	b := p.proc.bar(t.Int(td.KBase0))
	if b == nil {
		return nil // no stream is enabled, or check has refused it
	}
	for _, parts := range []iter.Seq[td.Part]{t.LaneParts(), t.StreamParts()} {
		for x := range parts {
			if uint64(x.To) > b.size {
				return &Error{
					Where: fmt.Sprintf("%s, %s", p, x.Base),
					Rule: fmt.Sprintf("%#x bytes from there exceed buffer-access register %d, %s", x.To-x.From, b.id,
						b.usage),
					Val:   uint64(x.From),
					Limit: b.size,
				}
			}
		}
	}
	return nil
}
