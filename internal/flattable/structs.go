package flattable

import (
	"fmt"
	"math"
	"reflect"
)

// blobAlign is the alignment of a vector of bytes from a struct.
const blobAlign = 16

// Strings makes nodes of Go structs, and fills structs from records: field i of a struct is field i of its table. A
// string of the struct that is a number in the table is an index of List, whose first string is empty. A nil Strings is
// for tables without those.
type Strings struct {
	List []string
	ids  map[string]int
}

// index returns the position of a text in the list, which it extends.
func (s *Strings) index(text string) int {
	if s.ids == nil {
		s.ids, s.List = map[string]int{"": 0}, []string{""}
	}
	i, ok := s.ids[text]
	if !ok {
		i = len(s.List)
		s.ids[text] = i
		s.List = append(s.List, text)
	}
	return i
}

// Node returns the node of the struct that p points at.
func (s *Strings) Node(t *Table, p any) *Node { return s.node(t, reflect.ValueOf(p).Elem()) }

func (s *Strings) node(t *Table, v reflect.Value) *Node {
	n := &Node{t, make([]any, len(t.Fields))}
	for i := range t.Fields {
		n.Values[i] = s.value(&t.Fields[i], v.Field(i))
	}
	return n
}

func (s *Strings) value(f *Field, v reflect.Value) any {
	switch f.Kind {
	case String:
		return v.String()
	case Bytes:
		return Blob{v.Bytes(), blobAlign}
	case Texts:
		return v.Interface()
	case Subs:
		nodes := make([]*Node, v.Len())
		for i := range nodes {
			nodes[i] = s.node(f.Of[0], v.Index(i))
		}
		return nodes
	case Uint32s:
		return elements[uint32](v)
	case Uint64s:
		return elements[uint64](v)
	case Int32s:
		return elements[int32](v)
	case Float32s:
		return elements[float32](v)
	}
	switch {
	case v.Kind() == reflect.String:
		return uint64(s.index(v.String()))
	case v.Kind() == reflect.Bool && v.Bool():
		return uint64(1)
	case v.Kind() == reflect.Bool:
		return uint64(0)
	case v.CanInt():
		return uint64(v.Int())
	}
	return v.Uint()
}

// elements converts the elements of a slice.
func elements[T any](v reflect.Value) []T {
	out := make([]T, v.Len())
	for i := range out {
		out[i] = v.Index(i).Convert(reflect.TypeFor[T]()).Interface().(T)
	}
	return out
}

// Fill sets the fields of the struct that p points at. Empty vectors are nil, and bytes are slices of the buffer.
func (s *Strings) Fill(r Record, p any) *Fault { return s.fill(r, reflect.ValueOf(p).Elem()) }

func (s *Strings) fill(r Record, v reflect.Value) *Fault {
	for i := range r.t.Fields {
		if r.offset(i) == 0 {
			continue // the zero value
		}
		if f := s.set(r, i, v.Field(i)); f != nil {
			return f
		}
	}
	return nil
}

// set sets v to the value of a field that is present.
func (s *Strings) set(r Record, slot int, v reflect.Value) *Fault {
	f, msg := &r.t.Fields[slot], ""
	switch f.Kind {
	case String:
		v.SetString(string(r.bytes(slot)))
	case Texts:
		v.Set(reflect.ValueOf(r.texts(slot)))
	case Bytes:
		b := r.bytes(slot)
		if v.Kind() == reflect.Slice {
			v.SetBytes(b)
		} else if len(b) == v.Len() {
			reflect.Copy(v, reflect.ValueOf(b))
		} else {
			msg = fmt.Sprintf("%d bytes, want %d", len(b), v.Len())
		}
	case Subs, Uint32s, Uint64s, Int32s, Float32s:
		n := r.length(slot)
		if n == 0 {
			break
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			if f.Kind != Subs {
				setNumber(v.Index(i), r.numberAt(r.element(slot, i, layouts[f.Kind].elem), f.Kind))
			} else if f := s.fill(r.sub(slot, i), v.Index(i)); f != nil {
				return f
			}
		}
	default:
		x := r.number(slot)
		switch {
		case v.Kind() == reflect.Bool && x > 1:
			msg = fmt.Sprintf("%d, want 0 or 1", x)
		case v.Kind() != reflect.String:
			setNumber(v, x)
		case x >= uint64(len(s.List)):
			msg = fmt.Sprintf("string %d, want less than %d, the number of strings", x, len(s.List))
		default:
			v.SetString(s.List[x])
		}
	}
	if msg != "" {
		return &Fault{Off: int(r.tab.Pos + r.offset(slot)), Table: r.t.Name, Field: f.Name, Msg: msg}
	}
	return nil
}

// setNumber sets v to the number whose bits are x.
func setNumber(v reflect.Value, x uint64) {
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(x != 0)
	case v.CanFloat():
		v.SetFloat(float64(math.Float32frombits(uint32(x))))
	case v.CanInt():
		v.SetInt(int64(x))
	default:
		v.SetUint(x)
	}
}
