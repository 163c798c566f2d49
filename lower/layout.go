package lower

import "github.com/zinc-compiler/zinc/target"

// layout is how the elements of a buffer are arranged. A rule chooses it with the buffer. 0 is the canonical layout:
// one row of a tensor's last dimension after the other, each in whole lines of 64 bytes.
type layout uint8

const (
	// columnAlongRow is a column, a tensor of single elements along the channels, along the one row of the buffer: its
	// view has the dimensions of the column.
	columnAlongRow layout = iota + 1
	// pairOfRows is two rows of parameters, which are read together.
	pairOfRows
	// stackOfMatrices is several matrices; one row of a task has each of them transposed.
	stackOfMatrices
	// stackOfKernels is such matrices whose rows of one number are side by side: they are kernels.
	stackOfKernels
	// largeMatrix is a transposed matrix that may take more than half of L2, for the tasks that follow its transpose.
	largeMatrix
	// meanAndDeviation is two rows of numbers that a normalisation reads together.
	meanAndDeviation
	// numberPerRow is one number for each row of an image, placed in L2 after the images.
	numberPerRow
	// numberPerColumn is one number for each column of each channel of an image.
	numberPerColumn
)

// spacing is how the rows of a buffer are spaced in L2.
type spacing uint8

const (
	// rowsApart are kept off each other's banks.
	rowsApart spacing = iota + 1
	// rowsRejoined would be apart, but another tensor takes their place.
	rowsRejoined
)

// keepApart keeps the rows of the buffer off each other's banks.
func (b *buffer) keepApart() { b.spacing = max(b.spacing, rowsApart) }

// keepScratch gives the buffer a place in scratch also when it stays in L2. Tasks then name it.
func (b *buffer) keepScratch() { b.backed = true }

// stacked reports whether the buffer has several matrices, each transposed by one row of a task.
func (l layout) stacked() bool { return l == stackOfMatrices || l == stackOfKernels }

// wholeStrides reports whether strides in L2 are the whole layout's, even for single rows and channels.
func (l layout) wholeStrides() bool {
	return l == meanAndDeviation || l == numberPerRow || l == numberPerColumn
}

// packedRow is the number of bytes of L2 that a row takes without padding.
func (b *buffer) packedRow(t *target.Table) int64 { return align(b.rowElems*elemBytes, t.L2Granule) }

// groupPad is the padding in L2 after each group of rows.
func (b *buffer) groupPad(t *target.Table) int64 {
	if b.layout.stacked() { // case chain_attn_s128_dh64_h4
		return align(b.packedRow(t)/2, t.L2Granule)
	}
	return transposePad(t, b.group*b.packedRow(t))
}

// lineGap is the number of bytes of L2 between the mean and the deviation, which begin on different banks.
func (b *buffer) lineGap(t *target.Table) int64 {
	switch row := b.packedRow(t); {
	case b.layout != meanAndDeviation:
		return 0
	case row/t.L2Granule%2 == 1:
		return t.L2Granule
	default:
		return pairPad(t, row)
	}
}
