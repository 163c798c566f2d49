package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/emit/anec"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/regularfile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// runRecord is a run on hardware, as examples/hardware writes it. Arrays are files beside the record, fp16 and of shape
// n, c, h, w, in the order in which the driver numbers inputs and outputs.
type runRecord struct {
	Version int       `json:"zinc_run_record"` // of the format
	Program string    `json:"program_sha256"`  // of the file that zinc MODEL --emit=anec writes
	Device  string    `json:"device"`          // machine and system
	Driver  string    `json:"driver"`          // name and version
	Inputs  []string  `json:"inputs"`
	Outputs []string  `json:"outputs"`
	Seconds []float64 `json:"seconds"` // of each call
}

// recordVersion is the version of the format of records that is read.
const recordVersion = 1

// maxRecord bounds a record, in bytes.
const maxRecord = 16 << 20

// measuredJSON is what a record adds to the result of zinc verify.
type measuredJSON struct {
	Device  string           `json:"device"`         // machine and system, as recorded
	Driver  string           `json:"driver"`         // name and version, as recorded
	Calls   int              `json:"calls"`          // that were timed
	Least   float64          `json:"least_us"`       // shortest call
	Median  float64          `json:"median_us"`      // half of the calls were not longer
	Most    float64          `json:"most_us"`        // longest call
	Engine  []measuredOutput `json:"engine"`         // outputs beside the simulated engine's
	Program string           `json:"program_sha256"` // of the program that ran
}

// measuredOutput compares an output with the simulated engine's.
type measuredOutput struct {
	Name      string  `json:"name"`      // name of the output
	Elements  int     `json:"elements"`  // number of elements
	Different int     `json:"different"` // elements that are not equal
	MaxAbs    float64 `json:"max_abs"`   // largest difference
}

// record is a run on hardware that is verified.
type record struct {
	runRecord
	path    string
	order   [2][]string // names of inputs and outputs, in the driver's order
	outputs map[string]interp.Tensor
	shown   measuredJSON
}

// openRecord reads a record and checks its numbers.
func openRecord(path string, stdin *regularfile.Input) (*record, error) {
	b, err := stdin.Read(path)
	if err != nil {
		return nil, err
	}
	r := &record{path: path}
	if len(b) > maxRecord {
		return nil, fmt.Errorf("%s: the record has %d bytes, the limit is %d", path, len(b), maxRecord)
	}
	if err := json.Unmarshal(b, &r.runRecord); err != nil {
		return nil, fmt.Errorf("%s: not a run record: %w", path, err)
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("%s: zinc_run_record is %d, want %d", path, r.Version, recordVersion)
	}
	for _, s := range r.Seconds {
		if !(s >= 0) || math.IsInf(s, 0) {
			return nil, fmt.Errorf("%s: a call of %g seconds", path, s)
		}
	}
	r.shown = measuredJSON{Device: r.Device, Driver: r.Driver, Calls: len(r.Seconds), Program: r.Program}
	if n := len(r.Seconds); n > 0 {
		s := slices.Sorted(slices.Values(r.Seconds))
		r.shown.Least, r.shown.Median, r.shown.Most = s[0]*1e6, s[(n-1)/2]*1e6, s[n-1]*1e6
	}
	return r, nil
}

// match checks that the record is of the program that the model compiles to, and reads its arrays. It returns the
// inputs.
func (r *record) match(c *compileFlags, ctx context.Context, e *env, m *frontend.Model, o compile.Options) (
	map[string]interp.Tensor, error) {
	var res compile.Result
	if err := compile.Compile(ctx, ir.CloneProgram(m.Program), o, res.Files()); err != nil {
		return nil, err
	}
	data, err := hwx.Encode(res.HWX)
	if err != nil {
		return nil, err
	}
	f, err := anec.FromContainer(data)
	if err != nil {
		return nil, err
	}
	var own []string
	for _, size := range anecHeaders {
		sum := sha256.New()
		if _, err := f.WithHeader(size).WriteTo(sum); err != nil {
			return nil, err
		}
		own = append(own, hex.EncodeToString(sum.Sum(nil)))
	}
	if slices.Sort(own); !slices.Contains(own, strings.ToLower(r.Program)) {
		return nil, fmt.Errorf("%s: the record is of program %s, but the model compiles to %s; use the version of "+
			"zinc, the model and the flags that wrote the program", r.path, r.Program, strings.Join(own, " or "))
	}
	r.ports(res.HWX)
	fn, err := m.Program.Entry(c.function)
	if err != nil {
		return nil, err
	}
	inputs, err := r.read("input", r.order[0], r.Inputs, fn.Body.Params)
	if err != nil {
		return nil, err
	}
	r.outputs, err = r.read("output", r.order[1], r.Outputs, fn.Body.Outputs)
	return inputs, err
}

