package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// TestDumpPrintsPackageAsTextAndJSON checks the metadata of a package in both formats.
func TestDumpPrintsPackageAsTextAndJSON(t *testing.T) {
	pack := filepath.Join(shareddir.Find(t), "corpus", "silero-vad-unified-v6.0.0.mlpackage")
	for _, path := range []string{pack, filepath.Join(pack, "Data", "com.apple.CoreML", "model.mlmodel")} {
		var out, errs bytes.Buffer
		if status := Main([]string{"dump", path}, nil, &out, &errs); status != statusOK {
			t.Fatalf("exit status %d: %s", status, &errs)
		}
		for _, want := range []string{
			"// version                                       6.0.0\n",
			"//   input                                       audio_input: multiArray fp32 [1, 576]\n",
			"\nprogram(1.0)\n",
			"} -> (vad_output, new_hidden_state, new_cell_state);\n",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%.2000s", want, &out)
			}
		}
		out.Reset()
		if status := Main([]string{"dump", "--json", path}, nil, &out, &errs); status != statusOK {
			t.Fatalf("exit status %d: %s", status, &errs)
		}
		var x struct {
			Kind  string
			Model json.RawMessage
		}
		if err := json.Unmarshal(out.Bytes(), &x); err != nil || x.Kind != "model" {
			t.Fatalf("kind %q, %v", x.Kind, err)
		}
		var j struct {
			Metadata struct {
				Form      string
				Functions []struct {
					Inputs []struct {
						Name  string
						Shape []int64
					}
				}
			}
			Functions []struct{ Opset string }
		}
		if err := json.Unmarshal(x.Model, &j); err != nil {
			t.Fatal(err)
		}
		if j.Metadata.Form != "mlProgram" || len(j.Metadata.Functions) != 1 ||
			len(j.Metadata.Functions[0].Inputs) != 3 ||
			len(j.Functions) != 1 || j.Functions[0].Opset != "ios15" {
			t.Errorf("JSON is %+v", j)
		}
	}
}

// TestUnreadableNetworkIsDumpedButNotCompiled checks that dump prints what describes a neural network that cannot be
// read, and that the compiler says where it fails.
func TestUnreadableNetworkIsDumpedButNotCompiled(t *testing.T) {
	name := filepath.Join(t.TempDir(), "nn.mlmodel")
	// specificationVersion 4, a neuralNetwork of 3 bytes
	if err := os.WriteFile(name, []byte("\x08\x04\xa2\x1f\x03abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if status := Main([]string{"dump", name}, nil, &out, &errs); status != statusOK || !strings.HasPrefix(out.String(),
		"form                   neuralNetwork\n") {
		t.Errorf("exit status %d: %s%s", status, &out, &errs)
	}
	out.Reset()
	status := Main([]string{name, "-o", name + ".hwx"}, nil, &out, &errs)
	if status != statusInput || !strings.Contains(errs.String(), "nn.mlmodel: byte 0x5: neuralNetwork.field 12: ") {
		t.Errorf("exit status %d: %s", status, &errs)
	}
}
