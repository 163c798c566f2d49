package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/internal/memlimit"
)

// call runs zinc in the test's process.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = run(context.Background(), args, strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

// pairFiles compiles the example model into a fresh folder.
func pairFiles(t *testing.T) (container string, hwx, e5 []byte) {
	t.Helper()
	container = filepath.Join(t.TempDir(), "d.hwx")
	if status, _, msg := call(t, filepath.Join(digits(t), "digits.mlmodelc"), "-o", container); status != 0 {
		t.Fatalf("status %d: %s", status, msg)
	}
	var err error
	if hwx, err = os.ReadFile(container); err != nil {
		t.Fatal(err)
	}
	if e5, err = os.ReadFile(strings.TrimSuffix(container, ".hwx") + ".e5"); err != nil {
		t.Fatal(err)
	}
	return container, hwx, e5
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// refused checks that a command fails with status 1 and one error that names the file.
func refused(t *testing.T, what, file string, args ...string) {
	t.Helper()
	status, out, msg := call(t, args...)
	if status != statusInput || out != "" || strings.Count(msg, "\n") != 1 || !strings.Contains(msg, file) {
		t.Errorf("%s: %q: status %d, output %q, error %q; want status 1 and one line that names %s", what, args, status,
			out, msg, file)
	}
}

// checkPartial runs a command that prints the valid parts of a damaged file, and checks that it
// reports the damage in at most dump.MaxFaults+1 lines that each name the file.
func checkPartial(t *testing.T, what, file string, args ...string) {
	t.Helper()
	status, _, msg := call(t, args...)
	n := strings.Count(msg, "\n")
	if status != statusInput || n < 1 || n > dump.MaxFaults+1 || strings.Count(msg, file) < n {
		t.Errorf("%s: %q: status %d, error %q; want status 1 and lines that name %s", what, args, status, msg, file)
	}
}

// TestDumpOfMutatedFilesDoesNotPanic changes bytes of every format that dump prints in parts, and checks that the
// result is text, JSON or an error, but not an internal error.
func TestDumpOfMutatedFilesDoesNotPanic(t *testing.T) {
	_, hwx, e5 := pairFiles(t)
	path := filepath.Join(t.TempDir(), "x.bin")
	r := rand.New(rand.NewPCG(3, 4))
	changes := 60
	if testing.Short() {
		changes = 12
	}
	for i, whole := range [][]byte{hwx, e5, emitted(t, "afpp"), emitted(t, "records"), emitted(t, "images")} {
		// Change bytes of the headers, where they have the largest effect, and of the whole file.
		for k := range changes {
			b := append([]byte(nil), whole...)
			n := len(b)
			if k%3 > 0 {
				n = min(n, 0x1000)
			}
			for range 1 + r.IntN(4) {
				b[4+r.IntN(n-4)] = []byte{0, 1, 0x7f, 0xff, byte(r.Uint32())}[r.IntN(5)]
			}
			if k%4 == 0 {
				b = b[:4+r.IntN(len(b)-4)]
			}
			put(t, path, b)
			for _, args := range [][]string{{"--all"}, {"--all", "--json"}, {"--raw", "--all"}} {
				status, out, msg := call(t, append([]string{"dump", path}, args...)...)
				if status != statusOK && status != statusInput {
					t.Fatalf("file %d, change %d, %v: status %d: %s", i, k, args, status, msg)
				}
				if args[len(args)-1] == "--json" && out != "" && !json.Valid([]byte(out)) {
					t.Fatalf("file %d, change %d: no JSON: %.300s", i, k, out)
				}
			}
		}
	}
}

// TestTruncatedPairIsRefused cuts either file of a pair at every 64th byte.
func TestTruncatedPairIsRefused(t *testing.T) {
	_, hwx, e5 := pairFiles(t)
	dir := t.TempDir()
	x, y := filepath.Join(dir, "x.hwx"), filepath.Join(dir, "x.e5")
	put(t, y, e5)
	step := 64
	if testing.Short() {
		step = 640
	}
	for n := 0; n < len(hwx); n += step {
		put(t, x, hwx[:n])
		checkPartial(t, fmt.Sprintf("container cut at %d", n), "x.hwx", "dump", x)
		refused(t, fmt.Sprintf("container cut at %d", n), "x.hwx", "run", x, "--random", "1")
	}
	put(t, x, hwx)
	for n := 0; n < len(e5); n += step {
		put(t, y, e5[:n])
		checkPartial(t, fmt.Sprintf("descriptor cut at %d", n), "x.e5", "dump", y)
		refused(t, fmt.Sprintf("descriptor cut at %d", n), "x.", "run", x, "--random", "1")
	}
	put(t, y, e5)
	if status, _, msg := call(t, "run", x, "--random", "1"); status != 0 {
		t.Errorf("the whole pair: status %d: %s", status, msg)
	}
}

// TestRandomDescriptorIsRefused uses random bytes as the descriptor.
func TestRandomDescriptorIsRefused(t *testing.T) {
	container, _, e5 := pairFiles(t)
	y := strings.TrimSuffix(container, ".hwx") + ".e5"
	r := rand.New(rand.NewPCG(1, 2))
	n := 300
	if testing.Short() {
		n = 40
	}
	for i := range n {
		b := make([]byte, 1+r.IntN(2000))
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		if i%2 == 1 { // noise after a valid beginning
			b = append(append([]byte{}, e5[:r.IntN(len(e5))]...), b...)
		}
		put(t, y, b)
		checkPartial(t, fmt.Sprintf("noise %d", i), "d.e5", "dump", y)
		refused(t, fmt.Sprintf("noise %d", i), "d.", "run", container, "--random", "1")
	}
}

// TestChangedContainerIsRefused changes one byte of the container at a time, which the descriptor's hash must detect.
func TestChangedContainerIsRefused(t *testing.T) {
	container, hwx, _ := pairFiles(t)
	for at := 0; at < len(hwx); at += 997 {
		b := bytes.Clone(hwx)
		b[at] ^= 0x10
		put(t, container, b)
		refused(t, fmt.Sprintf("byte %d flipped", at), "d.hwx", "run", container, "--random", "1")
	}
}

// TestRunRefusesGiantInputs runs a model of 150 bytes whose input is 8 GiB: every engine must refuse it before
// random values are generated.
func TestRunRefusesGiantInputs(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.mil")
	put(t, model, []byte(`program(1.3)
{
    func main<ios18>(tensor<int32, [2147483647]> x) {
        tensor<int32, [2147483647]> y = identity(x = x);
    } -> (y);
}
`))
	for _, engine := range []string{"sim", "direct", "interp"} {
		refused(t, engine, "m.mil:3:50", "run", model, "--random", "1", "--engine", engine, "--numerics", "ieee")
	}
	refused(t, "verify", "m.mil:3:50", "verify", model)
}

// TestMaxMemoryBoundsRuns runs a model of 270 bytes whose tile has a gigabyte, with less memory than that.
func TestMaxMemoryBoundsRuns(t *testing.T) {
	defer memlimit.Set(0)
	model := filepath.Join(t.TempDir(), "m.mil")
	put(t, model, []byte(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1]> x) {
        tensor<fp16, [500000000]> y = tile(x = x, reps = tensor<int32, [1]>([500000000]));
        tensor<fp16, [1]> z = reduce_max(x = y, axes = tensor<int32, [1]>([0]), keep_dims = bool(true));
    } -> (z);
}
`))
	for _, engine := range []string{"sim", "direct", "interp"} {
		status, _, msg := call(t, "run", model, "--random", "1", "--engine", engine, "--numerics", "ieee",
			"--max-memory", "200MiB")
		if status != statusInput || !strings.Contains(msg, "cannot allocate") &&
			!strings.Contains(msg, "limit of 209715200") {
			t.Errorf("%s: status %d: %s; want a refusal that names the limit", engine, status, msg)
		}
	}
	for _, bad := range []string{"", "0", "-1", "x", "1kB", "9223372036854775807KiB", "1.5GiB"} {
		if status, _, msg := call(t, "ops", "--max-memory", bad); status != statusUsage {
			t.Errorf("--max-memory %q: status %d: %s", bad, status, msg)
		}
	}
}

// TestMaxMemoryBoundsComparisons verifies and proves a model of 150 bytes on tensors of 64 MiB, for which both need
// several times as much.
func TestMaxMemoryBoundsComparisons(t *testing.T) {
	defer memlimit.Set(0)
	dir := t.TempDir()
	model, container := filepath.Join(dir, "m.mil"), filepath.Join(dir, "m.hwx")
	put(t, model, []byte(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 1024, 1024, 32]> x) {
        tensor<fp16, [1, 1024, 1024, 32]> y = relu(x = x);
    } -> (y);
}
`))
	if status, _, msg := call(t, model, "-o", container); status != 0 {
		t.Fatal(msg)
	}
	for _, args := range [][]string{{"verify", model}, {"prove", container, model}} {
		status, _, msg := call(t, append(args, "--max-memory", "200MiB")...)
		if status != statusInput || !strings.Contains(msg, "limit is 209715200") ||
			!strings.Contains(msg, "--max-memory") {
			t.Errorf("%s: status %d: %s; want a refusal that names the limit and the flag", args[0], status, msg)
		}
	}
}

