package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// TestInternalErrorWritesReproducer checks that an internal error, from a check of the pair or a
// panic, sets exit status 3 and leaves a folder from which the model compiles again.
func TestInternalErrorWritesReproducer(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	model := filepath.Join(digits(t), "digits.mlmodelc")
	for _, c := range []struct {
		fault error
		text  string
	}{
		{
			&compile.FaultError{Check: "the hazard check", Where: "y = conv", Err: errors.New("task 1")},
			"y = conv: task 1",
		},
		{guarded(func() error { panic("two and two") }), "reproducer_test.go"},
	} {
		var msg bytes.Buffer
		e := &env{err: &msg, diagnostics: "text", subject: &subject{args: []string{"verify", model}}}
		m, err := (&compileFlags{}).open(e, model)
		if err != nil {
			t.Fatal(err)
		}
		want := len(m.Program.Funcs[0].Body.Ops)
		m.Close()
		if status := e.fail(c.fault); status != statusInternal {
			t.Errorf("status %d, want %d", status, statusInternal)
		}
		made, err := filepath.Glob(filepath.Join(temp, "zinc-fault-*"))
		if err != nil || len(made) != 1 || !strings.Contains(msg.String(), made[0]) {
			t.Fatalf("%v, %v; message %q", made, err, &msg)
		}
		note, err := os.ReadFile(filepath.Join(made[0], faultText))
		if err != nil {
			t.Fatal(err)
		}
		again := "zinc reduce " + made[0] + " --predicate 'zinc verify {}' --interesting-exit nonzero -o " +
			filepath.Join(made[0], "reduced.mil") + "\n"
		for _, s := range []string{"zinc verify " + model + "\n", again, c.text, compile.Version} {
			if !strings.Contains(string(note), s) {
				t.Errorf("%q is not in %s:\n%s", s, faultText, note)
			}
		}
		if m, err = frontend.Open(made[0], frontend.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := len(m.Program.Funcs[0].Body.Ops); got != want {
			t.Errorf("%d operations, want %d", got, want)
		}
		if _, err := compile.All(context.Background(), m.Program, compile.Options{Target: target.H13}); err != nil {
			t.Error(err)
		}
		m.Close()
		if err := os.RemoveAll(made[0]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReproducerWithoutModel checks that the folder says so if the model cannot be read again, and
// that a command that did not open a model leaves no folder.
func TestReproducerWithoutModel(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := &subject{path: filepath.Join(t.TempDir(), "gone.mil")}
	dir := s.reproducer(errors.New("fault"))
	note, err := os.ReadFile(filepath.Join(dir, faultText))
	if err != nil || !strings.Contains(string(note), "gone.mil was not copied") {
		t.Errorf("%v, %q", err, note)
	}
	for _, s := range []*subject{nil, {}} {
		if dir := s.reproducer(errors.New("fault")); dir != "" {
			t.Errorf("a reproducer without a model: %s", dir)
		}
	}
}

// onlyReproducer returns the one reproducer in a folder of temporary files.
func onlyReproducer(t *testing.T, temp string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(temp, "zinc-fault-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	return found[0]
}

// TestPanicInPassLeavesResumableIRText makes the folding of an operation panic: the reproducer
// resumes at the failing pass with the same panic, and without the panic compiles to the same
// bytes as the model.
func TestPanicInPassLeavesResumableIRText(t *testing.T) {
	temp, dir := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Chdir(dir)
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 8, 4, 4]> x) {
            tensor<fp16, [1, 8, 1, 1]> k = const()[val = tensor<fp16, [1, 8, 1, 1]>([1, 2, 3, 4, 5, 6, 7, 8])];
            tensor<fp16, [1, 8, 1, 1]> h = tanh(x = k)[name = string("h")];
            tensor<fp16, [1, 8, 4, 4]> y = add(x = x, y = h)[name = string("y")];
        } -> (y);
}
`
	if err := os.WriteFile("m.mil", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	zinc := func(args ...string) (status int, message string) {
		var out, msg bytes.Buffer
		status = Main(args, strings.NewReader(""), &out, &msg)
		return status, msg.String()
	}
	if status, msg := zinc("m.mil", "--td-form=full", "-o", "direct.hwx"); status != statusOK {
		t.Fatalf("status %d: %s", status, msg)
	}

	row := ir.Forms("tanh")[0]
	fold := row.Fold
	row.Fold = func(*ir.Op) ([]*ir.Const, error) { panic("injected") }
	defer func() { row.Fold = fold }()
	const fault = "pass fold-constants on function main: injected"
	if status, msg := zinc("m.mil", "--td-form=full", "-o", "x.hwx"); status != statusInternal ||
		!strings.Contains(msg, fault) {
		t.Fatalf("status %d: %s", status, msg)
	}
	folder := onlyReproducer(t, temp)
	note, err := os.ReadFile(filepath.Join(folder, faultText))
	if err != nil || !strings.Contains(string(note), "zinc before-fold-constants.ir --from=fold-constants -o") ||
		!strings.Contains(string(note), fault) {
		t.Errorf("%v\n%s", err, note)
	}
	resume := []string{filepath.Join(folder, "before-fold-constants.ir"), "--from=fold-constants", "--td-form=full",
		"-o", "resumed.hwx"}
	if status, msg := zinc(resume...); status != statusInternal || !strings.Contains(msg, fault) {
		t.Errorf("resumed with the fault: status %d: %s", status, msg)
	}
	row.Fold = fold
	if status, msg := zinc(resume...); status != statusOK {
		t.Fatalf("resumed: status %d: %s", status, msg)
	}
	sameContents(t, "direct.hwx", "resumed.hwx")
}

// TestBackendFaultLeavesResumableIRText checks that, if a check refuses the pair, the program after
// all passes is written.
func TestBackendFaultLeavesResumableIRText(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	model := filepath.Join(digits(t), "digits.mlmodelc")
	t.Chdir(t.TempDir())
	e := &env{err: io.Discard, diagnostics: "text", subject: &subject{}}
	flags := compileFlags{target: "h13"}
	m, err := flags.open(e, model)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flags.compile(t.Context(), e, m, (*compile.Result).All); err != nil {
		t.Fatal(err)
	}
	m.Close()
	e.fail(&compile.FaultError{Check: "the hazard check", Err: errors.New("task 1")})
	for _, args := range [][]string{
		{model, "-o", "direct.hwx"},
		{filepath.Join(onlyReproducer(t, temp), beforeBackend), "-o", "resumed.hwx"},
	} {
		if status := Main(args, strings.NewReader(""), io.Discard, io.Discard); status != statusOK {
			t.Fatalf("%v: status %d", args, status)
		}
	}
	sameContents(t, "direct.hwx", "resumed.hwx")
}

func sameContents(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ", a, b)
	}
}
