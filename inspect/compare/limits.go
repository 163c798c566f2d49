package compare

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/zinc-compiler/zinc/target"
)

// limits compares the targets of the two sides: every column of their tables.
func (p *pairing) limits() ([]*Change, error) {
	if p.a.target == p.b.target {
		return nil, nil
	}
	d := attributes(columns(p.a.target), columns(p.b.target))
	for i, x := range d {
		name, _, _ := strings.Cut(x, ":")
		if m := meanings[name]; m != "" {
			d[i] = x + " (" + m + ")"
		}
	}
	if len(d) > 0 {
		return []*Change{{Level: Limits, Kind: Changed, Subject: "limits of " + p.b.target.Name +
			" compared with those of " +
			p.a.target.Name, Details: d, names: []string{setting("target")}}}, nil
	}
	return nil, nil
}

// columns lists a target's table by the names of its columns.
func columns(t *target.Table) (out []attribute) {
	v := reflect.ValueOf(*t)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "Name" {
			out = append(out, attribute{name, fmt.Sprint(v.Field(i).Interface())})
		}
	}
	return out
}

// meanings describes the columns of a target's table.
var meanings = map[string]string{
	"Family":          "hardware family",
	"Subtype":         "CPU subtype of its containers",
	"TD":              "version of the task descriptors that zinc writes, 0 for none",
	"Base":            "target whose limits are used where none were published",
	"MaxKernelW":      "taps of an fp16 kernel along the width",
	"MaxKernelH":      "taps of an fp16 kernel along the height",
	"MaxKernelW8":     "taps of an 8-bit kernel along the width",
	"SmallKernelW":    "taps of an fp16 kernel along the width in small mode",
	"SmallKernelH":    "taps of an fp16 kernel along the height in small mode",
	"SmallKernelW8":   "taps of an 8-bit kernel along the width in small mode",
	"MaxWidth":        "width of a tensor",
	"MaxHeight":       "height of a tensor",
	"MaxChannels":     "channels of a tensor",
	"MaxBatch":        "batch of a tensor",
	"MaxRank":         "rank of a tensor",
	"MaxPool":         "taps of a pooling window along one axis",
	"MaxStride":       "stride that the register holds",
	"StrideFactors":   "factors that a longer stride splits into",
	"MaxPad":          "leading padding that the register holds",
	"MaxGroups":       "groups of a convolution",
	"SpatialBits":     "width of a spatial register field",
	"ChannelBits":     "width of a channel register field",
	"GroupBits":       "width of a group register field",
	"ReduceTranspose": "extent from which a reduction transposes first",
	"GroupDecompose":  "Cin*Kw*Kh up to which a group convolution is decomposed",
	"MaxSurfaces":     "inputs and outputs of a procedure",
	"L2Bytes":         "bytes of the operand working set",
	"L2Banks":         "banks of the working set",
	"L2Granule":       "bytes of a bank's stripe",
	"KernelBytes":     "bytes of resident kernel memory of one core",
	"KernelStream":    "bytes of the streamed kernel of one task",
	"StreamPixels":    "output pixels up to which a kernel streams",
	"Cores":           "cores that kernels are spread over",
	"CostCores":       "cores that the vendor's cost model counts",
	"PageBytes":       "alignment of a device window in bytes",
	"InstrAlign":      "alignment of a task in bytes",
	"SurfaceAlign":    "row alignment of a surface in bytes",
	"TableBytes":      "bytes of an activation table",
	"Texture":         "has a texture engine",
	"DispatchFloorUS": "microseconds that a dispatch takes at least",
	"PeakFLOPs":       "operations per second",
	"Bandwidth":       "bytes per second of a single stream",
	"CostOf":          "target on which the costs were measured",
	"StreamForms":     "compressed forms that reach the engine as stored",
	"MaxTasks":        "tasks of a procedure",
	"StateMultiple":   "what the last dimension of a state must be a multiple of",
	"NoCode":          "operations that validate and have no code",
}
