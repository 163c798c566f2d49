package interp

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

// naiveConv is the direct sum, in fp64, over images of one to three dimensions.
func naiveConv(x, w []float32, xs, ws []int64, groups int, stride, dil, pad []int64, out []int64) []float32 {
	d3 := func(s []int64, def int64) [3]int64 {
		r := [3]int64{def, def, def}
		copy(r[3-len(s):], s)
		return r
	}
	in, k, o := d3(xs[2:], 1), d3(ws[2:], 1), d3(out[2:], 1)
	st, dl := d3(stride, 1), d3(dil, 1)
	lead := [3]int64{}
	for i := range stride {
		lead[3-len(stride)+i] = pad[2*i]
	}
	cin, cout := ws[1], ws[0]
	var res []float32
	for n := range xs[0] {
		for co := range cout {
			g := co / (cout / int64(groups))
			for a := range o[0] {
				for b := range o[1] {
					for c := range o[2] {
						s := 0.0
						for ci := range cin {
							for ka := range k[0] {
								for kb := range k[1] {
									for kc := range k[2] {
										p := [3]int64{a*st[0] - lead[0] + ka*dl[0], b*st[1] - lead[1] + kb*dl[1],
											c*st[2] - lead[2] + kc*dl[2]}
										if p[0] < 0 || p[1] < 0 || p[2] < 0 || p[0] >= in[0] || p[1] >= in[1] ||
											p[2] >= in[2] {
											continue
										}
										xi := (((n*xs[1]+g*cin+ci)*in[0]+p[0])*in[1]+p[1])*in[2] + p[2]
										wi := (((co*cin+ci)*k[0]+ka)*k[1]+kb)*k[2] + kc
										s += float64(x[xi]) * float64(w[wi])
									}
								}
							}
						}
						res = append(res, float32(s))
					}
				}
			}
		}
	}
	return res
}

func TestConvAgainstDirectSum(t *testing.T) {
	for i, tt := range []struct {
		xs, ws, stride, dil, pad []int64
		groups                   int64
		kind                     string
	}{
		{xs: []int64{2, 3, 9}, ws: []int64{4, 3, 3}, stride: []int64{2}, dil: []int64{1}, pad: []int64{1, 0}, groups: 1,
			kind: "custom"},
		{xs: []int64{1, 4, 6, 7}, ws: []int64{6, 2, 3, 2}, stride: []int64{1, 2}, dil: []int64{2, 1},
			pad: []int64{2, 1, 0, 3}, groups: 2, kind: "custom"},
		{xs: []int64{1, 5, 6, 6}, ws: []int64{5, 1, 3, 3}, stride: []int64{1, 1}, dil: []int64{1, 1},
			pad: []int64{1, 1, 1, 1}, groups: 5, kind: "custom"},
		{xs: []int64{1, 2, 4, 5, 6}, ws: []int64{3, 2, 2, 3, 2}, stride: []int64{1, 1, 2}, dil: []int64{1, 2, 1},
			pad: []int64{0, 0, 0, 0, 0, 0}, groups: 1, kind: "valid"},
		{xs: []int64{2, 8, 5, 5}, ws: []int64{7, 8, 1, 1}, stride: []int64{1, 1}, dil: []int64{1, 1},
			pad: []int64{0, 0, 0, 0}, groups: 1, kind: "valid"},
		{xs: []int64{1, 2, 7, 7}, ws: []int64{2, 2, 3, 3}, stride: []int64{2, 2}, dil: []int64{1, 1},
			pad: []int64{1, 1, 1, 1}, groups: 1, kind: "same"},
		{xs: []int64{1, 2, 8, 8}, ws: []int64{2, 2, 3, 3}, stride: []int64{2, 2}, dil: []int64{1, 1},
			pad: []int64{0, 1, 0, 1}, groups: 1, kind: "same"},
		{xs: []int64{1, 2, 8, 8}, ws: []int64{2, 2, 3, 3}, stride: []int64{2, 2}, dil: []int64{1, 1},
			pad: []int64{1, 0, 1, 0}, groups: 1, kind: "same_lower"},
		// Large enough for several blocks of columns.
		{xs: []int64{1, 64, 70, 70}, ws: []int64{2, 64, 9, 9}, stride: []int64{1, 1}, dil: []int64{1, 1},
			pad: []int64{4, 4, 4, 4}, groups: 1, kind: "custom"},
	} {
		b := newBld(t, "ios15")
		x, w := seq(prodOf(tt.xs), 1), seq(prodOf(tt.ws), 2)
		a := args{"x": b.input("x", floats(t, ir.FP32, tt.xs, x...)),
			"weight":  constant(floats(t, ir.FP32, tt.ws, w...)),
			"strides": vec(tt.stride...), "dilations": vec(tt.dil...), "pad_type": str(tt.kind),
			"groups": num(tt.groups)}
		if tt.kind == "custom" {
			a["pad"] = vec(tt.pad...)
		}
		got := b.run(Options{}, b.op("conv", a))[0]
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			wantFloats(t, got, 1e-5, got.Type.Shape, naiveConv(x, w, tt.xs, tt.ws, int(tt.groups), tt.stride, tt.dil,
				tt.pad, got.Type.Shape)...)
		})
	}
}

