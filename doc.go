// Package zinc compiles Core ML models for the Apple Neural Engine and runs the compiled programs
// on a simulator.
//
// [Compile] compiles a model to a [Pair]: the hardware container and the dispatch descriptor.
// [ReadPair] reads a pair from files. [Pair.Open], or [Open] for files, returns a [Model], which
// lists its functions with their inputs and outputs and runs them on Go values ([Of], [Values]) or
// npy files ([DecodeNPY]).
//
// Results are deterministic: the same files, options and build of zinc give the same bytes, and a
// run gives the same bits whether it goes through the whole stack, the default, or drives the
// engine directly ([RunOptions.Direct]). A model runs from the bytes of its pair alone.
//
// Errors name the place and what to do. They have types and values for errors.As and errors.Is:
// [ModelError], [ValueError], [FunctionError], [ErrClosed], and the context's error if it ended. A
// failed run leaves a Model unchanged.
//
// All functions and methods may be called from several goroutines.
//
// Other programs import this package. The packages below it may change from one version to the
// next.
package zinc
