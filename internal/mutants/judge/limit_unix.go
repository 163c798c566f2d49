//go:build unix

package main

import "syscall"

// limit ends the process after so many seconds of processor time: a mutant can loop for ever. Other work on the machine
// does not count.
func limit(cpu uint64) error {
	l := syscall.Rlimit{}
	if err := syscall.Getrlimit(syscall.RLIMIT_CPU, &l); err != nil {
		return err
	}
	l.Cur = min(l.Max, cpu)
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &l)
}
