package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// checkNoHazards compiles a model and checks that its container has no hazards.
func checkNoHazards(t *testing.T, model string, flags ...string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "m.hwx")
	if s, _, msg := call(t, append(flags, model, "-o", out)...); s != statusOK {
		t.Fatalf("status %d: %s", s, msg)
	}
	if s, text, msg := call(t, "dump", "--hazards", out); s != statusOK {
		t.Errorf("status %d: %s%s", s, text, msg)
	}
}

// TestCorpusModelsHaveNoHazards compiles the models of the corpus.
func TestCorpusModelsHaveNoHazards(t *testing.T) {
	shared := shareddir.Find(t)
	for _, name := range []string{"espresso-conv", "espresso-fused-ffn", "espresso-matmul", "espresso-sdpa-fwd-taps",
		"mnist-cnn-inline", "silero-v6-fp16"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(shared, "corpus", name)
			checkNoHazards(t, filepath.Join(shareddir.WithWeights(t, shared, dir), "model.mil"))
		})
	}
}

// TestRecordedCasesHaveNoHazards compiles the recorded programs in both forms of tasks. It skips
// one, whose weight file does not contain its weights.
func TestRecordedCasesHaveNoHazards(t *testing.T) {
	shared := shareddir.Find(t)
	if testing.Short() {
		t.Skip("compiling every recorded case takes seconds")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 not found; it is required to generate the weights of the cases")
	}
	files, err := filepath.Glob(filepath.Join(shared, "oracles", "h13", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	keep := t.TempDir()
	args := append([]string{filepath.Join(shared, "tools", "parity.py"), "--write-only", "--keep", keep}, files...)
	if out, err := exec.Command(python, args...).CombinedOutput(); err != nil {
		t.Fatalf("writing the models: %v\n%s", err, out)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		if name == "encoder_conv_idx_c1_n256_k3x3_s2_g1_bias1_same" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			checkNoHazards(t, filepath.Join(keep, name, "model.mil"))
			checkNoHazards(t, filepath.Join(keep, name, "model.mil"), "--td-form=full", "--split-kernel-section=false")
		})
	}
}

// TestRunExecutesRecordedContainers runs every container written by the recorded compiler.
func TestRunExecutesRecordedContainers(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "golden", "apple-h13", "*.hwx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no containers: %v", err)
	}
	for _, f := range files {
		s, out, msg := call(t, "run", f, "--random", "1")
		if s != statusOK || !strings.HasPrefix(out, "probs@output  tensor<fp16, [1, ") ||
			!strings.Contains(msg, "missing descriptor") {
			t.Errorf("%s: status %d\n%s%s", f, s, out, msg)
		}
	}
}
