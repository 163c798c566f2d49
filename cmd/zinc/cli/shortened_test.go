//go:build unix

package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
)

// truncating cuts a file when the command writes its first line to it.
type truncating struct {
	bytes.Buffer
	path string
}

func (w *truncating) Write(b []byte) (int, error) {
	if w.path != "" {
		if err := os.Truncate(w.path, blobfile.HeaderSize); err != nil {
			return 0, err
		}
		w.path = ""
	}
	return w.Buffer.Write(b)
}

// TestWeightFileShortenedInUseIsAnError cuts the weight file of a model after its first pass: the commands must end
// with status 1 and an error that names the file, instead of a signal.
func TestWeightFileShortenedInUseIsAnError(t *testing.T) {
	for _, args := range [][]string{
		{"--dry-run", "--workers", "1"}, {"--dry-run"},
	} {
		dir := t.TempDir()
		weights := filepath.Join(dir, "weights.bin")
		f, err := os.Create(weights)
		if err != nil {
			t.Fatal(err)
		}
		_, err = blobfile.NewWriter(f, 1).Append(blobfile.Float16, 1024*1024, make([]byte, 2<<20))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		model := filepath.Join(dir, "m.mil")
		put(t, model, []byte(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 1024]> x) {
        tensor<fp16, [1024, 1024]> w = const()[name = string("w"), val = tensor<fp16, [1024, 1024]>(BLOBFILE(path =
            string("@model_path/weights.bin"), offset = uint64(64)))];
        tensor<fp16, [1, 1024]> y = linear(x = x, weight = w);
    } -> (y);
}
`))
		var out bytes.Buffer
		msg := truncating{path: weights}
		args = append(args, model, "--print-after", "all", "--elide-constants")
		status := run(context.Background(), args, strings.NewReader(""), &out, &msg)
		last := msg.String()[strings.LastIndex(strings.TrimSuffix(msg.String(), "\n"), "\n")+1:]
		if status != statusInput || !strings.Contains(last, "weights.bin: byte ") ||
			!strings.Contains(last, "was shortened while in use") {
			t.Errorf("%q: status %d, error %q; want status 1 and one about weights.bin", args, status, last)
		}
	}
}
