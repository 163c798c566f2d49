// Package plandiff compares what Core ML decided about a model with the forecast: it says which operations run
// elsewhere, and how far the estimates and the shares of the time differ.
//
// Input: a plan that package computeplan read, and the forecast of package coreml for the same function. Output: a
// Result, as text (WriteText) or, through its fields, as JSON.
//
// Invariants: only operations that were joined are compared. An operation on the GPU is counted apart, because the
// choice between it and the others says nothing about the engine. Weights are compared as ratios, since each is a share
// of another sum.
package plandiff
