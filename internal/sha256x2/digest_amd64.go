package sha256x2

import "golang.org/x/sys/cpu"

// hasSHA is the bit of features.
const hasSHA = 1 << 29

var accelerated = cpu.X86.HasSSSE3 && cpu.X86.HasSSE41 && features()&hasSHA != 0
