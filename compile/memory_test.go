package compile_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/target"
)

// exchanged are operations that can replace each other, in each row.
var exchanged = [][]string{
	{"add", "sub", "mul", "maximum", "minimum", "real_div"},
	{"relu", "sigmoid", "tanh", "silu", "exp", "square", "abs", "softplus"},
	{"reduce_sum", "reduce_mean", "reduce_max"},
	{"linear", "matmul"},
}

var (
	operation = regexp.MustCompile(`= ([a-z_]+)\(`)
	number    = regexp.MustCompile(`\b(0x[0-9a-f.]+p[-+][0-9]+|[0-9]+)\b`)
)

// edited changes a statement of a text at random: its operation, a number, or a name that it reads. The result may have
// errors.
func edited(r *rand.Rand, lines []string) []string {
	lines = append([]string(nil), lines...)
	for {
		i := r.IntN(len(lines))
		m := operation.FindStringSubmatchIndex(lines[i])
		if m == nil {
			continue
		}
		head, name, rest := lines[i][:m[2]], lines[i][m[2]:m[3]], lines[i][m[3]:]
		switch r.IntN(4) {
		case 0:
			at := number.FindAllStringIndex(rest, -1)
			if at == nil {
				continue
			}
			n := at[r.IntN(len(at))]
			rest = rest[:n[0]] + []string{"0", "1", "2", "3", "64", "0x1p-1"}[r.IntN(6)] + rest[n[1]:]
		case 1:
			j := r.IntN(len(lines))
			other := operation.FindStringSubmatchIndex(lines[j])
			if other == nil {
				continue
			}
			rest = lines[j][other[3]:] // the arguments of another
		default:
			row := -1
			for k, l := range exchanged {
				for _, x := range l {
					if x == name {
						row = k
					}
				}
			}
			if row < 0 {
				continue
			}
			name = exchanged[row][r.IntN(len(exchanged[row]))]
		}
		lines[i] = head + name + rest
		return lines
	}
}

// answer is what a check says of a text: the report, without the times of its stages, or an error.
func answer(t *testing.T, path, text string, memory *compile.Memory) string {
	t.Helper()
	m, err := frontend.Open(path, frontend.Options{Text: []byte(text), AssumeWeights: true})
	if err != nil {
		return err.Error()
	}
	defer m.Close()
	var r *compile.Report
	to := compile.Sink{Estimate: compile.To(&r)}
	o := compile.Options{Target: target.H13, Memory: memory}
	if err := compile.Compile(context.Background(), m.Program, o, to); err != nil {
		return err.Error()
	}
	r.Timings = nil
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMemoryChangesNoAnswer edits texts at random, one edit after another and now and then back to the beginning, and
// compares what a check says with the memory of the checks before with what it says without.
func TestMemoryChangesNoAnswer(t *testing.T) {
	for _, model := range []struct {
		name  string
		edits int
	}{
		{"silero-v6-fp16", testform.Of(10, 60, 1000)},
		{"whisper-tiny-encoder", testform.Of(4, 30, 500)},
		{"parakeet-eou-encoder-1280ms", testform.Of(1, 10, 300)},
	} {
		t.Run(model.name, func(t *testing.T) {
			path := filepath.Join(shareddir.Find(t), "corpus", model.name, frontend.TextName)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			first := strings.Split(string(text), "\n")
			lines, memory := first, compile.NewMemory(target.H13)
			r := rand.New(rand.NewPCG(1, uint64(len(text))))
			good := 0
			for i := range model.edits {
				next := edited(r, lines)
				text := strings.Join(next, "\n")
				got, want := answer(t, path, text, memory), answer(t, path, text, nil)
				if got != want {
					t.Fatalf("edit %d: with the memory\n%.2000s\nwithout\n%.2000s", i, got, want)
				}
				if strings.HasPrefix(want, "{") {
					good++
					lines = next
				}
				if i%20 == 19 {
					lines = first
				}
			}
			t.Logf("%d edits, %d of them without errors", model.edits, good)
		})
	}
}
