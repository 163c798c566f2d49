package cost

import (
	"sync"

	"github.com/zinc-compiler/zinc/target"
)

// Cause is what virtual time passes for: a stage of a dispatch, the engine's work, or something that happens once.
type Cause int

// The causes. The first CallCauses are part of a call.
const (
	Bind       Cause = iota // the runtime binds and prepares an inference
	Handover                // inputs and outputs pass between host and engine
	CPUWork                 // operations on the CPU
	Enter                   // entry into the kernel and return from it
	Request                 // the driver builds the firmware's request
	Kick                    // the doorbell
	Firmware                // the firmware takes the command, passes it on, and reports its end
	Start                   // the engine starts and drains
	Tasks                   // the engine's tasks
	Completion              // the driver's part after the interrupt
	Return                  // the way back to the caller

	Switch  // the engine changes from one process to another
	PowerUp // power and clock, before the firmware boots
	Loading // a program's container is copied to the device
	Waiting // retries, time limits, and everything that another client's work takes
	Causes  = iota

	CallCauses = Switch
)

// causes describes the causes. A stage has its time in every dispatch.
var causes = [Causes]struct {
	name, layer string
	stage       *Constant
	engine      bool // the engine works, and not software
}{
	Bind:       {name: "binding, runtime, host copies", layer: "e5rt", stage: &stageBind},
	Handover:   {name: "inputs and outputs", layer: "e5rt"},
	CPUWork:    {name: "operations on the CPU", layer: "e5rt"},
	Enter:      {name: "entry into the kernel", layer: "driver", stage: &stageEnter},
	Request:    {name: "building the firmware request", layer: "driver", stage: &stageRequest},
	Kick:       {name: "firmware kick", layer: "driver", stage: &stageKick},
	Firmware:   {name: "firmware round trip", layer: "firmware", stage: &stageTrip},
	Start:      {name: "engine start and drain", layer: "engine", stage: &stageStart, engine: true},
	Tasks:      {name: "tasks", layer: "engine", engine: true},
	Completion: {name: "completion in the kernel", layer: "driver", stage: &stageComplete},
	Return:     {name: "return to the caller", layer: "e5rt", stage: &stageReturn},
	Switch:     {name: "change of process", layer: "engine", engine: true},
	PowerUp:    {name: "power-up and clock", layer: "driver"},
	Loading:    {name: "loading programs", layer: "loader"},
	Waiting:    {name: "waiting", layer: "driver"},
}

// String names the cause in a phrase.
func (c Cause) String() string { return causes[c].name }

// Layer returns the name of the layer of the simulated stack that spends the time.
func (c Cause) Layer() string { return causes[c].layer }

// Engine reports whether the engine works during the time, and not software.
func (c Cause) Engine() bool { return causes[c].engine }

// Fixed returns the cause's time in every dispatch of the simulated machine, or 0 if the time depends on the program.
func (c Cause) Fixed() Time { return simulatedStages()[c] }

var simulatedStages = sync.OnceValue(func() [Causes]Time { return stagesOf(Simulated) })

// Switching returns the time to clear L2 between two processes.
func Switching(tab *target.Table) Time {
	return seconds(float64(tab.L2Bytes) / (l2Rate(tab) * clock.Value))
}

// PoweringUp returns the times that the engine takes to get power, and its clock to become stable.
func PoweringUp() (power, ramp Time) { return Micros(powerUp.Value), Micros(clockRamp.Value) }
