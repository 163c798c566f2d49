//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestLimitEndsAProgramThatLoops starts this test again as a program that sets a limit of a second and loops.
func TestLimitEndsAProgramThatLoops(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a second of processor time")
	}
	const marker = "ZINC_TEST_LOOP"
	if os.Getenv(marker) != "" {
		if err := limit(1); err != nil {
			os.Exit(1)
		}
		for i := 0; ; i++ {
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), marker+"=1")
	err := cmd.Run()
	if exit, ok := err.(*exec.ExitError); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the program ended with %v, want the signal of the hard limit", err)
	}
}
