package ir

import "slices"

// A Numbering numbers the operations of a body in their order, and the values that the body takes or its operations
// compute, so that what is known of them is in slices: for long bodies that takes a fraction of the time of maps. It
// holds until the body changes. The numbers are in the operations and values, so that only one goroutine at a time may
// number a body and use its tables.
type Numbering struct {
	ops    []*Op
	values []*Value
}

// Number numbers a body. It does not enter nested blocks.
func Number(b *Block) *Numbering {
	n := &Numbering{ops: slices.Clone(b.Ops), values: make([]*Value, 0, len(b.Params)+len(b.Ops))}
	n.add(b.Params)
	for i, op := range n.ops {
		op.number = int32(i)
		n.add(op.Results)
	}
	return n
}

func (n *Numbering) add(vs []*Value) {
	for _, v := range vs {
		v.number = int32(len(n.values))
		n.values = append(n.values, v)
	}
}

// Op returns the index of an operation in the body, -1 if it is not there.
func (n *Numbering) Op(op *Op) int {
	if op == nil || int(op.number) >= len(n.ops) || n.ops[op.number] != op {
		return -1
	}
	return int(op.number)
}

// value returns the number of a value, -1 for a constant or a value of another block.
func (n *Numbering) value(v *Value) int {
	if v == nil || int(v.number) >= len(n.values) || n.values[v.number] != v {
		return -1
	}
	return int(v.number)
}

// A ValueTable is what is known of each value of a numbered body, at first the zero value of its type.
type ValueTable[T any] struct {
	of    *Numbering
	facts []T
}

// NewValueTable returns a table of the values of a body.
func NewValueTable[T any](n *Numbering) ValueTable[T] {
	return ValueTable[T]{of: n, facts: make([]T, len(n.values))}
}

// At returns what is known of a value, which may be changed there: nil for a constant or a value of another block.
func (t *ValueTable[T]) At(v *Value) *T {
	if i := t.of.value(v); i >= 0 {
		return &t.facts[i]
	}
	return nil
}

// Get returns what is known of a value.
func (t *ValueTable[T]) Get(v *Value) (fact T) {
	if at := t.At(v); at != nil {
		fact = *at
	}
	return fact
}

// Set sets what is known of a value. Of a constant or a value of another block the table knows nothing.
func (t *ValueTable[T]) Set(v *Value, fact T) {
	if at := t.At(v); at != nil {
		*at = fact
	}
}

// A ValueMap maps values to what is known of them. Values of a numbered body are in a slice; constants, values of
// nested blocks and values that are new since the numbering are in a map.
type ValueMap[T any] struct {
	own  ValueTable[entry[T]]
	rest map[*Value]T
}

type entry[T any] struct {
	fact  T
	known bool
}

// NewValueMap returns an empty map.
func NewValueMap[T any](n *Numbering) *ValueMap[T] {
	return &ValueMap[T]{own: NewValueTable[entry[T]](n), rest: map[*Value]T{}}
}

// Get returns what is known of a value, the zero value of its type for nothing.
func (m *ValueMap[T]) Get(v *Value) T {
	fact, _ := m.Lookup(v)
	return fact
}

// Lookup returns what is known of a value, and whether anything is.
func (m *ValueMap[T]) Lookup(v *Value) (fact T, known bool) {
	if at := m.own.At(v); at != nil {
		return at.fact, at.known
	}
	fact, known = m.rest[v]
	return fact, known
}

// Set sets what is known of a value.
func (m *ValueMap[T]) Set(v *Value, fact T) {
	if at := m.own.At(v); at != nil {
		*at = entry[T]{fact, true}
		return
	}
	m.rest[v] = fact
}
