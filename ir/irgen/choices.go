package irgen

import "math/rand/v2"

// choices is a source of decisions: bytes, then zeros.
type choices struct{ b []byte }

// drawn returns n decisions that follow from a seed and the number of a stream.
func drawn(seed, stream uint64, n int) *choices {
	r := rand.New(rand.NewPCG(seed, stream))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return &choices{b}
}

func (c *choices) done() bool { return len(c.b) == 0 }

// n returns a number below limit, which is at most 256.
func (c *choices) n(limit int) int {
	if len(c.b) == 0 || limit < 2 {
		return 0
	}
	v := int(c.b[0])
	c.b = c.b[1:]
	return v % limit
}

func (c *choices) yes() bool { return c.n(2) == 1 }

// pick returns one of several values.
func pick[T any](c *choices, of ...T) T { return of[c.n(len(of))] }