// outputMark ends the names of outputs in containers.
const outputMark = "@output"

// ports finds the names of inputs and outputs in the order of the registers.
func (r *record) ports(f *hwx.File) {
	names := map[uint64]string{}
	for _, p := range f.Ports() {
		names[uint64(p.Addr)] = p.Name
	}
	bars := f.Procedures()[0].Bars
	for reg := anec.RegFirst; reg < anec.Tiles; reg++ {
		name, ok := names[bars[reg]]
		if name, output := strings.CutSuffix(name, outputMark); output {
			r.order[1] = append(r.order[1], name)
		} else if ok {
			r.order[0] = append(r.order[0], name)
		}
	}
}

// read reads arrays of fp16 as values of the model.
func (r *record) read(what string, order, files []string, vs []*ir.Value) (map[string]interp.Tensor, error) {
	if len(files) != len(order) {
		return nil, fmt.Errorf("%s: %d %ss, the program has %d", r.path, len(files), what, len(order))
	}
	out := map[string]interp.Tensor{}
	for i, file := range files {
		k := slices.IndexFunc(vs, func(v *ir.Value) bool { return v.Name == order[i] })
		if k < 0 {
			return nil, fmt.Errorf("%s: the program's %s %q is not one of the model", r.path, what, order[i])
		}
		if !filepath.IsLocal(filepath.FromSlash(file)) {
			return nil, fmt.Errorf("%s: %s %q is not a file beside the record", r.path, what, file)
		}
		b, err := os.ReadFile(filepath.Join(filepath.Dir(r.path), filepath.FromSlash(file)))
		if err != nil {
			return nil, fmt.Errorf("%s: %s %s: %w", r.path, what, order[i], err)
		}
		a, err := npy.Decode(b)
		t := vs[k].Type
		if err == nil && (a.Type != "f2" || int64(a.Elems()) != t.Elems()) {
			err = fmt.Errorf("%s of shape %s, want f2 with the elements of %s", a.Type, ir.ShapeString(a.Shape), t)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s %s: %s: %w", r.path, what, order[i], file, err)
		}
		x := interp.Tensor{Type: ir.TensorOf(ir.FP16, t.Shape...), Data: a.Data}
		if out[order[i]], err = interp.FromFloats(t.DType, x.Floats32(), t.Shape...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// measuredRunner returns what was measured, instead of running, and compares it with the engine.
type measuredRunner struct {
	*record
	m    *sim.Machine
	mode numerics.Mode
}

func (r measuredRunner) Close() error { return nil }

func (r measuredRunner) Run(ctx context.Context, in map[string]interp.Tensor) (map[string]interp.Tensor, error) {
	simulated, err := r.m.Run(ctx, in, sim.Options{Numerics: r.mode})
	if err != nil {
		return nil, err
	}
	r.shown.Engine = nil
	for _, name := range r.order[1] {
		a, b := simulated[name].Floats32(), r.outputs[name].Floats32()
		x := measuredOutput{Name: name, Elements: len(a)}
		for i := range a {
			if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
				x.Different++
				x.MaxAbs = max(x.MaxAbs, math.Abs(float64(a[i])-float64(b[i])))
			}
		}
		r.shown.Engine = append(r.shown.Engine, x)
	}
	return r.outputs, nil
}

// through is the runner of a record, for verify.
func (r *record) through(mode numerics.Mode) func(ctx context.Context, m *sim.Machine) (verify.Runner, error) {
	return func(_ context.Context, m *sim.Machine) (verify.Runner, error) { return measuredRunner{r, m, mode}, nil }
}

// writeText prints what the record adds.
func (x *measuredJSON) writeText(w io.Writer, rep *compile.Report) {
	fmt.Fprintf(w, "measured on %s with %s; the outputs above are the device's\n", unknownIf(x.Device),
		unknownIf(x.Driver))
	for _, o := range x.Engine {
		fmt.Fprintf(w, "%s: %d of %d elements differ from the simulated engine's", o.Name, o.Different, o.Elements)
		if o.Different > 0 {
			fmt.Fprintf(w, ", by at most %.6g", o.MaxAbs)
		}
		fmt.Fprintln(w)
	}
	if x.Calls > 0 {
		us := func(v float64) string { return cost.Micros(v).Short() }
		fmt.Fprintf(w, "%d calls took %s (%s to %s)", x.Calls, us(x.Median), us(x.Least), us(x.Most))
		if rep.Estimate != nil {
			fmt.Fprintf(w, "; the estimate of a call is %s", rep.Call.Short())
		}
		fmt.Fprintln(w)
	}
}

func unknownIf(s string) string {
	if s == "" {
		return "an unnamed system"
	}
	return s
}
