package coprocessor

import (
	"slices"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// The firmware registers that the property channel reads and writes: a window of numProps words. The addresses are
// modelled, as is the time synchronisation of the bring-up as a write of the host's microseconds.
const (
	PropBase     = 0x1bc4_0000_1000
	PropHostTime = PropBase + 0x00 // host microseconds of the time synchronisation
	PropTunables = PropBase + 0x04 // nonzero: the flag that admits CH_DATA_FILE_LOAD2
	numProps     = 64
)

// DeviceMemoryCache is the deviceId that powers the memory cache (modelled).
const DeviceMemoryCache = 1

// settings are the values set by the first commands.
type settings struct {
	printing  bool
	devices   []uint32 // guarded by the device's mu
	threshold uint32   // context-switch latency
	props     [numProps]uint32
	premaps   []premap
	tunables  int // bytes loaded
	telemetry bool
}

// premap is a property buffer that was mapped before inference calls.
type premap struct {
	user          uint32
	program       int32 // unbound, or the program with which it ends
	address, size uint64
}

// maxPremaps and maxDevices bound the settings' tables (modelled); there is room for a property buffer of each program.
const (
	maxPremaps = protocol.MaxPrograms
	maxDevices = 8
)

func (b *boot) printEnable(d *protocol.Delivery, _ *answer) error {
	b.settings.printing = record(d).Values[0] == 1
	return nil
}

// setPMUBase checks the base of the power-status registers, which is fixed.
func (b *boot) setPMUBase(d *protocol.Delivery, _ *answer) error {
	if base := record(d).Values[0]; base != PMUBase {
		return refusef(StatusMalformed, "PMU base is %#x, want %#x", base, uint64(PMUBase))
	}
	return nil
}

func (b *boot) powerOn(d *protocol.Delivery, _ *answer) error {
	id := uint32(record(d).Values[0])
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if !b.settings.on(id) {
		if len(b.settings.devices) == maxDevices {
			return &firmware.CapacityError{What: "powered device", Capacity: maxDevices}
		}
		b.settings.devices = append(b.settings.devices, id)
	}
	return nil
}

// on reports whether a device has power.
func (s *settings) on(id uint32) bool { return slices.Contains(s.devices, id) }

func (b *boot) defaultSetting(d *protocol.Delivery, _ *answer) error {
	b.settings.threshold = uint32(record(d).Values[0])
	return nil
}

// prop returns the register of an address.
func (b *boot) prop(addr uint64) (*uint32, error) {
	if addr < PropBase || addr >= PropBase+4*numProps || addr%4 != 0 {
		return nil, refusef(StatusMalformed, "property register is %#x, want a word from %#x to %#x", addr,
			uint64(PropBase), uint64(PropBase+4*(numProps-1)))
	}
	return &b.settings.props[(addr-PropBase)/4], nil
}

func (b *boot) propertyWrite(d *protocol.Delivery, _ *answer) error {
	v := record(d).Values
	p, err := b.prop(v[0])
	if err != nil {
		return err
	}
	*p = uint32(v[1])
	b.printf("IPC Writer regAddr 0x%x regValue 0x%x", v[0], v[1])
	return b.applied(v[0], *p)
}

func (b *boot) propertyRead(d *protocol.Delivery, a *answer) error {
	v := record(d).Values
	p, err := b.prop(v[0])
	if err != nil {
		return err
	}
	a.reply = []uint64{v[0], uint64(*p)}
	return nil
}

// maxProcedures is the "maximum procedure count" of the resource query, modelled as the limit of a container's tables.
const maxProcedures = 1 << 16

func (b *boot) resourceInfo(_ *protocol.Delivery, a *answer) error {
	a.reply = []uint64{1, maxCacheRequests, maxProcedures}
	return nil
}

func (b *boot) statsSizes(_ *protocol.Delivery, a *answer) error {
	s := firmware.QueryStatsSizes()
	a.reply = []uint64{uint64(s.Header), uint64(s.Event), uint64(s.Debug), uint64(s.Engine)}
	return nil
}

// dataFile loads a file of tunable registers, guarded by a flag of the engine.
func (b *boot) dataFile(d *protocol.Delivery, _ *answer) error {
	if b.settings.props[(PropTunables-PropBase)/4] == 0 {
		return refusef(StatusUnsupported,
			"CSNE_CMD_CH_DATA_FILE_LOAD2: the engine's flag is clear; write property %#x first", uint64(PropTunables))
	}
	mem, err := b.region(d, "tunables")
	if err != nil {
		return err
	}
	b.settings.tunables = len(mem)
	return nil
}

// premap maps a property buffer, which the client still owns.
func (b *boot) premap(d *protocol.Delivery, _ *answer) error {
	v := record(d).Values
	p := premap{user: d.Header.ProcedureID, program: d.Header.ProgramID, address: v[2], size: v[3]}
	ctx := b.d.user(p.user)
	if ctx == nil {
		return unknownUser(p.user)
	}
	if _, err := b.runtime(p.address, "premap"); err != nil {
		return err
	}
	if _, err := ctx.Window(p.address, p.size, translation.Read, "premap"); err != nil {
		return err
	}
	if slices.Contains(b.settings.premaps, p) {
		return nil
	}
	if len(b.settings.premaps) == maxPremaps {
		b.settings.premaps = b.settings.premaps[1:] // forget the oldest
	}
	b.settings.premaps = append(b.settings.premaps, p)
	return nil
}

// region returns the memory that a command's body names in its user's address space.
func (b *boot) region(d *protocol.Delivery, task string) ([]byte, error) {
	v := record(d).Values
	user := d.Header.ProcedureID
	ctx := b.d.user(user)
	if ctx == nil {
		return nil, unknownUser(user)
	}
	if _, err := b.runtime(v[0], task); err != nil {
		return nil, err
	}
	return ctx.Window(v[0], v[1], translation.Read, task)
}

func unknownUser(user uint32) error {
	return refusef(StatusTranslation, "user %d has no address space; call Bind first", user)
}

// runtime returns the firmware's address of a device address.
func (b *boot) runtime(addr uint64, task string) (uint64, error) {
	return b.d.window.Runtime(addr, task)
}

// record is the body of a command of fixed fields.
func record(d *protocol.Delivery) *protocol.Record {
	r, _ := d.Body.(*protocol.Record)
	return r
}
