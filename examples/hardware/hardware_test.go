package hardware

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
)

const digits = "../digits/digits.mlmodelc"

// zinc runs a command and returns its exit status and what it printed.
func zinc(args ...string) (int, string) {
	var out bytes.Buffer
	status := cli.Main(args, strings.NewReader(""), &out, &out)
	return status, out.String()
}

// TestRecordedRunIsVerified emits a program, records a run of it on a stand-in for the driver, and verifies the record:
// outputs of the simulated engine pass and are equal to it, a wrong one fails, and a record of another program is
// refused.
func TestRecordedRunIsVerified(t *testing.T) {
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import numpy").Run() == nil {
			python = p
			break
		}
	}
	if python == "" {
		t.Skip("no python3 with numpy, which records runs")
	}
	dir := t.TempDir()
	program, output, record := filepath.Join(dir, "d.anec"), filepath.Join(dir, "o.npy"), filepath.Join(dir, "record")
	const image = "../digits/testdata/7.npy"
	for _, args := range [][]string{
		{digits, "--emit=anec", "-o", program},
		{"run", digits, "--engine", "direct", "--td-form", "full", "--input", "image=" + image, "--output",
			"probs=" + output},
	} {
		if status, out := zinc(args...); status != 0 {
			t.Fatalf("zinc %v: exit status %d\n%s", args, status, out)
		}
	}
	cmd := exec.Command(python, "measure.py", program, "-o", record, "--calls", "3", "--input", image)
	cmd.Env = append(os.Environ(), "PYTHONPATH=testdata", "PYTHONDONTWRITEBYTECODE=1", "STANDIN_OUTPUT="+output)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	measured := filepath.Join(record, "record.json")
	verify := func(want int, model, message string) {
		t.Helper()
		status, out := zinc("verify", model, "--measured", measured)
		if status != want || !strings.Contains(out, message) {
			t.Errorf("exit status %d, want %d with %q:\n%s", status, want, message, out)
		}
	}
	verify(0, digits, "probs: 0 of 10 elements differ from the simulated engine's")
	verify(0, digits, "3 calls took ")

	wrong := filepath.Join(record, "output0.npy")
	data, err := os.ReadFile(wrong)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 0x20 // the exponent of the last probability
	if err := os.WriteFile(wrong, data, 0o666); err != nil {
		t.Fatal(err)
	}
	verify(5, digits, "probs: 1 of 10 elements differ from the simulated engine's")

	text, err := os.ReadFile(measured)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte(`sha256": "`)) + len(`sha256": "`)
	copy(text[at:], "0123")
	if err := os.WriteFile(measured, text, 0o666); err != nil {
		t.Fatal(err)
	}
	verify(1, digits, "the record is of program 0123")
}
