package cli

import (
	"os"
	"runtime"
	"runtime/pprof"
)

// profile is the requested profiles of zinc itself.
type profile struct {
	cpu, mem string
	file     *os.File // of the CPU profile, once started
}

func (p *profile) start() error {
	if p.cpu == "" {
		return nil
	}
	f, err := os.Create(p.cpu)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return err
	}
	p.file = f
	return nil
}

func (p *profile) stop() error {
	var err error
	if p.file != nil {
		pprof.StopCPUProfile()
		err = p.file.Close()
	}
	if p.mem == "" {
		return err
	}
	f, e := os.Create(p.mem)
	if e != nil {
		return e
	}
	runtime.GC() // count live objects only
	if e := pprof.WriteHeapProfile(f); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
