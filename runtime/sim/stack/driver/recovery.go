package driver

import (
	"errors"
	"fmt"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// Limits of recovery, modelled: the chapter says only that it is rate-limited, and that crashes faster than the
// recovery cycle keep the channel not ready.
const (
	// RecoveryInterval is the minimum virtual time between two recoveries beyond the burst.
	RecoveryInterval = time.Second
	// RecoveryBurst is the number of recoveries that may come faster.
	RecoveryBurst = 4
	// keepDumps is the number of drained dumps that the driver keeps.
	keepDumps = 4
)

// recovery is the state of recovery, guarded by the gate.
type recovery struct {
	tokens   int           // recoveries that may come without delay
	filled   time.Duration // when a token was last added
	needed   bool          // a recovery is delayed
	count    int
	failures int // crashes that could not be recovered in their action
}

// Dump is a firmware dump that the driver has drained.
type Dump struct {
	At       time.Duration
	Cause    string
	Sections []coprocessor.Section
}

// refill adds tokens for the elapsed time.
func (r *recovery) refill(now time.Duration) {
	for r.tokens < RecoveryBurst && now-r.filled >= RecoveryInterval {
		r.tokens++
		r.filled += RecoveryInterval
	}
	if r.tokens == RecoveryBurst {
		r.filled = now
	}
}

// recover cancels what is outstanding and re-initialises: it drains the dump, takes the channel down, and boots the
// firmware to the ready handshake, all before the gate is free. If recoveries come too fast, the channel stays not
// ready, and the next action waits for the delayed recovery.
func (h *hardware) recover(cause error) {
	h.ready.Store(false)
	h.reset = false
	h.d.trace.Note("cancel outstanding commands", 0, 0, trace.Failure(cause))
	h.drain(cause)
	h.cop.Write32(coprocessor.ANE, coprocessor.RegCPU, 0)
	h.held = nil
	now := h.d.clock.Now()
	h.recovery.refill(now)
	if h.recovery.tokens == 0 {
		h.recovery.needed = true
		h.event("recovery is rate-limited; the channel is not ready")
		return
	}
	_ = h.reinit() // a failure leaves the channel not ready, and the next action tries again
}

// reinit does a warm boot of the firmware, which costs a token. If it fails, the channel stays not ready and the next
// action tries again.
func (h *hardware) reinit() error {
	h.recovery.tokens--
	h.recovery.needed = false
	h.recovery.count++
	err := h.init(coprocessor.BootWarm)
	if err != nil {
		err = h.powerOn(coprocessor.BootWarm)
	}
	if err != nil {
		h.recovery.failures++
	}
	return err
}

// drain reads the firmware's dump section by section, while the firmware blocks.
func (h *hardware) drain(cause error) {
	dump := h.cop.Dump()
	if dump == nil {
		return
	}
	out := Dump{At: h.d.clock.Now(), Cause: cause.Error()}
	for {
		s, ok := dump.Next()
		if !ok {
			break
		}
		out.Sections = append(out.Sections, s)
		h.d.trace.Note("drain dump", 0, 0, trace.Text("section", s.Name), trace.Data([]byte(s.Text)))
	}
	if len(out.Sections) == 0 {
		return
	}
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	h.d.dumps = append(h.d.dumps, out)
	if len(h.d.dumps) > keepDumps {
		h.d.dumps = h.d.dumps[1:]
	}
}

// ensure makes the channel ready before an action, as up does. It does not give the engine power that is not managed.
func (h *hardware) ensure(deadline time.Duration) (Return, error) {
	h.gateIdle()
	if h.served.unmanaged && !h.powered.Load() {
		return NotReady, errors.New("driver: the engine has no power, and its power is not managed; call ANE_PowerOn")
	}
	return h.up(deadline)
}

// up makes the channel ready: it powers the device on, or waits for the delayed recovery, until the deadline.
func (h *hardware) up(deadline time.Duration) (Return, error) {
	if h.ready.Load() {
		return Success, nil
	}
	now := h.d.clock.Now()
	h.recovery.refill(now)
	if h.recovery.needed && h.recovery.tokens == 0 {
		due := h.recovery.filled + RecoveryInterval
		if due > deadline {
			h.d.advance(max(deadline-now, 0))
			return NotReady, fmt.Errorf(
				"driver: the channel is not ready: crashes come faster than recovery, which is due at %v", due)
		}
		h.d.advance(max(due-now, 0))
		h.recovery.refill(h.d.clock.Now())
	}
	if h.recovery.needed {
		if err := h.reinit(); err != nil {
			return NotReady, err
		}
		return Success, nil
	}
	kind := uint32(coprocessor.BootCold)
	if h.boot.Load() > 0 && !h.forgot {
		kind = coprocessor.BootWarm
	}
	if err := h.powerOn(kind); err != nil {
		return NotReady, err
	}
	return Success, nil
}

// outOfStep lists the statuses that the firmware returns only if it and the driver disagree about what is loaded, which
// a reset repairs.
var outOfStep = [coprocessor.NumStatuses]bool{
	coprocessor.StatusNotReady: true,
	coprocessor.StatusDropped:  true,
	coprocessor.StatusReset:    true,
}

// failed handles an error of a command: if the firmware refused the command, the device stays as it is; after any other
// error it is recovered.
func (h *hardware) failed(err error) Return {
	var st *statusError
	r := Aborted
	switch {
	case errors.As(err, &st):
		r = returnOf(st.status)
		if st.status < coprocessor.NumStatuses && !outOfStep[st.status] && !h.reset {
			return r
		}
	case errors.Is(err, errLost):
		r = Timeout
	case errors.Is(err, protocol.ErrMalformed): // nothing was sent
		return BadArgument
	}
	h.recover(err)
	return r
}
