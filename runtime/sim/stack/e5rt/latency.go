package e5rt

import "time"

// Stage is one stage of a dispatch on the M1 (table 2.3).
type Stage struct {
	Name string
	Cost time.Duration // the table's "about"; the middle if it states a range
	// Layer is the package below runtime/sim that advances the clock by Cost.
	Layer string
}

// Binding is the time of the stage in this package: binding, runtime, and the copies of fp16 inputs and outputs on the
// host, about 25 microseconds (table 2.3).
const Binding = 25 * time.Microsecond

// Latency is table 2.3: where the time of a small dispatch goes, from the caller's
// binding to the completion in the kernel. The whole call was measured at about 190
// microseconds; the stages sum to somewhat less.
var Latency = []Stage{
	{"User-space binding, runtime, and host fp16 input and output copy", Binding, "e5rt"},
	{"Building the firmware request", 16 * time.Microsecond, "driver"},
	{"Firmware kick: the doorbell, which returns asynchronously", 2500 * time.Nanosecond, "driver"},
	{"Firmware round trip", 130 * time.Microsecond, "coprocessor"},
	{"Kernel-side completion processing", 10 * time.Microsecond, "driver"},
}
