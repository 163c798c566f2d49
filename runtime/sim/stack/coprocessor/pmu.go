package coprocessor

// The aperture of the performance-monitoring unit at its fixed base: 32-bit
// power-status registers, whose low byte is the power state of an engine. They
// drive power decisions and are never part of the statistics buffer.
const (
	PMUBase    = 0x2_8e08_c000
	PMUStride  = 8
	PMUEntries = 5

	// PowerOn is the low byte of an engine that has power (modelled; without
	// power it is zero).
	PowerOn = 0xff
)

// PMU reads a power-status register. Entry 0 is the one engine of the M1, entry
// 1 the memory cache (which entry is what is modelled); the others have no
// power. What is outside reads zero.
func (d *Device) PMU(addr uint64) uint32 {
	i := (addr - PMUBase) / PMUStride
	if addr < PMUBase || i >= PMUEntries || (addr-PMUBase)%PMUStride != 0 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !d.regs.up():
	case i == 0, i == 1 && d.boot != nil && d.boot.settings.on(DeviceMemoryCache):
		return PowerOn
	}
	return 0
}
