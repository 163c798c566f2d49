// Package procgroup ends a command together with the processes that it started, and
// when the process that runs it ends, as far as the system supports it: on Unix its
// process group is killed, on Linux the kernel also kills it when its parent ends, and
// elsewhere only the command itself is killed.
package procgroup
