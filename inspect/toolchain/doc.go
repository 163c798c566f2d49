// Package toolchain runs other zinc executables: a version of the compiler is a
// program that was built from it.
//
// Open takes the path of an executable and returns its version. Executable.Compile compiles a model for a target with
// flags and returns the paths of the container, the descriptor and the debug database that it wrote, its report as
// JSON, and the text of the program after each pass.
//
// Invariants: an executable runs with its own standard streams closed or
// captured, without the ZINC_ variables of the environment, and writes into a new
// folder that only this user may read and that Result.Close removes. Its time, its
// messages, its program texts and the files it leaves are bounded (Limits); past a
// bound it is killed with the processes it started, and the error names the bound. On
// Linux it ends with this process, even where that is killed; its folder then stays.
// What it prints is material to show, never trusted: lines are cut, files that are not
// regular are errors. An executable that knows a flag less, as its --help tells, is run
// without it, and Result.Missing says what it did not give.
//
// It reads neither models nor pairs: its callers do.
package toolchain
