package node

import (
	"bytes"
	"encoding/json"
)

// MarshalJSON implements json.Marshaler.
func (n *Node) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := n.encode(&b, e)
	return b.Bytes(), err
}

// encode writes the node's JSON to b, which is where e writes.
func (n *Node) encode(b *bytes.Buffer, e *json.Encoder) error {
	if n.kind == ofValue {
		return e.Encode(n.Value)
	}
	brackets := "{}"
	if n.kind == ofList {
		brackets = "[]"
	}
	b.WriteByte(brackets[0])
	for i, p := range n.entries(nil) {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.kind == ofObject {
			if err := e.Encode(p.Key); err != nil {
				return err
			}
			b.WriteByte(':')
		}
		if err := p.encode(b, e); err != nil {
			return err
		}
	}
	b.WriteByte(brackets[1])
	return nil
}

// entries appends the parts that JSON has. The parts of an object without a key are added to the enclosing object.
func (n *Node) entries(to []*Node) []*Node {
	for _, p := range n.Parts {
		switch {
		case p.kind == ofText:
		case n.kind == ofObject && p.kind == ofObject && p.Key == "":
			to = p.entries(to)
		default:
			to = append(to, p)
		}
	}
	return to
}
