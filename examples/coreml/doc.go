// Package coreml is two programs for a Mac that print what Core ML decides about a model: plan.swift, without anything
// to install, and plan.py, which needs coremltools. zinc compares the result with its own forecast, on any machine:
//
//	swift examples/coreml/plan.swift model.mlpackage cpu-ane >plan.json
//	zinc check model.mlpackage --compare-plan plan.json
//
// The package holds no code but its test, which runs plan.py with a stand-in for coremltools and reads what it prints.
package coreml
