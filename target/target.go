// Package target holds one table a hardware target: the limits and gates that
// placement, legalisation and lowering read. Code asks the table for a number
// or a capability and never which target it is.
//
// The values are the public decoding of the vendor compiler's per-chip table.
package target

import (
	"fmt"
	"sort"
	"strings"
)

// Table is what one target can do.
type Table struct {
	Name    string // as -t takes it
	Family  string // hardware family
	Subtype uint32 // cpusubtype of its containers
	TD      int    // version of the task descriptors that zinc writes for it, 0 when it writes none

	MaxKernelW, MaxKernelH int // taps of an fp16 kernel along the width, along the height
	MaxWidth, MaxHeight    int // of a tensor
	MaxChannels, MaxBatch  int
	MaxRank                int
	MaxPool                int   // taps of a pooling window along one axis
	MaxStride              int   // largest stride that the register holds
	MaxPad                 int   // largest leading padding that the register holds
	MaxGroups              int   // convolution groups that the register holds
	MaxSurfaces            int   // inputs and outputs of a procedure: 5-bit buffer-access register numbers, less 0..3
	L2Bytes                int64 // operand working set
	KernelBytes            int64 // resident kernel memory of one core
	KernelStream           int64 // streamed kernel of one task
	StreamPixels           int   // output pixels up to which a kernel streams instead of staying resident
	Cores                  int
	PageBytes              int64 // alignment of a device window
	InstrAlign             int   // alignment of a task
	SurfaceAlign           int64 // row alignment of a surface
	DispatchFloorUS        float64
	PeakFLOPs              float64 // per second
	Bandwidth              float64 // bytes per second, single stream
	StreamForms            []string
}

// H13 is the A14 and M1 generation.
var H13 = &Table{
	Name: "h13", Family: "A13", Subtype: 4, TD: 7,
	MaxKernelW: 13, MaxKernelH: 29,
	MaxWidth: 16384, MaxHeight: 16384, MaxChannels: 65536, MaxBatch: 65536, MaxRank: 5,
	MaxPool: 29, MaxStride: 3, MaxPad: 31, MaxGroups: 1<<13 - 1, MaxSurfaces: 28,
	L2Bytes: 2 << 20, KernelBytes: 64 << 10, KernelStream: 16 << 20, StreamPixels: 128,
	Cores: 16, PageBytes: 16 << 10, InstrAlign: 256, SurfaceAlign: 64,
	DispatchFloorUS: 190, PeakFLOPs: 3.25e12, Bandwidth: 9e9,
	StreamForms: []string{"palette4", "palette8", "sparse"},
}

var tables = map[string]*Table{"h13": H13, "h13g": H13}

// Lookup returns the table of a target, or an error that lists the targets.
func Lookup(name string) (*Table, error) {
	if t := tables[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("unknown target %q: zinc compiles for %s", name, strings.Join(Names(), ", "))
}

// Names returns the targets, sorted.
func Names() []string {
	ns := make([]string, 0, len(tables))
	for n := range tables {
		ns = append(ns, n)
	}
	sort.Strings(ns)
	return ns
}
