package compile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/target"
)

// CheckSizes returns an error for a function with a value that no run can hold, as far as shapes are known: a value
// larger than all buffers of a function may be together, or an input, output or state that does not fit the address
// space of its client. Constants are not checked: their bytes exist already. A value without elements counts as if each
// extent of 0 were 1, since work goes by its other extents too.
func CheckSizes(p *ir.Program, f *ir.Func) error {
	check := func(v *ir.Value, limit int64, what string) error {
		shape := slices.Clone(v.Type.Shape)
		for i, d := range shape {
			if d == 0 {
				shape[i] = 1
			}
		}
		n := v.Type.WithShape(shape...).Bytes()
		if v.IsConst() || v.Type.Kind == ir.List || !v.Type.Static() || n >= 0 && n <= limit {
			return nil
		}
		size := fmt.Sprintf("%d bytes", n)
		if n < 0 {
			size = "more bytes than 64 bits count"
		}
		if v.Type.Elems() == 0 {
			size += " with 1 in place of 0"
		}
		return fmt.Errorf("%s%q is %s of %s; the limit for %s is %d bytes; use smaller shapes", placeOf(p, v), v.Name,
			v.Type, size, what, limit)
	}
	for _, vs := range [][]*ir.Value{f.Body.Params, f.Body.Outputs} {
		for _, v := range vs {
			if err := check(v, target.ClientBytes, "an input, output or state"); err != nil {
				return err
			}
		}
	}
	var err error
	ir.Walk(f, func(op *ir.Op) {
		for _, v := range op.Results {
			if err == nil {
				err = check(v, e5.MaxBytes, "a value")
			}
		}
	})
	return err
}

// placeOf returns the position of a value for the start of a message, "" if it has none.
func placeOf(p *ir.Program, v *ir.Value) string {
	at := v.Pos
	if !at.IsValid() && v.Def != nil {
		at = v.Def.Pos
	}
	if s := p.PosString(at); s != "" {
		return s + ": "
	}
	return ""
}

// checkBuffers returns an error for a function whose buffers together exceed what a run can hold: its operands, the
// surfaces of its procedures and the scratch memory of the container, each in whole pages.
func (c *chain) checkBuffers() error {
	total, largest, at := uint64(0), uint64(0), -1
	add := func(i int, n uint64) {
		n = min(n, e5.MaxBytes+1) // so that the sum fits 64 bits
		n = (n + hwx.Page - 1) / hwx.Page * hwx.Page
		if total += n; n > largest {
			largest, at = n, i
		}
	}
	surfaces := map[string]bool{}
	for i := range c.f.Operands {
		o := &c.f.Operands[i]
		if o.Aperture != e5.Surface || !surfaces[o.Port.Name] {
			add(i, o.Port.ByteSize)
		}
		surfaces[o.Port.Name] = surfaces[o.Port.Name] || o.Aperture == e5.Surface
	}
	add(-1, uint64(c.d.scratch))
	if total <= e5.MaxBytes {
		return nil
	}
	place, of := "", "the scratch of tasks"
	if at >= 0 {
		of = fmt.Sprintf("%q", c.f.Operands[at].Name)
		for _, ids := range []map[*ir.Value]uint32{c.host, c.surf, c.result} {
			for v, id := range ids {
				if int(id) == at {
					place = placeOf(c.u.state.Program, v)
				}
			}
		}
	}
	return &loadError{fmt.Sprintf("%sthe buffers take %d bytes, the limit is %d; the largest is %s with %d bytes; "+
		"use smaller shapes or cut the model in two", place, total, uint64(e5.MaxBytes), of, largest)}
}

// checkLoad returns an error for a procedure of a function with which the container cannot be written or loaded: it
// needs more scratch memory than a container may request, or there are more tasks, with those of the procedures before
// it, than a load has numbers for, or more surfaces than a container has names for.
func (d *driver) checkLoad(u *unit, p *lower.Procedure) error {
	if n := len(d.image.Surfaces); n > hwx.MaxSurfaces {
		return &loadError{fmt.Sprintf("%sthe procedures up to %s read and write %d tensors together, the limit of one "+
			"container is %d; cut the model in two, or join tensors with concat", u.placeOf(p), p.Name, n,
			hwx.MaxSurfaces)}
	}
	if p.Scratch > target.ScratchBytes {
		return &loadError{fmt.Sprintf("%sprocedure %s needs %d bytes of scratch between its tasks, the limit is %d; "+
			"use smaller shapes or cut the model in two", u.placeOf(p), p.Name, p.Scratch, int64(target.ScratchBytes))}
	}
	if d.tasks += len(p.Infos); d.tasks > target.LoadTasks {
		return &loadError{fmt.Sprintf("%sthe procedures up to %s have %d tasks together, the limit of one container "+
			"is %d; cut the model in two", u.placeOf(p), p.Name, d.tasks, target.LoadTasks)}
	}
	return nil
}

// placeOf returns the position of the first operation of a procedure for the start of a message, "" if it has none.
func (u *unit) placeOf(p *lower.Procedure) string {
	for i := range p.Infos {
		if op := p.Infos[i].Op; op != nil && len(op.Results) > 0 {
			return placeOf(u.state.Program, op.Results[0])
		}
	}
	return ""
}

// loadError reports a program that fits a container but cannot be loaded or run.
type loadError struct{ text string }

func (e *loadError) Error() string { return e.text }

// Exceeds reports whether err is that a program is larger than one container or its load can be, where parts of it
// (package split) may not be.
func Exceeds(err error) bool {
	return errors.As(err, new(*hwx.SpaceError)) || errors.As(err, new(*weights.LimitError)) ||
		errors.As(err, new(*lower.TaskLimitError)) || errors.As(err, new(*loadError))
}

// spaceError names the largest surface of a container that does not fit the engine's address space in any layout.
func (d *driver) spaceError(err error) error {
	if !errors.As(err, new(*hwx.SpaceError)) {
		return err
	}
	var largest *ir.Value
	size := int64(0)
	var in *unit
	for _, u := range d.units {
		for _, p := range u.procs {
			for i := range p.Inputs {
				if s := &p.Inputs[i]; s.Size > size {
					largest, size, in = s.Value, s.Size, u
				}
			}
			for i := range p.Outputs {
				if s := &p.Outputs[i]; s.Size > size {
					largest, size, in = s.Value, s.Size, u
				}
			}
		}
	}
	if largest == nil {
		return err
	}
	return fmt.Errorf("%s%q, %s, has the largest surface, of %d bytes: %w", placeOf(in.state.Program, largest),
		largest.Name, largest.Type, size, err)
}
