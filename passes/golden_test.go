package passes_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

var update = flag.Bool("update", false, "rewrite the golden files from what the passes do")

// options returns the real rules and the estimates of package cost for their tasks.
func options() passes.Options {
	engine := &lower.Estimator{
		Task: func(t *td.Task) int64 { return int64(cost.Estimate(t, target.H13).Time) },
		Constants: func(s lower.Stream) int64 {
			return int64(cost.Coefficients(cost.Stream{Bytes: s.Bytes, Expanded: s.Expanded, Values: s.Values},
				target.H13))
		},
	}
	return passes.Options{
		Target:  target.H13,
		Accept:  lower.NewAcceptor(target.H13, engine).Accept,
		CanFuse: lower.CanFuse,
		// A dispatch takes 190 us, and the CPU moves a gigabyte per second.
		CPUTime:      func(op *ir.Op) int64 { return op.Results[0].Type.Bytes() },
		DispatchTime: func(int64, int64) int64 { return 190_000 },
	}
}

// TestPassesMatchGolden runs the passes that the first line of each archive's comment names ("all" for the whole list;
// precision=fp16, place=engine and func=NAME are options) on the program "in", and compares the program afterwards with
// "out". Archives with "steps" also contain the results of partition and fuse-epilogue; those with "error" contain what
// the passes refuse.
func TestPassesMatchGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	covered := map[string]bool{}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(ar.Files) < 2 || ar.Files[0].Name != "in" {
				t.Fatalf("%s needs in and a result", name)
			}
			p, err := ir.Parse("in", ar.Files[0].Data, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := ir.Verify(p); err != nil {
				t.Fatal(err)
			}
			o := options()
			var names []string
			first, _, _ := strings.Cut(string(ar.Comment), "\n")
			for _, w := range strings.Fields(first) {
				switch k, v, set := strings.Cut(w, "="); {
				case k == "precision":
					o.Precision = v
				case k == "place" && set:
					o.Place = v
				case k == "func":
					o.Func = v
				case w == "all":
					names = passes.Names()
				default:
					names = append(names, w)
					covered[w] = true
				}
			}
			s, runErr := passes.RunSome(p, o, names...)
			for i := range ar.Files[1:] {
				f := &ar.Files[1+i]
				var got string
				switch f.Name {
				case "out":
					if runErr != nil {
						t.Fatal(runErr)
					}
					var b bytes.Buffer
					if err := ir.Print(&b, p); err != nil {
						t.Fatal(err)
					}
					if err := ir.Verify(p); err != nil {
						t.Errorf("the program is not sound afterwards: %v", err)
					}
					got = b.String()
				case "steps":
					if runErr != nil {
						t.Fatal(runErr)
					}
					got = printSteps(s)
				case "error":
					if runErr == nil {
						t.Fatal("no error")
					}
					got = runErr.Error() + "\n"
				default:
					t.Fatalf("%s has a file %q", name, f.Name)
				}
				if *update {
					f.Data = []byte(got)
				} else if got != string(f.Data) {
					t.Errorf("%s is\n%s\nwant\n%s", f.Name, got, f.Data)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(ar), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for _, n := range passes.Names() {
		if !covered[n] {
			t.Errorf("no golden file runs pass %s", n)
		}
	}
}

// printSteps writes steps and which operations are fused into which, by first results.
func printSteps(s *passes.State) string {
	var b strings.Builder
	names := func(vs []*ir.Value) string {
		var ns []string
		for _, v := range vs {
			ns = append(ns, v.Name)
		}
		return strings.Join(ns, ", ")
	}
	for _, st := range s.Partitions {
		fmt.Fprintf(&b, "%s: %s -> %s\n", st.Unit, names(st.Inputs), names(st.Outputs))
		for _, op := range st.Ops {
			fmt.Fprintf(&b, "  %s %s", op.Def.Name, names(op.Results))
			for _, e := range s.Fused[op] {
				fmt.Fprintf(&b, ", then %s", e.Def.Name)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// TestListDescribesEveryPass checks that the list states what every pass does and why it is in its place.
func TestListDescribesEveryPass(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range passes.List {
		if p.Name == "" || p.Doc == "" || p.Why == "" {
			t.Errorf("pass %+v lacks a name, a description or a reason", p)
		}
		if seen[p.Name] {
			t.Errorf("two passes are called %s", p.Name)
		}
		seen[p.Name] = true
		if !passes.Known(p.Name) {
			t.Errorf("%s is not known", p.Name)
		}
	}
	if !passes.Known("all") || passes.Known("none such") {
		t.Error("all is known, none such is not")
	}
	// Passes whose reasons name each other.
	order := [][2]string{
		{"select-function", "resolve-shapes"}, {"convert-precision", "keep-reference"},
		{"convert-precision", "fold-constants"},
		{"fold-constants", "canonicalise"}, {"canonicalise", "fold-scale-bias"}, {"fold-scale-bias", "place"},
		{"decompose", "place"}, {"drop-dead-code", "place"}, {"place", "fuse-epilogue"}, {"fuse-epilogue", "partition"},
	}
	at := map[string]int{}
	for i, n := range passes.Names() {
		at[n] = i
	}
	for _, o := range order {
		if at[o[0]] >= at[o[1]] {
			t.Errorf("%s must stand before %s", o[0], o[1])
		}
	}
}

const small = `program "1.3"

func %main "ios18"(%x: tensor<fp16, [1, 8]>) {
  %a: tensor<fp16, [1, 8]> = relu(x = %x)
  %b: tensor<fp16, [1, 8]> = relu(x = %a)
  return %b
}
`

// TestProgramsArePrintedAfterPasses checks printing after named passes and after those that change the program.
func TestProgramsArePrintedAfterPasses(t *testing.T) {
	run := func(change func(o *passes.Options)) string {
		p, err := ir.Parse("in", []byte(small), nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		o := options()
		o.Log, o.VerifyEach = &b, true
		change(&o)
		s, err := passes.Run(context.Background(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Timings) != len(passes.List) {
			t.Errorf("%d timings of %d passes", len(s.Timings), len(passes.List))
		}
		return b.String()
	}
	if got := run(func(o *passes.Options) {}); got != "" {
		t.Errorf("prints without being asked:\n%s", got)
	}
	got := run(func(o *passes.Options) { o.PrintAfter = []string{"place"} })
	if strings.Count(got, "// after") != 1 || !strings.Contains(got, `on engine "relu" ""`) {
		t.Errorf("after place:\n%s", got)
	}
	if got := run(func(o *passes.Options) {
		o.PrintAfter = []string{"all"}
	}); strings.Count(got, "// after") != len(passes.List) {
		t.Errorf("all:\n%s", got)
	}
	got = run(func(o *passes.Options) { o.PrintChanged = true })
	if strings.Count(got, "// after") != len(passes.List) || strings.Count(got, "unchanged") != len(passes.List)-2 {
		t.Errorf("changed:\n%s", got)
	}
}

// TestCancelStopsBetweenPasses also checks the error.
func TestCancelStopsBetweenPasses(t *testing.T) {
	p, err := ir.Parse("in", []byte(small), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := passes.Run(ctx, p, options()); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}
