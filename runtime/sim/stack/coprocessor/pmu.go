package coprocessor

// The aperture of the performance-monitoring unit is at a fixed base. It has 32-bit power-status registers, whose low
// byte is the power state of an engine. They serve power decisions and are not part of the statistics buffer.
const (
	PMUBase    = 0x2_8e08_c000
	PMUStride  = 8
	PMUEntries = 5

	// PowerSlow and PowerOn are the low bytes of an engine that has power, before its clock has its full rate and then
	// (modelled; without power it is zero).
	PowerSlow = 0x0f
	PowerOn   = 0xff
)

// PMU reads a power-status register. Entry 0 is the M1's engine, entry 1 the memory cache (this assignment is
// modelled); the others have no power. Addresses outside read zero.
func (d *Device) PMU(addr uint64) uint32 {
	i := (addr - PMUBase) / PMUStride
	if addr < PMUBase || i >= PMUEntries || (addr-PMUBase)%PMUStride != 0 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !d.regs.up():
	case i == 0 && !d.regs.fast:
		return uint32(d.cfg.bootValue("power", PowerSlow))
	case i == 0, i == 1 && d.boot != nil && d.boot.settings.on(DeviceMemoryCache):
		return PowerOn
	}
	return 0
}
