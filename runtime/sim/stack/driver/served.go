package driver

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// The configuration, power, trace and profile commands have no handler in the firmware: the kernel extension serves
// them (chapter 30). The chapter states neither their bodies nor their answers, so both are modelled: a body is a
// sequence of 32-bit words, and an answer a list of named values. What a command needs of the firmware, the driver does
// over the property channel.

// Value is one named value of an answer.
type Value struct{ Name, Value string }

// served is the state of the commands that the driver serves.
type served struct {
	profile     profile
	logging     bool          // FW_RUN_MODE
	noRPC       bool          // RPC_ENABLE 0: back-channel calls are not acknowledged
	gating      bool          // SET_DYNAMIC_POWERGATE: no power between requests
	hysteresis  time.Duration // how long the engine keeps power after a request, if gating
	unmanaged   bool          // requests neither give the engine power nor take it
	registers   uint32        // loaded by REG_FILE_LOAD
	recycleMode uint32
	recycling   bool
	returned    uint32 // buffers, by CH_BUFFER_RETURN
	pool        [2]uint32
	dsid        uint32
	secure      bool   // the secure tenant owns the engine
	exclave     bool   // the secure phase was entered by EXCLAVE_MODE_START
	tenant      uint64 // client that entered the secure phase
}

// profile is a measurement of virtual time.
type profile struct {
	on    bool
	from  firmware.Spent
	spent firmware.Spent
}

// The defaults of the host's channel pool, and the limits of CH_BUFFER_POOL_CONFIG_SET (modelled).
const (
	poolBuffers    = 64
	poolBytes      = protocol.MaxMessage
	maxPoolBuffers = 4096
)

// serve runs a command that the driver serves. The client is the one that sent it.
func (h *hardware) serve(c *client, row *protocol.Row, body []byte, deadline time.Duration) ([]Value, error) {
	f := servers[row.ID]
	if f == nil {
		return nil, fmt.Errorf("driver: CSNE_CMD_%s: the driver does not serve it", row.Name)
	}
	words := make([]uint32, len(body)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(body[4*i:])
	}
	out, err := f(&serving{h: h, client: c, words: words, body: body, deadline: deadline})
	if err != nil {
		return nil, fmt.Errorf("driver: CSNE_CMD_%s: %w", row.Name, err)
	}
	return out, nil
}

// serving is one command that the driver serves.
type serving struct {
	h        *hardware
	client   *client
	words    []uint32
	body     []byte
	deadline time.Duration
}

// word returns a word of the body, at most limit.
func (s *serving) word(i int, what string, limit uint32) (uint32, error) {
	if i >= len(s.words) {
		return 0, fmt.Errorf("the body has %d words; word %d is %s, 0 to %d", len(s.words), i, what, limit)
	}
	if s.words[i] > limit {
		return 0, fmt.Errorf("%s is %d, want 0 to %d", what, s.words[i], limit)
	}
	return s.words[i], nil
}

// flag returns the first word as a flag.
func (s *serving) flag(what string) (bool, error) {
	v, err := s.word(0, what, 1)
	return v == 1, err
}

// ready brings the firmware up.
func (s *serving) ready() error {
	r, err := s.h.ensure(s.deadline)
	if err == nil && r != Success {
		err = errors.New(r.String())
	}
	return err
}

// property writes a register of the firmware.
func (s *serving) property(reg uint64, v uint32) error {
	if err := s.ready(); err != nil {
		return err
	}
	_, err := s.h.command(protocol.ByName("CH_PROPERTY_WRITE"), unbound, reg, uint64(v))
	return err
}

func num[T ~int | ~uint32 | ~uint64 | ~int64](name string, v T) Value {
	return Value{name, fmt.Sprint(v)}
}

// servers are the commands that the driver serves, by identifier.
var servers map[protocol.ID]func(*serving) ([]Value, error)

