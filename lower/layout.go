package lower

// layout is how the elements of a buffer are arranged. A rule chooses it with the buffer. 0 is the canonical layout:
// one row of a tensor's last dimension after the other, each in whole lines of 64 bytes.
type layout uint8

const (
	// columnAlongRow is a column, a tensor of single elements along the channels, along the one row of the buffer: its
	// surface has the dimensions of the column.
	columnAlongRow layout = iota + 1
	// pairOfRows is two rows of parameters, which are read together.
	pairOfRows
	// stackOfMatrices is several matrices, each of which one row of a task has transposed.
	stackOfMatrices
	// stackOfKernels is such matrices whose rows of one number are side by side: they are kernels.
	stackOfKernels
)

// stacked reports whether the buffer has several matrices, each transposed by one row of a task.
func (l layout) stacked() bool { return l == stackOfMatrices || l == stackOfKernels }