func TestConvBias(t *testing.T) {
	b := newBld(t, "ios15")
	r := b.op("conv", args{"x": b.input("x", floats(t, ir.FP32, []int64{1, 1, 3}, 1, 2, 3)),
		"weight": constant(floats(t, ir.FP32, []int64{2, 1, 2}, 1, 1, 1, -1)),
		"bias":   constant(floats(t, ir.FP32, []int64{2}, 10, 20)), "pad_type": str("valid")})
	wantFloats(t, b.run(Options{}, r)[0], 0, []int64{1, 2, 2}, 13, 15, 19, 19)
}

// TestConvTransposeIsTheAdjoint checks that <conv(x), y> = <x, conv_transpose(y)>.
func TestConvTransposeIsTheAdjoint(t *testing.T) {
	xs, ws := []int64{1, 4, 7, 6}, []int64{6, 2, 3, 2}
	pad := []int64{1, 1, 0, 1}
	x, w := seq(prodOf(xs), 3), seq(prodOf(ws), 4)
	b := newBld(t, "ios15")
	cfg := func(x *ir.Value) args {
		return args{
			"x":        x,
			"weight":   constant(floats(t, ir.FP32, ws, w...)),
			"strides":  vec(2, 1),
			"pad_type": str("custom"),
			"pad":      vec(pad...),
			"groups":   num(2),
		}
	}
	fwd := b.run(Options{}, b.op("conv", cfg(b.input("x", floats(t, ir.FP32, xs, x...)))))[0]
	y := seq(fwd.Elems(), 5)
	b = newBld(t, "ios15")
	back := b.run(Options{}, b.op("conv_transpose", cfg(b.input("y", floats(t, ir.FP32, fwd.Type.Shape, y...)))))[0]
	if ir.ShapeString(back.Type.Shape) != ir.ShapeString(xs) {
		t.Fatalf("shape %s, want %s", ir.ShapeString(back.Type.Shape), ir.ShapeString(xs))
	}
	l, r := 0.0, 0.0
	for i, v := range fwd.Floats32() {
		l += float64(v) * float64(y[i])
	}
	for i, v := range back.Floats32() {
		r += float64(v) * float64(x[i])
	}
	if !near(float32(l), float32(r), 1e-5) {
		t.Errorf("<conv x, y> = %v, <x, conv_transpose y> = %v", l, r)
	}
}

func TestMatmulOfEveryLayoutIsTheDirectSum(t *testing.T) {
	for _, tt := range []struct {
		xs, ys []int64
		tx, ty bool
	}{
		{xs: []int64{3, 4}, ys: []int64{4, 5}, tx: false, ty: false}, {xs: []int64{4, 3}, ys: []int64{4, 5}, tx: true,
			ty: false}, {xs: []int64{3, 4}, ys: []int64{5, 4}, tx: false, ty: true},
		{xs: []int64{4, 3}, ys: []int64{5, 4}, tx: true, ty: true}, {xs: []int64{2, 1, 3, 4}, ys: []int64{6, 4, 5},
			tx: false, ty: false}, {xs: []int64{600, 70}, ys: []int64{70, 65}, tx: false, ty: false},
		{xs: []int64{70, 600}, ys: []int64{70, 65}, tx: true, ty: false},
	} {
		b := newBld(t, "ios15")
		x, y := seq(prodOf(tt.xs), 6), seq(prodOf(tt.ys), 7)
		got := b.run(Options{}, b.op("matmul", args{"x": b.input("x", floats(t, ir.FP32, tt.xs, x...)),
			"y":           b.input("y", floats(t, ir.FP32, tt.ys, y...)),
			"transpose_x": truth(tt.tx), "transpose_y": truth(tt.ty)}))[0]
		s := got.Type.Shape
		m, n := int(s[len(s)-2]), int(s[len(s)-1])
		nx, ny := len(tt.xs), len(tt.ys)
		k := int(tt.xs[nx-1])
		if tt.tx {
			k = int(tt.xs[nx-2])
		}
		lead := s[:len(s)-2]
		stx, sty := broadcastStrides(tt.xs[:nx-2], lead), broadcastStrides(tt.ys[:ny-2], lead)
		own := strides(lead)
		var want []float32
		for bt := range prodOf(lead) {
			ox, oy := 0, 0
			for d := range lead {
				i := bt / own[d] % int(lead[d])
				ox += i * stx[d]
				oy += i * sty[d]
			}
			ax := matrix{data: x[ox*m*k:], rows: m, cols: k, t: tt.tx}
			if tt.tx {
				ax.rows, ax.cols = k, m
			}
			by := matrix{data: y[oy*k*n:], rows: k, cols: n, t: tt.ty}
			if tt.ty {
				by.rows, by.cols = n, k
			}
			av, bv := ax.view(), by.view()
			for i := range m {
				for j := range n {
					v := 0.0
					for l := range k {
						v += float64(av.Data[i*av.RowStep+l*av.ColStep]) * float64(bv.Data[l*bv.RowStep+j*bv.ColStep])
					}
					want = append(want, float32(v))
				}
			}
		}
		wantFloats(t, got, 1e-5, s, want...)
	}
}

