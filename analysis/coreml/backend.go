package coreml

import (
	"fmt"
	"slices"
	"strings"
)

// Backend is a part of the framework that runs operations. The CPU has two.
type Backend uint8

// Backends, in the order in which the framework prefers them if their costs are equal.
const (
	Engine     Backend = iota // the Neural Engine
	ClassicCPU                // the older code for the CPU
	BNNS                      // the library for the CPU
	GPU                       // MPSGraph
	NumBackends
)

// backendNames are the names in the framework's analytics.
var backendNames = [NumBackends]string{"ane", "classic_cpu", "bnns", "mps_graph"}

// String returns the backend's name in the framework's analytics.
func (b Backend) String() string { return backendNames[b] }

// ParseBackend is the inverse of String.
func ParseBackend(name string) (Backend, bool) {
	i := slices.Index(backendNames[:], name)
	return Backend(max(i, 0)), i >= 0
}

// Device returns the device of the backend.
func (b Backend) Device() Device { return [NumBackends]Device{NeuralEngine, CPU, CPU, GPUDevice}[b] }

// MarshalText returns the name.
func (b Backend) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Device is what an operation runs on, by the name of the class in the framework's public interface.
type Device string

// Devices.
const (
	CPU          Device = "MLCPUComputeDevice"
	GPUDevice    Device = "MLGPUComputeDevice"
	NeuralEngine Device = "MLNeuralEngineComputeDevice"
)

// Word returns the device's name in text.
func (d Device) Word() string {
	switch d {
	case NeuralEngine:
		return "engine"
	case GPUDevice:
		return "GPU"
	}
	return "CPU"
}

// Backends is a set of backends.
type Backends uint8

// BackendsOf returns the set of the given backends.
func BackendsOf(bs ...Backend) (s Backends) {
	for _, b := range bs {
		s |= 1 << b
	}
	return s
}

// Has reports whether b belongs to s.
func (s Backends) Has(b Backend) bool { return s&(1<<b) != 0 }

// List returns the members in the order of preference.
func (s Backends) List() (out []Backend) {
	for b := range NumBackends {
		if s.Has(b) {
			out = append(out, b)
		}
	}
	return out
}

// Units are the compute units that the caller of the framework allows.
type Units string

// The compute units, and their names on the command line.
const (
	All       Units = "all"
	CPUEngine Units = "cpu-ane"
	CPUGPU    Units = "cpu-gpu"
	CPUOnly   Units = "cpu"
)

// AllUnits are the values of Units.
var AllUnits = []Units{All, CPUEngine, CPUGPU, CPUOnly}

// Backends returns the backends of the units.
func (u Units) Backends() (Backends, error) {
	s := BackendsOf(ClassicCPU, BNNS)
	switch u {
	case All:
		return s | BackendsOf(Engine, GPU), nil
	case CPUEngine:
		return s | BackendsOf(Engine), nil
	case CPUGPU:
		return s | BackendsOf(GPU), nil
	case CPUOnly:
		return s, nil
	}
	var names []string
	for _, u := range AllUnits {
		names = append(names, string(u))
	}
	return 0, fmt.Errorf("unknown compute units %q; want %s", u, strings.Join(names, ", "))
}
