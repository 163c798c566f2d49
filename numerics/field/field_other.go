//go:build !amd64

package field

const accelerated, limbs = false, false

func addStrip(_, _ []Elem, _ *[stripTerms * stripColumns]Elem) {}

func addTiles(_ []Elem, _ int, _ []Elem, _, _ int, _ []Elem, _ []int, _ int) {}

type rowKernel func()

var addRow, subRow, mulRow rowKernel

func (rowKernel) run(_, _ []Elem) {}

func (*Functions) hashRow(uint64, []Elem) {}

func (*Functions) scrambled([]Elem) (Elem, bool) { return 0, false }
