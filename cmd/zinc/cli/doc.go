// Package cli is the command line of zinc: one file a command.
//
// In: arguments and the three standard streams. Out: files, text on the
// streams, and an exit status:
//
//	0  done
//	1  the input is wrong, or verification failed
//	2  the command line is wrong
//	3  zinc is wrong: a fault of its own
//
// What always holds: results go to standard output, everything else to standard
// error; an error is printed once; a file is written whole or not at all, and
// files that belong together are written together; an interrupt leaves old
// files as they were.
package cli
