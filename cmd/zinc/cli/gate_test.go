package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// gated are the models that the gate is tried on: a detector as it is, made slower by an fp32 softmax that goes to the
// CPU, made wholly the engine's by a cast before the image's scale, and two models with nothing on the engine.
var gated = []string{"yolov8n", "softmax-upcast", "mul-after-cast", "cpu-only", "silero-v6"}

// gatedModels returns the paths of the models of gated, with weights.
func gatedModels(t *testing.T) map[string]string {
	t.Helper()
	shared := shareddir.Find(t)
	yolo := filepath.Join(shared, "corpus", "yolov8n-face-relu6")
	text, err := os.ReadFile(filepath.Join(shared, "cases", "cpu-only-bound-0-pass.mil"))
	if err != nil {
		t.Fatal(err)
	}
	cpu := t.TempDir()
	put(t, filepath.Join(cpu, "model.mil"), text)
	folders := []string{
		yolo, shareddir.Patched(t, yolo, "softmax-upcast.diff"), shareddir.Patched(t, yolo, "mul-after-cast.diff"), cpu,
		filepath.Join(shared, "corpus", "silero-v6-fp16"),
	}
	out := map[string]string{}
	for i, name := range gated {
		out[name] = shareddir.WithWeights(t, shared, folders[i])
	}
	return out
}

// TestGate holds each model against each budget, absolute and relative to the detector as it is. What moves work to the
// CPU and makes a call longer fails every budget of the time of a call. A budget of the engine's part alone fails the
// faster model, which has more on the engine, and passes models with nothing there.
func TestGate(t *testing.T) {
	models := gatedModels(t)
	base := []string{"--base", models["yolov8n"]}
	for _, c := range []struct {
		args []string
		want [5]int // exit statuses, in the order of gated
	}{
		{[]string{"--max-estimate-us", "4000"}, [5]int{0, 4, 0, 0, 0}},
		{[]string{"--max-estimate-us", "1"}, [5]int{4, 4, 4, 4, 4}},
		{[]string{"--max-engine-us", "2690"}, [5]int{0, 4, 4, 0, 0}},
		{[]string{"--min-engine-ops", "99%"}, [5]int{0, 4, 0, 4, 4}},
		{[]string{"--min-engine-macs", "95"}, [5]int{0, 0, 0, 4, 4}},
		{[]string{"--max-dispatches", "1"}, [5]int{0, 4, 0, 0, 0}},
		{append(base, "--max-slowdown", "5%"), [5]int{0, 4, 0, 0, 0}},
		{append(base, "--max-weight-growth", "0"), [5]int{0, 0, 0, 0, 0}},
		{append(base, "--max-extra-dispatches", "0"), [5]int{0, 4, 0, 0, 0}},
	} {
		var got [5]int
		line := ""
		for i, name := range gated {
			args := append([]string{"check", models[name], "--advice=false"}, c.args...)
			var errs string
			got[i], _, errs = call(t, args...)
			line += fmt.Sprintf("  %s %d %s", name, got[i], errs)
		}
		if got != c.want {
			t.Errorf("%s: exit statuses %v, want %v\n%s", strings.Join(c.args, " "), got, c.want, line)
		}
	}
}
