package lint

import (
	"context"
	"os"
	"runtime/pprof"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
)

func TestProf(t *testing.T) {
	m, err := frontend.Open(os.Getenv("LM"), frontend.Options{})
	if err != nil {
		t.Skip(err)
	}
	o := options
	o.Workers = 0
	f, _ := os.Create("/tmp/lintbin/cpu.prof")
	pprof.StartCPUProfile(f)
	_, err = Run(context.Background(), m.Program, Options{Compile: o, Source: m.Source})
	pprof.StopCPUProfile()
	t.Log(err)
}
