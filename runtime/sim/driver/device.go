package driver

import (
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/translation"
)

// Config makes a device. The zero value is the real one, without trace and
// faults.
type Config struct {
	Unit     *translation.Unit // nil makes one of the default size
	Clock    *firmware.Clock   // nil makes one
	Trace    *trace.Tracer
	Inject   *inject.Injector
	Strict   bool // the firmware faults where the real one does
	Numerics engine.Numerics
	Workers  int // goroutines of the engine; results do not depend on it
}

// Device is the engine's device object, ANEHWDevice.
type Device struct {
	cfg   Config
	unit  *translation.Unit
	clock *firmware.Clock
	trace *trace.Tracer
}

// NewDevice attaches the device (ANEHWDevice::start). The firmware is brought up
// when the first functional client opens.
func NewDevice(cfg Config) (*Device, error) {
	d := &Device{cfg: cfg, unit: cfg.Unit, clock: cfg.Clock, trace: cfg.Trace}
	var err error
	if d.unit == nil {
		if d.unit, err = translation.NewUnit(translation.Config{}); err != nil {
			return nil, err
		}
	}
	if d.clock == nil {
		if d.clock, err = firmware.NewClock(256); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// UserClient is a connection to the device.
type UserClient interface {
	// ExternalMethod calls a selector.
	ExternalMethod(selector uint32, args *IOExternalMethodArguments) Return
	// ExternalMethodBytes calls a selector with the kernel's block of bytes.
	ExternalMethodBytes(selector uint32, block []byte) Return
	// Class is the name of the client's class.
	Class() string
	// Info is what was stamped on the client when it was made.
	Info() ANEClientInfo
	// LastError is why the last call failed, as the driver's log has it; nil
	// after a call that did not fail.
	LastError() error
	// Close closes the connection: what it loaded goes. Further calls return
	// Closed.
	Close() Return
}

// The types of user clients (listing 27.1). The numbers are modelled.
const (
	ControlClient    = 1
	DirectPathClient = 2
	HintsClient      = 3
)

// NewUserClient makes a user client of one of the three types.
func (d *Device) NewUserClient(task *Task, typ uint32) (UserClient, Return) {
	return nil, Unsupported
}

// Close powers the device off; its clients are closed.
func (d *Device) Close() error { return nil }
