package td

import (
	"fmt"
	"slices"
)

// numFields is the number of rows of the field table.
const numFields = 630

// Task is one task: the value of every field. A field whose register is not written keeps its reset value, taken to be
// zero.
type Task struct {
	val [numFields]uint32 // as stored: divided by the row's unit
	// Spans are the records in which the task was read or is to be written, in the order of its stream; nil stands for
	// those that the codec writes. Tasks may share them.
	Spans []Span
	// Padding is the number of records of no effect that the codec writes, because the task's place calls for them.
	Padding int
	err     error // the first value that no version holds
}

// New returns a task with every field zero.
func New() *Task { return new(Task) }

// raw returns the field's value as it is stored, without its unit.
func (t *Task) raw(f Field) uint32 { return t.val[f] }

func (t *Task) setRaw(f Field, v uint32) { t.val[f] = v }

// Get returns the field's value, in the row's unit (bytes for an address).
func (t *Task) Get(f Field) uint32 { return t.val[f] * units[f] }

// Int returns the field's value as an int.
func (t *Task) Int(f Field) int { return int(table[f].Signed(t.Get(f))) }

// On reports whether a flag is set.
func (t *Task) On(f Field) bool { return t.val[f] != 0 }

// Set sets the field to a value in the row's unit. A value that is not a multiple of the unit, or that no version of
// the descriptor holds, is remembered and reported by Err and by encoding; encoding also reports values that its
// version does not hold.
func (t *Task) Set(f Field, v int) *Task {
	unit := units[f]
	switch {
	case int64(v) < bounds[f].low || int64(v) > bounds[f].high:
		t.fail(fmt.Errorf("%s = %d: the field holds %d..%d", f, v, bounds[f].low, bounds[f].high))
	case v%int(unit) != 0:
		t.fail(fmt.Errorf("%s = %d: not a multiple of %d", f, v, unit))
	default:
		t.val[f] = uint32(v/int(unit)) & uint32(limits[f]/uint64(unit))
	}
	return t
}

// SetBool sets or clears a flag.
func (t *Task) SetBool(f Field, on bool) *Task {
	t.val[f] = 0
	if on {
		t.val[f] = 1
	}
	return t
}

func (t *Task) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Err returns the first value that no version of the descriptor holds.
func (t *Task) Err() error { return t.err }

// Clone returns an independent copy.
func (t *Task) Clone() *Task {
	c := *t
	c.Spans = slices.Clone(t.Spans) // nil and empty differ
	return &c
}
