package cli

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/internal/sarif/sariftest"
)

var update = flag.Bool("update", false, "rewrite the outputs that scripts compare with")

// factsDir lets the mutants of facts run scripts of single facts (internal/test/mutants/mutate).
var factsDir = flag.String("facts", filepath.Join("testdata", "facts"), "`FOLDER` of the scripts that TestFacts runs")

// mutantEnv has the number of the mutant that a mutated build runs as (internal/test/mutants/active).
const mutantEnv = "ZINC_MUTANT"

func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv(cacheEnv); !ok { // a script sets it for the zinc that it runs
		os.Setenv(cacheEnv, cacheOff) // a test must not use the user's cache
	}
	if os.Getenv("ZINC_PLANTED") != "" {
		wrongKernelMain()
	}
	if description := os.Getenv(crowdEnv); description != "" {
		crowdMain(description)
	}
	testscript.Main(m, map[string]func(){
		"zinc": func() { // as the command does
			memlimit.Start()
			os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// digits is the example model in the repository.
func digits(t testing.TB) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join("..", "..", "..", "examples", "digits"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestScripts runs testdata/script.
func TestScripts(t *testing.T) { runScripts(t, filepath.Join("testdata", "script")) }

// TestFacts runs testdata/facts: commands that show what the published chapters state. docs/seeds-coverage.md lists
// them.
func TestFacts(t *testing.T) {
	if testing.Short() {
		t.Skip("the commands that show the facts of the chapters take seconds")
	}
	runScripts(t, *factsDir)
}

// runScripts runs the scripts of a folder. Besides the commands of testscript there are
//
//	status N COMMAND ARG...    run a command that must exit with N
//	same FILE FILE             compare two files byte for byte
//	cut FILE BYTES OUT         write the first bytes of a file to another
//	empty FOLDER               check that a folder holds nothing
//	spoil FOLDER               change the last byte of every file in a folder
//	sarif FILE                 check that a file is a SARIF log
//	serve SOCKET ARG...        run zinc serve beside the script, to its end
//	blocks FILE                split what dump --task printed: a file for each block of registers, NAME.block,
//	                           task.block for the lines before them, and blocks.txt with all the names
//
// and $DIGITS is the folder of the example model, $UID the user, $NET a network description of one unit, $OPSMD the
// document of operations, $MODELS the folder of the small models of the simulated runtime.
func runScripts(t *testing.T, folder string) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts: %v", len(scripts), err)
	}
	for _, s := range scripts {
		b, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b, []byte("status ")) && !bytes.Contains(b, []byte("exec ")) {
			t.Errorf("%s runs no command", s)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir:                 folder,
		ContinueOnError:     folder == *factsDir, // they do not depend on each other
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("DIGITS", digits(t))
			e.Setenv("UID", strconv.Itoa(os.Getuid()))
			e.Setenv(cacheEnv, cacheOff) // a test must not use the user's cache
			if n := os.Getenv(mutantEnv); n != "" {
				e.Setenv(mutantEnv, n)
			}
			for name, path := range map[string][]string{
				"OPSMD":  {"..", "..", "..", "docs", "ops.md"},
				"NET":    {"testdata", "net.plist"},
				"MODELS": {"..", "..", "..", "runtime", "sim", "stack", "e5rt", "testdata"},
			} {
				abs, err := filepath.Abs(filepath.Join(path...))
				if err != nil {
					return err
				}
				e.Setenv(name, abs)
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": status, "same": same, "cut": cut, "empty": empty, "sarif": checkSARIF, "spoil": spoil,
			"blocks": blocks, "foreign": foreignTypes, "serve": serve,
		},
	})
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same FILE FILE")
	}
	if equal := ts.ReadFile(args[0]) == ts.ReadFile(args[1]); equal == neg {
		ts.Fatalf("%s and %s: same is %v", args[0], args[1], equal)
	}
}

func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut FILE BYTES OUT")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	b := ts.ReadFile(args[0])
	if n >= len(b) {
		ts.Fatalf("%s has only %d bytes", args[0], len(b))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(b[:n]), 0o666))
}

func empty(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: empty FOLDER")
	}
	es, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(es) > 0 {
		ts.Fatalf("%s holds %v", args[0], es)
	}
}

// foreignTypes adds to a descriptor an operation of each type that zinc reads and does not write.
func foreignTypes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: foreign OUT FILE")
	}
	p, err := e5.Read([]byte(ts.ReadFile(args[1])))
	ts.Check(err)
	f := &p.Functions[0]
	for _, a := range []e5.Attrs{
		&e5.EirInferenceAttrs{}, &e5.BnnsCpuInferenceAttrs{}, &e5.MlcCpuInferenceAttrs{}, &e5.MpsGraphInferenceAttrs{},
		&e5.E5MinimalCpuAttrs{},
		&e5.QuantAttrs{SrcDType: e5.FP16, DstDType: e5.Int8, Scales: []float32{1}, ZeroPoints: []int32{0}},
		&e5.DequantAttrs{SrcDType: e5.Int8, DstDType: e5.FP16, Scales: []float32{1}, ZeroPoints: []int32{0}},
		&e5.BarrierAttrs{Events: []uint32{7}}, &e5.JitCallAttrs{Symbol: "kernel"},
	} {
		f.AddOp(f.Outputs, nil, a)
	}
	p.Symbols = nil
	b, err := e5.Bytes(p)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o666))
}

func spoil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: spoil FOLDER")
	}
	es, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range es {
		path := filepath.Join(ts.MkAbs(args[0]), e.Name())
		b := []byte(ts.ReadFile(path))
		b[len(b)-1] ^= 1
		ts.Check(os.WriteFile(path, b, 0o666))
	}
}

func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serve SOCKET ARG...")
	}
	bin := filepath.SplitList(ts.Getenv("PATH"))[0]
	cmd := exec.Command(filepath.Join(bin, "zinc"), append([]string{"serve", "--socket", args[0]}, args[1:]...)...)
	cmd.Dir = ts.MkAbs(".")
	messages, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewScanner(messages)
	if !lines.Scan() || !strings.Contains(lines.Text(), "serving on") {
		ts.Fatalf("zinc serve: %q, %v", lines.Text(), cmd.Wait())
	}
	ts.Defer(func() {
		cmd.Process.Signal(os.Interrupt)
		for lines.Scan() {
			ts.Logf("zinc serve: %s", lines.Text())
		}
		if err := cmd.Wait(); err != nil {
			ts.Logf("zinc serve: %v", err)
		}
	})
}

func checkSARIF(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: sarif FILE")
	}
	if err := sariftest.Check([]byte(ts.ReadFile(args[0]))); (err == nil) == neg {
		ts.Fatalf("%s: %v", args[0], err)
	}
}

// blockLine is the first line of a block of registers, in the text of a task.
var blockLine = regexp.MustCompile(`(?m)^  ([A-Z]\w*): `)

func blocks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: blocks FILE")
	}
	text, names := ts.ReadFile(args[0]), ""
	name, start := "task", 0
	end := func(at int) {
		ts.Check(os.WriteFile(ts.MkAbs(name+".block"), []byte(text[start:at]), 0o666))
		names += name + "\n"
	}
	for _, m := range blockLine.FindAllStringSubmatchIndex(text, -1) {
		end(m[0])
		name, start = text[m[2]:m[3]], m[0]
	}
	end(len(text))
	ts.Check(os.WriteFile(ts.MkAbs("blocks.txt"), []byte(names), 0o666))
}
