package cli

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"

	"github.com/zinc-compiler/zinc/internal/atomicfile"
)

// profile is the requested profiles of zinc itself.
type profile struct {
	cpu, mem string
	started  *atomicfile.Staged // the CPU profile, once started
}

func (p *profile) start() error {
	if p.cpu == "" {
		return nil
	}
	s, err := atomicfile.Stage(p.cpu)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(s); err != nil {
		return errors.Join(err, s.Close())
	}
	p.started = s
	return nil
}

func (p *profile) stop() error {
	var files []atomicfile.File
	if p.started != nil {
		pprof.StopCPUProfile()
		files = append(files, atomicfile.File{Path: p.cpu, Staged: p.started})
	}
	if p.mem != "" {
		runtime.GC() // count live objects only
		files = append(files, atomicfile.File{Path: p.mem, Write: pprof.WriteHeapProfile})
	}
	return atomicfile.Write(context.Background(), files...)
}
