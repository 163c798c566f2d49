package engine

import "github.com/zinc-compiler/zinc/numerics/field"

// These assertions cover the two arithmetics and their parts. The interfaces without type parameters are for
// staticcheck, which does not see that a method is used through a generic interface.
var (
	_ interface{ arithmetic[float32, uint16] } = (*floats)(nil)
	_ interface{ poster[float32, uint16] }     = (*post)(nil)
	_ interface{ rows[float32] }               = (*elementwise)(nil)
	_ interface{ finish[float32, uint16] }     = (*final)(nil)
	_ interface{ folder[float32, uint16] }     = (*fold)(nil)

	_ interface {
		arithmetic[field.Elem, field.Elem]
	} = (*exact)(nil)
	_ interface {
		poster[field.Elem, field.Elem]
	} = (*exactPost)(nil)
	_ interface{ rows[field.Elem] } = (*exactRows)(nil)
	_ interface {
		finish[field.Elem, field.Elem]
	} = (*exactFinal)(nil)
	_ interface {
		folder[field.Elem, field.Elem]
	} = (*exactFold)(nil)
)
