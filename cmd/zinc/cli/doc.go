// Package cli is the command line of zinc, with one file for each command.
//
// In: arguments and the three standard streams. Out: files, text on the
// streams, and one of the exit statuses of Statuses.
//
// Results go to standard output, everything else to standard error. An error is printed once. A
// file is written completely or not at all, files that belong together are written together, and an
// interrupt leaves old files unchanged.
package cli
