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

// n returns a number below limit, using as few bytes as possible.
func (c *choices) n(limit int) int {
	v := 0
	for most := limit - 1; most > 0 && len(c.b) > 0; most >>= 8 {
		v = v<<8 | int(c.b[0])
		c.b = c.b[1:]
	}
	return v % max(limit, 1)
}

func (c *choices) yes() bool { return c.n(2) == 1 }

// pick returns one of several values.
func pick[T any](c *choices, of ...T) T { return of[c.n(len(of))] }
