package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

const watched = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 1, 32]> x) {
        tensor<fp16, [1, 4, 1, 32]> y = relu(x = x);
    } -> (y);
}
`

// TestWatchShowsWhatAnEditChanges breaks a model that is watched, and mends it with another operation.
func TestWatchShowsWhatAnEditChanges(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.mil")
	edit := func(op string) func() {
		return func() { put(t, model, []byte(strings.Replace(watched, "relu", op, 1))) }
	}
	for _, json := range []bool{false, true} {
		edit("relu")()
		out := &trigger{text: "a call; ", f: edit("nosuch")}
		msg := &trigger{text: "unknown operation nosuch", f: edit("sigmoid")}
		args := []string{"watch", model, "--changes", "2"}
		if json { // which begins with the first change
			args = append(args, "--json", "--progress")
			out.f, msg.text, msg.f = nil, "lower: 1 of 1", edit("sigmoid")
			args[3] = "1"
		}
		// Without the buffer's WriteString, which would pass the trigger by.
		status := run(context.Background(), args, strings.NewReader(""), out, struct{ io.Writer }{msg})
		if status != 0 {
			t.Errorf("%q: status %d: %s", args, status, msg)
		}
		for _, want := range map[bool][]string{
			false: {"\nA: before, h13\nB: now, h13\n", "operation: relu -> sigmoid"},
			true:  {`"schema": 1`, "relu", "sigmoid"},
		}[json] {
			if strings.Count(out.String(), want) == 0 {
				t.Errorf("%q does not print %q:\n%s%s", args, want, out, msg)
			}
		}
	}
}

// TestInterruptEndsWatch interrupts it while it waits, which is how it ends.
func TestInterruptEndsWatch(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.mil")
	put(t, model, []byte(watched))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, msg := &trigger{text: "a call; ", f: cancel}, &trigger{}
	if status := run(ctx, []string{"watch", model}, strings.NewReader(""), out, msg); status != 0 || msg.Len() > 0 {
		t.Errorf("status %d: %s", status, msg)
	}
	for _, args := range [][]string{{"watch", "-"}, {"watch", model, "--changes", "-1"}} {
		if status, _, _ := call(t, args...); status != statusUsage {
			t.Errorf("%q: status %d, want %d", args, status, statusUsage)
		}
	}
	if status, _, msg := call(t, "watch", model+".none"); status != statusInput {
		t.Errorf("of a missing model: status %d: %s", status, msg)
	}
}
