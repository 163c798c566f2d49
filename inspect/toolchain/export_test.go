package toolchain

// Knows reports whether the executable's help lists a flag, by its long name without
// dashes.
func (x *Executable) Knows(flag string) bool { return x.flags[flag] }
