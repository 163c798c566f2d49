package coreml

import (
	"math"
	"slices"
)

// Document is a forecast for JSON. Its operations have the keys of both dumps of MLComputePlan and the
// framework's analytics, so that readers of such dumps read it.
type Document struct {
	Model      string          `json:"model,omitempty"` // path of the model's text
	Rules      string          `json:"rules"`           // name of the rules
	Chip       string          `json:"chip"`            // whose rules they are
	System     string          `json:"system"`          // version of the system that they were read from
	Units      Units           `json:"units"`           // compute units that are allowed
	Functions  []FunctionJSON  `json:"functions"`       // the forecasts, in the order of the program
	Operations []OperationJSON `json:"operations"`      // of all functions, in program order
}

// FunctionJSON is the forecast for one function, without its operations.
type FunctionJSON struct {
	Function  string  `json:"function"`      // name of the function
	EngineOps int     `json:"engine_ops"`    // operations on the engine
	CPUOps    int     `json:"cpu_ops"`       // operations on the CPU
	GPUOps    int     `json:"gpu_ops"`       // operations on the GPU
	AddedOps  int     `json:"added_ops"`     // operations that the framework adds, not counted above
	Engine    float64 `json:"engine_weight"` // share of the estimated time on the engine, 0 to 1
	Best      float64 `json:"best_us"`       // the chosen way, with the changes of device
	CPUAlone  float64 `json:"cpu_alone_us"`  // the cheapest way without the engine
	// Margin is what the best use of the engine saves after the cost of reaching it, negative if it costs more; null if
	// no operation can run there.
	Margin   *float64      `json:"margin_us"`
	Visit    float64       `json:"visit_us"`         // cost of reaching the engine and coming back
	Segments []SegmentJSON `json:"segments"`         // runs of operations on one device, in order
	Leaves   []Leave       `json:"leaves,omitempty"` // why operations are not on the engine
	Near     []Near        `json:"near,omitempty"`   // answers that change within an interval that is not known
	Moves    []Move        `json:"moves,omitempty"`  // what would change the answer
	Notes    []string      `json:"notes,omitempty"`  // what is not known about the program
}

// SegmentJSON is a run of operations on one device.
type SegmentJSON struct {
	Device     Device  `json:"device"`              // class of the device
	Operations int     `json:"operations"`          // of the program
	First      string  `json:"first"`               // first output of the first operation
	Last       string  `json:"last"`                // first output of the last operation
	Saved      float64 `json:"saved_us,omitempty"`  // what the operations save against the CPU, without the changes
	Change     float64 `json:"change_us,omitempty"` // the changes of device around it
}

// OperationJSON is one operation.
type OperationJSON struct {
	Operator   string             `json:"operator_name"`               // kind with its opset
	Outputs    []string           `json:"outputs"`                     // names of the outputs
	Function   string             `json:"function"`                    // name of the function
	Line       int32              `json:"line,omitempty"`              // in the model's text
	Preferred  Device             `json:"preferred_compute_device"`    // class of the device that is chosen
	Supported  []Device           `json:"supported_compute_devices"`   // classes of the devices that can run it
	Weight     float64            `json:"weight"`                      // share of the estimated time, 0 to 1
	Ties       []Device           `json:"ties,omitempty"`              // devices on other ways of the same cost
	Added      string             `json:"added,omitempty"`             // why the framework adds it, if it does
	Backends   []string           `json:"BackendSupport"`              // backends that can run it
	Selected   string             `json:"SelectedBackend"`             // backend that is chosen
	Estimates  map[string]float64 `json:"EstimatedRuntime"`            // milliseconds by backend
	Validation map[string]string  `json:"ValidationMessage,omitempty"` // why a backend cannot run it
}

// NewDocument returns forecasts of one model, by the same rules, for JSON.
func NewDocument(model string, plans []*Plan) *Document {
	d := &Document{Model: model, Functions: []FunctionJSON{}, Operations: []OperationJSON{}}
	for _, p := range plans {
		d.Rules, d.Chip, d.System, d.Units = p.Rules.Name, p.Rules.Chip, p.Rules.System, p.Units
		d.Functions = append(d.Functions, p.JSON())
		for i := range p.Rows {
			d.Operations = append(d.Operations, p.Rows[i].json(p.Function))
		}
	}
	return d
}

// JSON returns the plan without its operations, for JSON.
func (p *Plan) JSON() FunctionJSON {
	us := func(ms float64) float64 { return math.Round(ms*1e6) / 1e3 }
	f := FunctionJSON{
		Function:  p.Function,
		EngineOps: p.count(NeuralEngine),
		CPUOps:    p.count(CPU),
		GPUOps:    p.count(GPUDevice),
		Engine:    p.EngineTime(),
		Best:      us(p.Gain.Best),
		CPUAlone:  us(p.Gain.CPU),
		Visit:     us(p.Gain.Visit),
		Segments:  []SegmentJSON{},
		Leaves:    p.Leaves(),
		Near:      p.Near,
		Moves:     p.Moves,
		Notes:     p.Notes,
	}
	f.AddedOps = len(p.Rows) - f.EngineOps - f.CPUOps - f.GPUOps
	if p.Gain.Possible() {
		m := us(p.Gain.Margin())
		f.Margin = &m
	}
	for _, s := range p.Segments {
		f.Segments = append(f.Segments, SegmentJSON{
			Device:     s.Device,
			Operations: s.Own,
			First:      p.Rows[s.First].Name,
			Last:       p.Rows[s.Last].Name,
			Saved:      us(s.Saved),
			Change:     us(s.Change),
		})
	}
	return f
}

// json returns an operation for JSON.
func (r *Row) json(function string) OperationJSON {
	o := OperationJSON{
		Operator:  r.Kind,
		Outputs:   r.Outputs,
		Function:  function,
		Line:      r.Pos.Line,
		Preferred: r.Chosen.Device(),
		Supported: r.Devices(),
		Weight:    r.Weight,
		Ties:      r.Ties,
		Added:     r.Inserted,
		Backends:  []string{},
		Selected:  r.Chosen.String(),
		Estimates: map[string]float64{},
	}
	for b := range NumBackends {
		if r.Supported.Has(b) {
			o.Backends = append(o.Backends, b.String())
			if ms := r.Estimates[b]; !math.IsNaN(ms) {
				o.Estimates[b.String()] = ms
			}
		}
		if r.Reasons[b] != "" {
			if o.Validation == nil {
				o.Validation = map[string]string{}
			}
			o.Validation[b.String()] = r.Reasons[b]
		}
	}
	return o
}

// Devices returns the devices that can run the operation, the CPU first.
func (r *Row) Devices() (out []Device) {
	for _, d := range []Device{CPU, GPUDevice, NeuralEngine} {
		if slices.ContainsFunc(r.Supported.List(), func(b Backend) bool { return b.Device() == d }) {
			out = append(out, d)
		}
	}
	return out
}
