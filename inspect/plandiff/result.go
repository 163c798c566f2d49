package plandiff

import (
	"github.com/zinc-compiler/zinc/frontend/computeplan"
)

// Result is a comparison.
type Result struct {
	Model    string `json:"model"`            // path of the model's text
	Function string `json:"function"`         // that was compared
	Rules    string `json:"rules"`            // of the forecast
	Units    string `json:"units"`            // compute units of the forecast
	Plan     string `json:"plan"`             // path of the dump
	Form     string `json:"form"`             // what the dump is
	Chip     string `json:"chip,omitempty"`   // of the dump, if it says so
	System   string `json:"system,omitempty"` // of the dump, if it says so
	// compute units of the dump, if it says so
	PlanUnits string `json:"plan_units,omitempty"`

	Operations  int `json:"operations"`      // of the dump
	Joined      int `json:"joined"`          // operations in the dump and in the model
	Inserted    int `json:"inserted"`        // operations of the dump that Core ML put in
	OnlyInPlan  int `json:"only_in_plan"`    // other operations of the dump that are not in the model
	OnlyInModel int `json:"only_in_model"`   // operations of the model that are not in the dump
	Elsewhere   int `json:"other_functions"` // operations of the dump in other functions
	GPU         int `json:"gpu"`             // joined operations that the dump has on the GPU
	NoDevice    int `json:"no_device"`       // joined operations without a device

	Compared int `json:"compared"` // joined operations on the CPU or the engine
	Agree    int `json:"agree"`    // compared operations with the same device, or a device of equal cost
	Ties     int `json:"ties"`     // agreeing operations with another device of equal cost
	// share of the dump's weights that operations which agree have, 0 to 1; absent without weights
	AgreeWeight *float64    `json:"agree_weight,omitempty"`
	Engine      EngineShare `json:"engine"` // compared operations on the engine

	Differences []Difference    `json:"differences"`                 // operations on another device, the heaviest first
	Estimates   []EstimateGroup `json:"estimates,omitempty"`         // how the estimates differ, by kind and backend
	Weights     *WeightRatios   `json:"weights,omitempty"`           // how the weights differ
	Rows        []Row           `json:"joined_operations,omitempty"` // in program order
	Summary     *SummaryResult  `json:"summary,omitempty"`           // counts, of a dump without operations
	Notes       []string        `json:"notes,omitempty"`             // what limits the comparison

	plan *computeplan.Plan
}

// EngineShare is how many of the compared operations are on the engine.
type EngineShare struct {
	Plan     int `json:"plan"`     // in the dump
	Forecast int `json:"forecast"` // in the forecast
}

// Classes of differences.
const (
	// ForecastCannot: Core ML lists the engine as supported, and the forecast says that it cannot run the operation.
	ForecastCannot = "forecast-cannot"
	// PlanCannot: the forecast says that the engine can run the operation, and Core ML does not list it.
	PlanCannot = "plan-cannot"
	// Choice: both can, or the dump does not say, and the choice differs.
	Choice = "choice"
)

// Difference is an operation on another device.
type Difference struct {
	Row
	Class          string `json:"class"`                     // forecast-cannot, plan-cannot or choice
	PlanReason     string `json:"plan_reason,omitempty"`     // why the engine refused it, by the dump
	ForecastReason string `json:"forecast_reason,omitempty"` // why the engine refuses it, by the forecast
}

// Row is a joined operation.
type Row struct {
	Name      string            `json:"name"`                  // first output
	Kind      string            `json:"kind"`                  // without its opset
	Line      int32             `json:"line,omitempty"`        // of the model's text
	PlanLine  int               `json:"plan_line,omitempty"`   // of the dump
	PlanKind  string            `json:"plan_kind,omitempty"`   // kind in the dump, if it is another
	Plan      string            `json:"plan"`                  // device in the dump
	Forecast  string            `json:"forecast"`              // device in the forecast
	Tie       bool              `json:"tie,omitempty"`         // the dump's device has equal cost in the forecast
	Weight    *float64          `json:"plan_weight,omitempty"` // share of the time in the dump
	Share     float64           `json:"forecast_weight"`       // share of the time in the forecast
	Estimates []BackendEstimate `json:"estimates,omitempty"`   // of backends for which both have one
}

// BackendEstimate is an estimate of both, in ms.
type BackendEstimate struct {
	Backend  string  `json:"backend"`     // name in Core ML's analytics
	Plan     float64 `json:"plan_ms"`     // in the dump
	Forecast float64 `json:"forecast_ms"` // by the rates
	Ratio    float64 `json:"ratio"`       // the dump's over the forecast's
}

// EstimateGroup is how the estimates of a kind on a backend differ.
type EstimateGroup struct {
	Kind      string  `json:"kind"`              // without its opset
	Backend   string  `json:"backend"`           // name in Core ML's analytics
	Count     int     `json:"count"`             // estimates
	Within1   int     `json:"within_1_percent"`  // estimates
	Within10  int     `json:"within_10_percent"` // estimates
	Median    float64 `json:"median_ratio"`      // the dump's over the forecast's
	Worst     float64 `json:"worst_ratio"`       // furthest from 1
	WorstName string  `json:"worst_operation"`   // first output of the operation with it
}

// WeightRatios is how the weights of operations on the same device differ, as ratios of the dump's over the forecast's,
// divided by their median.
type WeightRatios struct {
	Count    int     `json:"count"`             // operations with both
	Within1  int     `json:"within_1_percent"`  // operations
	Within10 int     `json:"within_10_percent"` // operations
	Worst    float64 `json:"worst_ratio"`       // furthest from 1
	Name     string  `json:"worst_operation"`   // first output of the operation with it
}

// SummaryResult compares counts.
type SummaryResult struct {
	Plan       EngineCount `json:"plan"`                 // in the dump
	Forecast   EngineCount `json:"forecast"`             // in the forecast
	Kinds      []KindCount `json:"kinds,omitempty"`      // that differ
	Unreliable string      `json:"unreliable,omitempty"` // why the dump's counts are not compared, if they are not
}

// EngineCount is how many operations are on the engine.
type EngineCount struct {
	Engine int `json:"engine"` // operations on the engine
	Total  int `json:"total"`  // operations with a device
}

// KindCount is how many operations of a kind are off the engine.
type KindCount struct {
	Kind     string `json:"kind"`                // without its opset
	Plan     int    `json:"plan_off_engine"`     // in the dump
	Forecast int    `json:"forecast_off_engine"` // in the forecast
}
