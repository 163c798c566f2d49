// Package procgroup has a command end with all that it started, and with the process
// that runs it, as far as the system can see to that: on unix its process group is
// killed, on Linux the kernel kills it when its parent ends, elsewhere the command alone
// is ended.
package procgroup
