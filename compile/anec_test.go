package compile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/emit/anec"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irgen"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// converterEnv names a checkout of the converter (eiln/anecc), which needs a Python with construct.
const converterEnv = "ZINC_ANECC"

// converting runs the converter on containers: it prints the name of each that it refuses, and why.
const converting = `
import sys, json, logging
sys.path.insert(0, sys.argv[1])
from anecc import anecc_convert, anecc_compile
logging.disable()
out = {}
for path in sys.argv[2:]:
    try:
        anecc_compile(anecc_convert(path), path[:-4] + ".anec")
    except BaseException as e:
        out[path] = type(e).__name__ + " " + str(e)
print(json.dumps(out))
`

// driverOptions are options for containers that the converter reads.
func driverOptions() Options { return Options{Target: target.H13, FullTD: true, TextFirst: true} }

// anecContainers compiles recorded cases and generated programs in the form that the converter reads, and some in
// others.
func anecContainers(t *testing.T, random int) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	add := func(name string, p *ir.Program, o Options) {
		r, err := All(context.Background(), p, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if out[name], err = hwx.Encode(r.HWX); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range recordedCases(t, "h13") {
		m, err := frontend.Open(writtenCase(t, c), frontend.Options{})
		if err != nil {
			t.Logf("%s: %v", c.Case, err)
			continue
		}
		if i%10 == 0 { // the converter refuses these
			add(c.Case+"-current", ir.CloneProgram(m.Program), Options{Target: target.H13, SplitKernel: true})
			add(c.Case+"-joined", ir.CloneProgram(m.Program), Options{Target: target.H13, FullTD: true})
		}
		add(c.Case, m.Program, driverOptions())
		m.Close()
	}
	for n := range random {
		add(fmt.Sprintf("random-%d", n), irgen.Chain(n).IR, driverOptions())
	}
	return out
}

// TestContainersForTheDriver converts containers as the public converter does: the same bytes, and refusals where it
// refuses. Without the converter it checks that what is written can be read.
func TestContainersForTheDriver(t *testing.T) {
	dir := t.TempDir()
	all := anecContainers(t, 60)
	golden, err := filepath.Glob(filepath.Join(shareddir.Find(t), "golden", "apple-h13", "*.hwx"))
	if err != nil || len(golden) == 0 {
		t.Fatalf("no containers: %v", err)
	}
	for _, f := range golden {
		if all[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-c", converting, os.Getenv(converterEnv)}
	for name, data := range all {
		path := filepath.Join(dir, name+".hwx")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	refused := map[string]string{}
	converter := os.Getenv(converterEnv) != ""
	if converter {
		out, err := exec.Command("/usr/bin/python3", args...).Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := json.Unmarshal(out, &refused); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Logf("%s names no checkout of the converter: only what zinc writes is read again", converterEnv)
	}
	same, both, alone := 0, 0, 0
	for name, data := range all {
		path := filepath.Join(dir, name)
		f, err := anec.FromContainer(data)
		fault := (*anec.Error)(nil)
		if err != nil && !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got bytes.Buffer
		if err == nil {
			if _, err := f.WriteTo(&got); err != nil {
				t.Fatal(err)
			}
			if again, err := anec.Read(got.Bytes()); err != nil || again.Tasks != f.Tasks {
				t.Errorf("%s: what was written is not read: %v", name, err)
			}
		}
		if !converter {
			continue
		}
		want, _ := os.ReadFile(path + ".anec")
		switch why := refused[path+".hwx"]; {
		case err == nil && why != "":
			t.Errorf("%s: the converter refuses it, zinc does not: %s", name, why)
		case err == nil && !bytes.Equal(got.Bytes(), want):
			t.Errorf("%s: other bytes than the converter's", name)
		case err == nil:
			same++
		case why != "":
			t.Logf("%s: refused: %v (converter: %s)", name, err, why)
			both++
		default:
			t.Logf("%s: zinc alone refuses it: %v", name, err)
			alone++
		}
	}
	t.Logf("%d containers: %d the same, %d refused by both, %d by zinc alone", len(all), same, both, alone)
}
