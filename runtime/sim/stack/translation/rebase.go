package translation

import "fmt"

// FirmwareHigh is the high half of every address in the firmware's aperture.
const FirmwareHigh = 0x1bc4

// Rebase is the window through which the firmware sees device addresses:
// runtime = MappedBase + (address - DVABase), for Size bytes.
type Rebase struct {
	MappedBase uint64 // first runtime address; its high 32 bits are FirmwareHigh
	DVABase    uint64 // first device address; its high 32 bits are zero
	Size       uint64 // bytes
}

// NewRebase checks a window: runtime addresses all have the high half
// FirmwareHigh, device addresses all are inside the aperture.
func NewRebase(mappedBase, dvaBase, size uint64) (Rebase, error) {
	switch {
	case mappedBase>>32 != FirmwareHigh:
		return Rebase{}, fmt.Errorf("translation: firmware window: mappedBase %#x: high half is %#x, want %#x",
			mappedBase, mappedBase>>32, FirmwareHigh)
	case mappedBase%PageSize != 0 || dvaBase%PageSize != 0:
		return Rebase{}, fmt.Errorf("translation: firmware window: mappedBase %#x and dvaBase %#x must be "+
			"multiples of %#x", mappedBase, dvaBase, PageSize)
	case dvaBase >= ApertureSize || size > ApertureSize-dvaBase:
		return Rebase{}, fmt.Errorf("translation: firmware window: %#x bytes from %#x exceed the aperture of %#x", size,
			dvaBase, uint64(ApertureSize))
	case size == 0 || mappedBase&0xffff_ffff+size > 1<<32:
		return Rebase{}, fmt.Errorf("translation: firmware window: %#x bytes from %#x are empty or exceed the "+
			"high half %#x", size, mappedBase, FirmwareHigh)
	}
	return Rebase{mappedBase, dvaBase, size}, nil
}

// Runtime returns the firmware's address of a device address. It refuses an address with nonzero high 32 bits before it
// computes anything, and an address outside the window.
func (r Rebase) Runtime(addr uint64, task string) (uint64, error) {
	if addr>>32 != 0 {
		return 0, &Fault{
			Stream: NoSlot,
			Task:   task,
			Addr:   addr,
			Reason: HighBits,
			Limit:  1<<32 - 1,
			Advice: "pass the device address, not the firmware's",
		}
	}
	return r.shift(addr, r.DVABase, r.MappedBase, task)
}

// Device returns the device address of a runtime address.
func (r Rebase) Device(runtime uint64, task string) (uint64, error) {
	return r.shift(runtime, r.MappedBase, r.DVABase, task)
}

// shift moves an address from one base of the window to the other.
func (r Rebase) shift(addr, from, to uint64, task string) (uint64, error) {
	if addr < from || addr-from >= r.Size {
		return 0, &Fault{
			Stream: NoSlot,
			Task:   task,
			Addr:   addr,
			Reason: Outside,
			Limit:  from + r.Size,
			Advice: fmt.Sprintf("the window begins at %#x", from),
		}
	}
	return to + (addr - from), nil
}