func TestMatmulVectors(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{2}, 1, 2))
	y := b.input("y", floats(t, ir.FP32, []int64{2, 2}, 1, 2, 3, 4))
	r := b.opAs("matmul", args{"x": x, "y": y}, ir.TensorOf(ir.FP32, 2))[0]
	wantFloats(t, b.run(Options{}, r)[0], 0, []int64{2}, 7, 10)
}

func TestMatmulKeepsSpecials(t *testing.T) {
	inf := float32(1) / zero
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{1, 2}, 0, 1))
	y := b.input("y", floats(t, ir.FP32, []int64{2, 1}, inf, 1))
	r := b.op("matmul", args{"x": x, "y": y})
	got := b.run(Options{}, r)[0].Floats32()[0]
	if got == got {
		t.Errorf("0*inf + 1 = %v in IEEE mode, want NaN", got)
	}
}

var zero float32

func TestLinear(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{2, 2}, 1, 2, 3, 4))
	r := b.op("linear", args{
		"x":      x,
		"weight": constant(floats(t, ir.FP32, []int64{3, 2}, 1, 0, 0, 1, 1, 1)),
		"bias":   constant(floats(t, ir.FP32, []int64{3}, 10, 20, 30)),
	})
	wantFloats(t, b.run(Options{}, r)[0], 0, []int64{2, 3}, 11, 22, 33, 13, 24, 37)
}

// TestWorkersDoNotMatter compares the bytes of a small network for one to four workers and processors.
func TestWorkersDoNotMatter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var first Tensor
	for i, w := range []int{1, 2, 3, 4} {
		runtime.GOMAXPROCS(1 + i%2*3)
		b := newBld(t, "ios15")
		x := b.input("x", floats(t, ir.FP16, []int64{1, 32, 40, 40}, seq(32*1600, 8)...))
		y := b.op("conv", args{
			"x":        x,
			"weight":   constant(floats(t, ir.FP16, []int64{64, 32, 3, 3}, seq(64*32*9, 9)...)),
			"pad_type": str("same"),
		})
		y = b.op("reshape", args{"x": y, "shape": vec(64, 1600)})
		y = b.op("matmul", args{"x": y, "y": y, "transpose_y": truth(true)})
		y = b.op("softmax", args{"x": y})
		y = b.op("layer_norm", args{"x": y, "axes": vec(1)})
		got := b.run(Options{Workers: w}, y)[0]
		if i == 0 {
			first = got
		} else if !got.Equal(first) {
			t.Fatalf("%d workers give other bytes than one", w)
		}
	}
}

func BenchmarkConv(b *testing.B) {
	f, in := func() (*ir.Func, map[string]Tensor) {
		x, _ := FromFloats(ir.FP16, seq(384*1500, 1), 1, 384, 1, 1500)
		w, _ := FromFloats(ir.FP16, seq(384*384, 2), 384, 384, 1, 1)
		xv := &ir.Value{Name: "x", Type: x.Type}
		def := ir.Lookup("conv", "ios15")
		op := &ir.Op{Def: def, Args: make([][]*ir.Value, len(def.Params))}
		op.SetArg("x", xv)
		op.SetArg("weight", constant(w))
		op.Results = []*ir.Value{{Name: "y", Type: x.Type, Def: op}}
		return &ir.Func{Body: &ir.Block{
			Params:  []*ir.Value{xv},
			Ops:     []*ir.Op{op},
			Outputs: op.Results,
		}}, map[string]Tensor{"x": x}
	}()
	for b.Loop() {
		if _, err := Run(b.Context(), f, in, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2*384*384*1500*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