// Filled in init, since the handlers name the table through serve.
func init() {
	by := map[string]func(*serving) ([]Value, error){
		"STOP": (*serving).suspend, "RESET": (*serving).reset, "CONFIG_GET": (*serving).config,
		"REG_FILE_LOAD": (*serving).registerFile, "BUILDINFO": (*serving).build,
		"TIMEPROFILE_START": (*serving).profileStart, "TIMEPROFILE_STOP": (*serving).profileStop,
		"TIMEPROFILE_SHOW": (*serving).profileShow, "FW_RUN_MODE": (*serving).runMode,
		"POWER_DOWN": (*serving).suspend, "SET_SNE_RPC_CHECK_CMD": (*serving).checkRPC,
		"RPC_ENABLE": (*serving).enableRPC, "PLATFORM_INFO": (*serving).platform, "BOOT": (*serving).boot,
		"PING": (*serving).ping, "CONFIG_GET_EXT": (*serving).configMore, "POWER_DEVICE_OFF": (*serving).deviceOff,
		"CH_INFO_GET": (*serving).channels, "CH_BUFFER_RECYCLE_MODE_SET": (*serving).setRecycleMode,
		"CH_BUFFER_RECYCLE_START": (*serving).startRecycling, "CH_BUFFER_RECYCLE_STOP": (*serving).stopRecycling,
		"CH_BUFFER_RETURN": (*serving).returnBuffers, "CH_BUFFER_POOL_CONFIG_GET": (*serving).poolConfig,
		"CH_BUFFER_POOL_CONFIG_SET": (*serving).setPoolConfig, "CH_DATA_FILE_LOAD": (*serving).dataFile,
		"TRACE_ENABLE": (*serving).trace, "SUSPEND": (*serving).suspend, "DSID_SET": (*serving).setDSID,
		"MCACHE_SIZE_GET": (*serving).memoryCache, "SECURE_MODE_START": (*serving).enterSecure,
		"SECURE_MODE_STOP": (*serving).leaveSecure, "SET_SNE_PMU_BASE2": (*serving).pmuBase,
		"SET_DYNAMIC_POWERGATE": (*serving).powerGate, "EXCLAVE_MODE_START": (*serving).enterExclave,
		"EXCLAVE_MODE_STOP": (*serving).leaveExclave, "QUIESCE_STATE": (*serving).quiesced,
		"CPU_LOAD_GET": (*serving).load, "SECURE_MODE_RESUME_TRANSITION": (*serving).resumeSecure,
		"CH_POWER_CONTROL": (*serving).powerControl, "DEBUG_COMMAND_DATA_CHECK": (*serving).check,
	}
	servers = map[protocol.ID]func(*serving) ([]Value, error){}
	for name, f := range by {
		servers[protocol.ByName(name).ID] = f
	}
}

// suspend is STOP, SUSPEND and POWER_DOWN: nothing runs while the gate is held, so the device loses power. The next
// request brings the firmware up again.
func (s *serving) suspend() ([]Value, error) {
	s.h.sleep()
	return s.quiesced()
}

func (s *serving) reset() ([]Value, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	s.h.recover(errors.New("driver: CSNE_CMD_RESET was sent"))
	return []Value{num("boots", s.h.boot.Load())}, nil
}

func (s *serving) boot() ([]Value, error) {
	err := s.ready()
	return []Value{num("boots", s.h.boot.Load())}, err
}

func (s *serving) config() ([]Value, error) {
	p := &s.h.d.properties
	return []Value{num("version", p.Version), num("minor", p.MinorVersion), num("engines", p.NumEngines),
		num("cores", p.NumCores), num("cpuSubtype", p.CPUSubtype)}, nil
}

func (s *serving) configMore() ([]Value, error) {
	return []Value{num("streams", Streams), num("pageSize", translation.PageSize),
		num("programs", firmware.NumPrograms), num("processes", firmware.NumProcesses),
		num("loopSlots", loopSlots), num("maxMessage", protocol.MaxMessage),
		num("contextSwitchLatency", contextSwitchLatency)}, nil
}

