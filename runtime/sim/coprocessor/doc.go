// Package coprocessor is the engine controller with its firmware and the engine
// behind registers, rings and memory.
package coprocessor
