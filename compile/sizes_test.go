package compile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// results names n results.
func results(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("y%d", i)
	}
	return names
}

// relus returns the statements of n results of one operand.
func relus(n int) []string {
	lines := results(n)
	for i, name := range lines {
		lines[i] = "tensor<fp16, [1, 16, 1, 16]> " + name + " = relu(x = x);\n"
	}
	return lines
}

// compileText compiles the statements of a function.
func compileText(t *testing.T, function string) (*Result, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.mil")
	if err := os.WriteFile(path, []byte("program(1.3)\n{\n"+function+"\n}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	return All(context.Background(), m.Program, Options{Target: target.H13})
}

// TestSizesThatNoRunHolds checks that models of a few hundred bytes that name gigabytes are rejected, with place and
// limit, before anything of that size is allocated.
func TestSizesThatNoRunHolds(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a large input", `func main<ios18>(tensor<int32, [2147483647]> x) {
			tensor<int32, [2147483647]> y = identity(x = x);
		} -> (y);`, []string{"m.mil:3:", `"x"`, "8589934588 bytes", "3758096384"}},
		{"an input past 64 bits", `func main<ios18>(tensor<fp16, [2147483647, 2147483647, 2147483647]> x) {
			tensor<fp16, [2147483647, 2147483647, 2147483647]> y = relu(x = x);
		} -> (y);`, []string{"m.mil:3:", `"x"`, "more bytes than 64 bits count", "3758096384"}},
		{"an input of no elements beside large extents", `func main<ios18>(tensor<fp16, [0, 2147483647, 2]> x) {
			tensor<fp16, [0, 2147483647, 2]> y = relu(x = x);
		} -> (y);`, []string{"m.mil:3:", `"x"`, "8589934588 bytes with 1 in place of 0", "3758096384"}},
		{"a fill", `func main<ios18>(tensor<fp16, [1]> x) {
			tensor<int32, [2]> s = const()[val = tensor<int32, [2]>([65536, 65536])];
			fp16 v = const()[val = fp16(0x1p+0)];
			tensor<fp16, [65536, 65536]> y = fill(shape = s, value = v);
			tensor<fp16, [1]> z = relu(x = x);
		} -> (y, z);`, []string{"m.mil:6:", `"y"`, "8589934592 bytes", "3758096384"}},
		{"a tile between operations", `func main<ios18>(tensor<fp16, [1, 1]> x) {
			tensor<int32, [2]> s = const()[val = tensor<int32, [2]>([1000000, 100000])];
			tensor<fp16, [1000000, 100000]> f = tile(x = x, reps = s);
			tensor<int32, [2]> a = const()[val = tensor<int32, [2]>([0, 1])];
			bool k = const()[val = bool(false)];
			fp16 y = reduce_sum(x = f, axes = a, keep_dims = k);
		} -> (y);`, []string{"m.mil:5:", `"f"`, "200000000000 bytes", "8589934592"}},
		{"a shape that folding finds", `func main<ios18>(tensor<fp16, [1, 1]> x) {
			tensor<int32, [2]> s = const()[val = tensor<int32, [2]>([50000, 50000])];
			tensor<int32, [2]> s2 = add(x = s, y = s);
			tensor<fp16, [?, ?]> y = tile(x = x, reps = s2);
		} -> (y);`, []string{"m.mil:6:", `"y"`, "20000000000 bytes", "3758096384"}},
		{"buffers together", `func main<ios18>(tensor<fp32, [900000000]> x) {
			tensor<fp32, [900000000]> y = floor(x = x);
			tensor<fp32, [900000000]> z = exp(x = y);
		} -> (y, z);`, []string{"m.mil:3:", `"x"`, "10800021504 bytes", "8589934592"}},
		{"a loop that doubles", `func main<ios18>(tensor<fp16, [1]> x) {
			int32 i, tensor<fp16, [?]> y = while_loop(loop_vars = (int32(0), x)) (int32 i0, tensor<fp16, [?]> x0) {
				bool c = less(x = i0, y = int32(60));
			} -> (c)
			(int32 i1, tensor<fp16, [?]> x1) {
				int32 i2 = add(x = i1, y = int32(1));
				tensor<fp16, [?]> x2 = concat(values = (x1, x1), axis = int32(0), interleave = bool(false));
			} -> (i2, x2);
		} -> (y);`, []string{"m.mil:9:", "concat", "dimension 0 is 2147483648, want 0 to 2147483647; use"}},
		{"tensors together", "func main<ios18>(tensor<fp16, [1, 16, 1, 16]> x) {\n" + strings.Join(relus(10001), "") +
			"} -> (" + strings.Join(results(10001), ", ") + ");", []string{"m.mil:", "tensors together", "10000"}},
		{"scratch between tasks", `func main<ios18>(tensor<fp16, [1, 50000, 1, 1]> x,
			tensor<fp16, [1, 1, 1, 16384]> y) {
			tensor<fp16, [1, 50000, 1, 16384]> p = add(x = x, y = y);
			tensor<fp16, [1, 50000, 1, 16384]> q = exp(x = p);
			tensor<int32, [1]> a = const()[val = tensor<int32, [1]>([3])];
			bool k = const()[val = bool(true)];
			tensor<fp16, [1, 50000, 1, 1]> r = reduce_sum(x = q, axes = a, keep_dims = k);
			tensor<fp16, [1, 50000, 1, 1]> z = reduce_sum(x = p, axes = a, keep_dims = k);
		} -> (r, z);`, []string{"m.mil:", "bytes of scratch", "3221225472"}},
		{"surfaces together", `func main<ios18>(tensor<fp16, [1, 28672, 1, 16384]> x,
			tensor<fp16, [1, 28672, 1, 16384]> y) {
			tensor<fp16, [1, 28672, 1, 16384]> p = relu(x = x);
			tensor<fp16, [1, 28672, 1, 16384]> q = relu(x = y);
		} -> (p, q);`, []string{"m.mil:", "939524096 bytes", "3489660928"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := compileText(t, c.text)
			if err == nil {
				t.Fatal("it compiles")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v, want %q in it", err, w)
				}
			}
		})
	}
}

// TestTasksOfAllProceduresAreBounded checks the limit of tasks of all procedures together: as many as records count.
// Each procedure on its own is within the limit.
func TestTasksOfAllProceduresAreBounded(t *testing.T) {
	d := &driver{image: &hwx.Image{}}
	take := func(tasks int) error {
		return d.checkLoad(new(unit), &lower.Procedure{Infos: make([]lower.TaskInfo, tasks)})
	}
	for range target.LoadTasks >> 16 {
		if err := take(1 << 16); err != nil {
			t.Fatal(err)
		}
	}
	if err := take(1); err == nil || !strings.Contains(err.Error(), "have 1048577 tasks together") {
		t.Errorf("one task too many: %v", err)
	}
}

// TestAddressSpaceLimitsPlacement keeps an operation on the CPU whose tensors fit the engine one by one but together
// exceed what a program can address.
func TestAddressSpaceLimitsPlacement(t *testing.T) {
	for _, c := range []struct {
		channels string
		unit     ir.Unit
	}{{"49152", ir.Engine}, {"57344", ir.CPU}} {
		typ := "tensor<fp16, [1, " + c.channels + ", 1, 16384]>"
		r, err := compileText(t, "func main<ios18>("+typ+" x) {\n"+typ+" y = relu(x = x);\n} -> (y);")
		if err != nil {
			t.Fatal(err)
		}
		op := r.Report.Ops[0]
		if op.Unit != c.unit.String() || c.unit == ir.CPU && !strings.Contains(op.Reason, "3489660928 bytes") {
			t.Errorf("%s channels: on %s, %q; want %s", c.channels, op.Unit, op.Reason, c.unit)
		}
	}
}

// TestAddressSpaceIsStatedAlike compares the limits of placement with the limits of the container and of address
// translation, which maps everything that fits a container.
func TestAddressSpaceIsStatedAlike(t *testing.T) {
	if hwx.AddrLimit-hwx.Base != target.AddressBytes || translation.ApertureSize != target.ClientBytes {
		t.Errorf("a container has %d addresses, a client %d; target says %d and %d", uint64(hwx.AddrLimit-hwx.Base),
			uint64(translation.ApertureSize), uint64(target.AddressBytes), uint64(target.ClientBytes))
	}
	if loader.MaxScratch != target.ScratchBytes || td.MaxTasks != target.LoadTasks {
		t.Errorf("a load takes %d bytes of scratch and %d tasks; target says %d and %d", uint64(loader.MaxScratch),
			td.MaxTasks, uint64(target.ScratchBytes), target.LoadTasks)
	}
	if target.AddressBytes > target.ClientBytes-translation.PageSize {
		t.Errorf("a container of %d bytes is more than a client maps, %d", uint64(target.AddressBytes),
			uint64(target.ClientBytes-translation.PageSize))
	}
}