func (s *serving) build() ([]Value, error) {
	return []Value{{"kext", KextBuild}, {"chip", fmt.Sprintf("%#x", coprocessor.ChipRevision)},
		{"ipc", fmt.Sprintf("%#x", coprocessor.IPCVersion)}}, nil
}

func (s *serving) platform() ([]Value, error) {
	p := &s.h.d.properties
	return []Value{{"architecture", p.ArchitectureType}, num("boardType", p.BoardType),
		num("boardSubtype", p.BoardSubtype), {"internalBuild", yesNo(p.InternalBuild)}}, nil
}

// registerFile loads pairs of a register's index in the firmware's window and its value.
func (s *serving) registerFile() ([]Value, error) {
	if len(s.words) == 0 || len(s.words)%2 != 0 {
		return nil, fmt.Errorf("the body has %d words, want pairs of a register's index and its value", len(s.words))
	}
	for i := 0; i < len(s.words); i += 2 {
		if err := s.property(coprocessor.PropBase+4*uint64(s.words[i]), s.words[i+1]); err != nil {
			return nil, err
		}
		s.h.served.registers++
	}
	return []Value{num("registers", s.h.served.registers)}, nil
}

func (s *serving) profileStart() ([]Value, error) {
	s.h.served.profile = profile{on: true, from: s.h.d.clock.Spent()}
	return nil, nil
}

func (s *serving) profileStop() ([]Value, error) {
	p := &s.h.served.profile
	if !p.on {
		return nil, errors.New("no time profile is running; send TIMEPROFILE_START first")
	}
	p.on, p.spent = false, s.h.d.clock.Spent().Sub(p.from)
	return s.profileShow()
}

// profileShow lists the virtual time by cause.
func (s *serving) profileShow() ([]Value, error) {
	p := &s.h.served.profile
	spent := p.spent
	if p.on {
		spent = s.h.d.clock.Spent().Sub(p.from)
	}
	var out []Value
	for c, d := range spent {
		if d != 0 {
			out = append(out, Value{cost.Cause(c).String(), cost.Time(d).String() + " us"})
		}
	}
	return out, nil
}

// runMode turns the firmware's log off (0) or on (1).
func (s *serving) runMode() ([]Value, error) {
	v, err := s.word(0, "the mode", 1)
	if err != nil {
		return nil, err
	}
	if err := s.ready(); err != nil {
		return nil, err
	}
	_, err = s.h.command(protocol.ByName("PRINT_ENABLE"), unbound, uint64(v))
	s.h.served.logging = v == 1
	return []Value{num("mode", v)}, err
}

func (s *serving) enableRPC() ([]Value, error) {
	on, err := s.flag("the flag")
	s.h.served.noRPC = err == nil && !on
	return nil, err
}

// checkRPC makes the firmware call the host on the back channel with the command's word and checks that it arrives.
func (s *serving) checkRPC() ([]Value, error) {
	if len(s.words) == 0 {
		return nil, errors.New("the body has no word to send back")
	}
	if err := s.ready(); err != nil {
		return nil, err
	}
	slot, err := s.h.cop.CallHost(s.body[:4])
	if err != nil {
		return nil, err
	}
	s.h.notifications(completed)
	if err := s.h.cop.Run(context.Background()); err != nil {
		return nil, err
	}
	s.h.notifications(completed)
	return []Value{num("slot", slot), {"acknowledged", yesNo(!s.h.served.noRPC)}}, nil
}

// ping reads a register of the firmware and returns the virtual time that it took.
func (s *serving) ping() ([]Value, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	from := s.h.d.clock.Now()
	o, err := s.h.command(protocol.ByName("CH_PROPERTY_READ"), unbound, coprocessor.PropHostTime, 0)
	if err != nil {
		return nil, err
	}
	took := cost.Time(s.h.d.clock.Now() - from)
	return []Value{{"status", o.status.String()}, {"round trip", took.String() + " us"}}, nil
}

