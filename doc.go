// Package zinc compiles Core ML models for the Apple Neural Engine and runs what it
// compiled on a simulator.
//
// [Compile] makes a [Pair] of a model: the hardware container and the dispatch
// descriptor. [ReadPair] reads one from files. [Pair.Open], or [Open] for files,
// makes a [Model] ready, which says what its functions take and give, and runs them
// on values of Go ([Of], [Values]) or npy files ([DecodeNPY]).
//
// What always holds: the same files, options and build of zinc give the same bytes;
// a model runs from the bytes of its pair alone; a run gives the same bits whether
// it goes through the whole stack, which is the default, or drives the engine
// directly ([RunOptions.Direct]); errors name the place and what to do, have types and
// values for errors.As and errors.Is ([ModelError], [ValueError], [FunctionError],
// [ErrClosed], the context's error where it ended), and a Model is as it was before a
// run that failed; everything may be called from several goroutines.
//
// The package is what programs outside of this repository import. The packages
// below it may change from one version to the next.
package zinc
