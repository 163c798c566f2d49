package interp

// kernels holds the kernel of every operation that can be run, by MIL name.
var kernels = map[string]kernel{}

// add enters kernels into the table; each file of kernels calls it once.
func add(ks map[string]kernel) struct{} {
	for n, k := range ks {
		kernels[n] = k
	}
	return struct{}{}
}

// Supports reports whether the interpreter can run an operation of that name.
func Supports(name string) bool { return kernels[name] != nil }