// TestLongDescriptionsOfLoadsAreRefused replays a file of 1 TiB without contents.
func TestLongDescriptionsOfLoadsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load.json")
	put(t, path, []byte("{}"))
	const size = 1 << 40
	if err := os.Truncate(path, size); err != nil {
		t.Skip(err)
	}
	refused(t, "a long description", path+": the file has "+fmt.Sprint(int64(size)), "load", path)
}

// TestMessagesDoNotControlTheTerminal puts escape sequences into the name of a file and into a model.
func TestMessagesDoNotControlTheTerminal(t *testing.T) {
	const evil = "a\x1b]0;title\x07\x1b[2J\u202e\u009b31m\xff"
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.mil")
	put(t, bad, []byte("program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1]> x) {\n        nonsense \x1b[2J \x07\n"))
	for _, args := range [][]string{{filepath.Join(dir, evil)}, {"dump", filepath.Join(dir, evil)}, {bad},
		{"check", bad},
		{"run", bad, "--input", evil + "=x.npy"}, {"--target", evil, bad}} {
		status, _, msg := call(t, args...)
		if status == statusOK || strings.ContainsFunc(msg, func(r rune) bool {
			return r != '\n' && r != '\t' && !unicode.IsPrint(r)
		}) || !utf8.ValidString(msg) {
			t.Errorf("%q: status %d, %q", args, status, msg)
		}
	}
	if s := printable("a\tb\n\u00e9\ufffd\x1b\xff"); s != "a\tb\n\u00e9\ufffd\\x1b\\xff" {
		t.Errorf("%q", s)
	}
}
