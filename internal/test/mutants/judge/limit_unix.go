//go:build unix

package main

import "syscall"

// limit ends the process after so many seconds of processor time: a mutant can loop for ever. Other work on the machine
// does not count. The hard limit is the one that ends it: a Go program survives the signal of the soft one.
func limit(cpu uint64) error {
	l := syscall.Rlimit{}
	if err := syscall.Getrlimit(syscall.RLIMIT_CPU, &l); err != nil {
		return err
	}
	l.Max = min(l.Max, cpu)
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &l)
}
