package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand"
	"os"
	"sort"
	"time"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

func main() {
	for _, p := range os.Args[1:] {
		if err := one(p); err != nil {
			fmt.Println(p, "ERROR", err)
		}
	}
}

func one(p string) error {
	m, err := frontend.Open(p, frontend.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	t0 := time.Now()
	r, err := compile.Compile(context.Background(), m.Program, compile.Options{SplitKernel: os.Getenv("SPLIT") == "", InputName: "model.mil", VerifyEach: true, Precision: os.Getenv("PREC")})
	if err != nil {
		return err
	}
	t1 := time.Now()
	var hb bytes.Buffer
	if _, err := r.HWX.WriteTo(&hb); err != nil {
		return err
	}
	eb, err := e5.Bytes(r.E5)
	if err != nil {
		return err
	}
	if d := os.Getenv("OUT"); d != "" {
		os.WriteFile(d+".hwx", hb.Bytes(), 0o644)
		os.WriteFile(d+".e5", eb, 0o644)
	}
	fmt.Println(p, r.Report.Line(), len(hb.Bytes()), len(eb), t1.Sub(t0))
	if os.Getenv("REPORT") != "" {
		r.Report.Text(os.Stdout)
	}
	mc, err := sim.Load(hb.Bytes(), eb)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewSource(1))
	in := map[string]interp.Tensor{}
	for _, prt := range mc.Inputs() {
		n := prt.Type.Elems()
		if prt.Type.DType.IsFloat() {
			vs := make([]float32, n)
			for i := range vs {
				vs[i] = float32(rng.NormFloat64())
			}
			in[prt.Name], err = interp.FromFloats(prt.Type.DType, vs, prt.Type.Shape...)
		} else {
			vs := make([]int64, n)
			in[prt.Name], err = interp.FromInts(prt.Type.DType, vs, prt.Type.Shape...)
		}
		if err != nil {
			return err
		}
	}
	t2 := time.Now()
	got, err := mc.Run(context.Background(), in, sim.Options{Numerics: numerics.ANE})
	if err != nil {
		return err
	}
	t3 := time.Now()
	want, err := interp.Run(context.Background(), r.Reference, in, interp.Options{})
	if err != nil {
		return err
	}
	t4 := time.Now()
	var names []string
	for n := range want {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		g, w := got[n], want[n]
		worst, at, mx := 0.0, -1, 0.0
		gv, wv := vals(g), vals(w)
		for i := range wv {
			d := math.Abs(gv[i] - wv[i])
			mx = max(mx, math.Abs(wv[i]))
			if d > worst || d != d {
				worst, at = d, i
			}
		}
		fmt.Printf("   %s %s max_abs %g at %d (max |want| %g) sim %v interp %v\n", n, w.Type, worst, at, mx, t3.Sub(t2).Round(time.Millisecond), t4.Sub(t3).Round(time.Millisecond))
	}
	return nil
}

func vals(t interp.Tensor) []float64 { return (&ir.Const{Type: t.Type, Data: t.Data}).Floats() }
