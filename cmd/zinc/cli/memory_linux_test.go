package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/zinc-compiler/zinc/internal/testform"
)

// TestMemoryOfLongModels bounds the memory of commands on a model of 200,000 operations, or of fewer in the shorter
// forms. What a process takes without a model is about base.
func TestMemoryOfLongModels(t *testing.T) {
	const (
		all  = 200_000
		base = 100 // MB
	)
	n := testform.Of(10_000, 50_000, all)
	var b bytes.Buffer
	b.WriteString("program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 64, 1, 64]> y0) {\n")
	for i := range n {
		fmt.Fprintf(&b, "        tensor<fp16, [1, 64, 1, 64]> y%d = relu(x = y%d)[name = string(\"y%[1]d\")];\n",
			i+1, i)
	}
	fmt.Fprintf(&b, "    } -> (y%d);\n}\n", n)
	dir := t.TempDir()
	model := filepath.Join(dir, "model.mil")
	if err := os.WriteFile(model, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		most int // MB for all operations
	}{
		{"compile", []string{model, "-o", filepath.Join(dir, "out.hwx")}, 500},
		{"check", []string{"check", model}, 500},
		{"lint", []string{"lint", model}, 500},
		{"explain", []string{"explain", model + ":5003"}, 750}, // with what every part of the pair came from
	} {
		cmd := exec.Command("zinc", c.args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, out)
		}
		took := int(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1000 // of KiB
		if most := base + (c.most-base)*n/all; took > most {
			t.Errorf("%s takes %d MB for %d operations, want at most %d", c.name, took, n, most)
		}
		t.Logf("%s: %d MB", c.name, took)
	}
}