func (s *serving) channels() ([]Value, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	var out []Value
	for _, c := range s.h.cop.Channels() {
		out = append(out, Value{c.Name, fmt.Sprintf("index %d slots %d ready %t", c.Index, c.Slots, c.Ready)})
	}
	return out, nil
}

func (s *serving) setRecycleMode() ([]Value, error) {
	v, err := s.word(0, "the mode", 3)
	s.h.served.recycleMode = v
	return nil, err
}

func (s *serving) startRecycling() ([]Value, error) {
	if s.h.served.recycleMode == 0 {
		return nil, errors.New("no recycle mode is set; send CH_BUFFER_RECYCLE_MODE_SET first")
	}
	s.h.served.recycling = true
	return nil, nil
}

func (s *serving) stopRecycling() ([]Value, error) {
	s.h.served.recycling = false
	return []Value{num("returned", s.h.served.returned)}, nil
}

func (s *serving) returnBuffers() ([]Value, error) {
	n, err := s.word(0, "the number of buffers", maxPoolBuffers)
	if err == nil && !s.h.served.recycling {
		err = errors.New("buffers are not being recycled; send CH_BUFFER_RECYCLE_START first")
	}
	if err != nil {
		return nil, err
	}
	s.h.served.returned += n
	return []Value{num("returned", s.h.served.returned)}, nil
}

func (s *serving) poolConfig() ([]Value, error) {
	p := s.h.served.pool
	return []Value{num("buffers", cmp.Or(p[0], poolBuffers)), num("bytes", cmp.Or(p[1], uint32(poolBytes)))}, nil
}

func (s *serving) setPoolConfig() ([]Value, error) {
	n, err := s.word(0, "the number of buffers", maxPoolBuffers)
	if err != nil {
		return nil, err
	}
	size, err := s.word(1, "the size of a buffer in bytes", poolBytes)
	if err != nil {
		return nil, err
	}
	s.h.served.pool = [2]uint32{n, size}
	return s.poolConfig()
}

// dataFile passes a data file on as the firmware's own command.
func (s *serving) dataFile() ([]Value, error) {
	if len(s.body) != 16 {
		return nil, fmt.Errorf("the body has %d bytes, want an address and a size of 8 bytes each", len(s.body))
	}
	if err := s.ready(); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	hd := unbound
	hd.ProcedureID = kernelUser
	o, err := s.h.command(protocol.ByName("CH_DATA_FILE_LOAD2"), hd, le.Uint64(s.body), le.Uint64(s.body[8:]))
	return []Value{{"status", o.status.String()}}, err
}

// trace makes the firmware emit signposts and user and debug events for every call, or stops it.
func (s *serving) trace() ([]Value, error) {
	on, err := s.flag("the flag")
	if err != nil {
		return nil, err
	}
	v := uint32(coprocessor.TraceOff)
	if on {
		v = coprocessor.TraceAll
	}
	return nil, s.property(coprocessor.PropTrace, v)
}

func (s *serving) setDSID() ([]Value, error) {
	v, err := s.word(0, "the data-set identifier", 1<<16-1)
	if err == nil && v == 0 {
		err = errors.New("the data-set identifier is 0, want 1 to 65535")
	}
	if err != nil {
		return nil, err
	}
	s.h.served.dsid = v
	return []Value{num("dsid", v)}, s.property(coprocessor.PropDSID, v)
}

func (s *serving) memoryCache() ([]Value, error) {
	n := 0
	if s.h.cop.PMU(coprocessor.PMUBase+coprocessor.PMUStride) != 0 {
		n = target.MemoryCacheBytes // that the banner means the same cache is modelled
	}
	return []Value{num("bytes", n)}, nil
}

func (s *serving) pmuBase() ([]Value, error) {
	if len(s.body) != 8 || binary.LittleEndian.Uint64(s.body) != coprocessor.PMUBase {
		return nil, fmt.Errorf("the base must be %#x", uint64(coprocessor.PMUBase))
	}
	return nil, nil
}

