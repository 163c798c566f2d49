// Package repeated makes long byte slices that repeat a short one.
//
// Input: the bytes to repeat, and a length. Output: a slice of that length which must not be modified.
//
// Invariants: where the system maps files, the slice takes no more memory than what is read of it, and what is read is
// the same memory for each repetition. Elsewhere it is allocated, up to MaxCopied.
package repeated

// Unit is what the number of bytes to repeat must be a multiple of: the largest page of the systems that are supported.
const Unit = 1 << 16

// MaxCopied is the length up to which a slice is allocated where it cannot be mapped.
const MaxCopied = 512 << 20

// Bytes returns n bytes that repeat period, whose length is a multiple of Unit and not 0. It stays valid until the
// process ends. Bytes returns nil if there is no room for so many.
func Bytes(period []byte, n int) []byte {
	if n > len(period) {
		if b := mapBytes(period, n); b != nil {
			return b
		}
	}
	if n > MaxCopied {
		return nil
	}
	b := make([]byte, n)
	for done := copy(b, period); done < n; {
		done += copy(b[done:], b[:done-done%len(period)])
	}
	return b
}
