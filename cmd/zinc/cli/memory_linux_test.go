package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/internal/testform"
)

// TestMemoryOfLongModels bounds the memory of commands on a model of 200,000 operations, or of fewer in the shorter
// forms. What a process takes whatever the model is about base: the program itself, and garbage (memlimit).
func TestMemoryOfLongModels(t *testing.T) {
	const (
		all  = 200_000
		base = 180 // MB
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
		{"explain", []string{"explain", model + ":5003"}, 500}, // with what every part of the pair came from
	} {
		took, err := peakOf(exec.Command("zinc", c.args...))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if most := base + (c.most-base)*n/all; took > most {
			t.Errorf("%s takes %d MB for %d operations, want at most %d", c.name, took, n, most)
		}
		t.Logf("%s: %d MB", c.name, took)
	}
}

// peakOf runs a command and returns the largest resident memory in MB that it was seen with. What the system counts for
// a process that has ended includes its parent's memory, with which it began.
func peakOf(cmd *exec.Cmd) (peak int, err error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	status := fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	for {
		select {
		case err := <-ended:
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, &out)
			}
			return peak, err
		case <-time.After(time.Millisecond):
		}
		text, err := os.ReadFile(status)
		if err != nil || !bytes.HasPrefix(text, []byte("Name:\tzinc")) {
			continue // it has ended, or not begun
		}
		_, rest, _ := strings.Cut(string(text), "VmHWM:")
		var kib int
		if _, err := fmt.Sscan(rest, &kib); err == nil {
			peak = max(peak, kib/1000)
		}
	}
}
