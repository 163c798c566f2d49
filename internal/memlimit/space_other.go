//go:build !linux

package memlimit

import "github.com/KimMachineGun/automemlimit/memlimit"

func addressSpace() (uint64, error) { return 0, memlimit.ErrNoLimit }