func (s *serving) powerGate() ([]Value, error) {
	on, err := s.flag("the flag")
	s.h.served.gating = on
	return nil, err
}

// deviceOff takes power from a device of the engine, such as the memory cache.
func (s *serving) deviceOff() ([]Value, error) {
	if len(s.words) == 0 {
		return nil, errors.New("the body has no device")
	}
	if !s.h.cop.PowerOff(s.words[0]) {
		return nil, fmt.Errorf("device %d has no power", s.words[0])
	}
	return nil, nil
}

// powerControl powers the engine off (0) or on (1).
func (s *serving) powerControl() ([]Value, error) {
	on, err := s.flag("the flag")
	switch {
	case err != nil:
		return nil, err
	case on:
		return s.boot()
	}
	return s.suspend()
}

// quiesced reports what the device does. The gate is held, so no request runs.
func (s *serving) quiesced() ([]Value, error) {
	waiting := 0
	for _, p := range s.h.d.gate.sched.Report().Waiting {
		waiting += p.Total - p.Available
	}
	return []Value{{"quiet", yesNo(waiting == 0)}, num("waiting", waiting),
		{"powered", yesNo(s.h.powered.Load())}}, nil
}

// load is the share of virtual time that the firmware has worked.
func (s *serving) load() ([]Value, error) {
	return []Value{num("percent", s.h.cop.Load())}, nil
}

func (s *serving) check() ([]Value, error) {
	return []Value{num("bytes", len(s.body)), {"crc32", fmt.Sprintf("%#08x", crc32.ChecksumIEEE(s.body))}}, nil
}

// enterSecure gives the engine to the client as the secure tenant: the engine is quiet, since the gate is held, loses
// its power and with it all data of others, and enters the secure phase. Until the phase ends, other clients' requests
// are refused.
func (s *serving) enterSecure() ([]Value, error) {
	if s.h.served.secure {
		return nil, errors.New("the secure phase has been entered")
	}
	s.h.sleep()
	if err := s.property(coprocessor.PropSecure, coprocessor.SecureEnter); err != nil {
		return nil, err
	}
	s.h.served.secure, s.h.served.tenant = true, s.client.id
	return []Value{{"state", "EXEC-SECURE"}}, nil
}

// leaveSecure ends the secure phase and the power of the engine with it.
func (s *serving) leaveSecure() ([]Value, error) {
	if !s.h.served.secure || s.h.served.tenant != s.client.id {
		return nil, errors.New("the client is not the secure tenant")
	}
	err := s.property(coprocessor.PropSecure, coprocessor.SecureLeave)
	s.h.endSecure()
	return []Value{{"state", "RUN"}}, err
}

// endSecure takes the engine from the secure tenant.
func (h *hardware) endSecure() {
	h.served.secure, h.served.exclave, h.served.tenant = false, false, 0
	h.sleep()
}

// resumeSecure brings the secure phase back after the firmware has lost it with its power.
func (s *serving) resumeSecure() ([]Value, error) {
	if !s.h.served.secure || s.h.served.tenant != s.client.id {
		return nil, errors.New("the client is not the secure tenant")
	}
	if s.h.ready.Load() && s.h.cop.Secure() {
		return nil, errors.New("the firmware is in the secure phase; there is nothing to resume")
	}
	return []Value{{"state", "EXEC-SECURE"}}, s.property(coprocessor.PropSecure, coprocessor.SecureEnter)
}

func (s *serving) enterExclave() ([]Value, error) {
	out, err := s.enterSecure()
	s.h.served.exclave = err == nil
	return out, err
}

func (s *serving) leaveExclave() ([]Value, error) {
	if !s.h.served.exclave {
		return nil, errors.New("the secure phase was not entered by EXCLAVE_MODE_START")
	}
	return s.leaveSecure()
}
