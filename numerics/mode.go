package numerics

import (
	"fmt"
	"strings"
)

// Mode chooses the arithmetic of a run.
type Mode uint8

// Modes.
const (
	// IEEE computes in fp32 and rounds to the declared type at each operation.
	IEEE Mode = iota
	// ANE follows the engine as it was measured: fp16 storage, sums of products by way of the accumulator's narrow
	// first stage (Accumulator), one rounding at the output port, and the engine's rules for special values.
	ANE
	// ANEWide is ANE with sums of products in fp32. It takes a half to a third of the
	// time for a convolution.
	ANEWide
	// ANEFixed follows the engines of the M4 and later, as the M4's and the M6's were measured: sums of products in
	// fixed point (FixedSum), results rounded with halves away from zero, and no special values at the input port.
	ANEFixed
)

var modeNames = [...]string{IEEE: "ieee", ANE: "ane", ANEWide: "ane-wide", ANEFixed: "ane-fixed"}

// ModeNames lists the modes by name, in order.
func ModeNames() []string { return modeNames[:] }

// String returns the mode's name on the command line.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// On returns the mode for a target whose arithmetic has a name (target.Table.Arithmetic): ANE is the target's own.
func (m Mode) On(arithmetic string) Mode {
	if own, err := ParseMode(arithmetic); m == ANE && err == nil {
		return own
	}
	return m
}

// ParseMode returns the mode of that name.
func ParseMode(s string) (Mode, error) {
	for m, n := range modeNames {
		if n == s {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("unknown numerics mode %q; want one of %s", s, strings.Join(modeNames[:], ", "))
}
