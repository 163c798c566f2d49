package docs

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zinc-compiler/zinc/"

// wall says what a package must not depend on, directly or not. A folder's
// name stands for the packages below it as well; "*" is every package of zinc.
type wall struct {
	pkg    string
	never  []string
	except []string
	why    string
}

var walls = []wall{
	{pkg: "lower/td", never: []string{"*"},
		why: "compiler and engine share the bytes of a task and its field names, and nothing else"},
	{pkg: "runtime/sim/engine", never: []string{"*"}, except: []string{"lower/td"},
		why: "it knows registers and bytes alone, so a wrong lowering cannot be hidden by the same mistake in the " +
			"engine"},
	{pkg: "runtime/sim/interp", never: []string{"lower", "layout", "emit", "passes", "runtime/sim/engine"},
		why: "the second opinion must not share code with the first"},
	{pkg: "runtime/sim/stack/translation", never: []string{"*"},
		why: "an address unit alone: buffers in, bytes behind addresses out"},
	{pkg: "runtime/sim/stack/protocol", never: []string{"*"},
		why: "messages alone: what the firmware knows of programs is asked through an interface"},
	{pkg: "runtime/sim/stack", never: []string{"frontend", "passes", "lower", "layout", "compile"},
		except: []string{"lower/td"}, why: "a machine gets bytes; its maker passes it a function that compiles"},
	{pkg: "runtime/sim/stack/trace", never: []string{"*"}, why: "every layer tells its steps through it"},
	{pkg: "runtime/sim/stack/inject", never: []string{"*"}, why: "every layer asks it for faults"},
	{pkg: "numerics", never: []string{"*"},
		why: "scalars alone; engine-side and interpreter-side code may both be measured by it"},
	{pkg: "internal/diag", never: []string{"*"}, why: "whatever holds a source position may import it"},
	{pkg: "frontend/mil", never: []string{"*"}, except: []string{"internal/diag"},
		why: "syntax alone: no names, no types, no files"},
	{pkg: "frontend/blobfile", never: []string{"*"}, why: "a file format alone"},
	{pkg: "frontend/netplist", never: []string{"*"}, except: []string{"ir", "numerics"},
		why: "a description is read from its bytes and its weight files alone"},
	{pkg: "ir", never: []string{"frontend", "passes", "lower", "layout", "emit", "compile", "runtime", "target"},
		why: "the form between the parts belongs to none of them"},
	{pkg: "frontend", never: []string{"passes", "lower", "layout", "emit", "compile", "runtime", "target"},
		why: "reading a model does not depend on what it is compiled for"},
	{pkg: "passes", never: []string{"frontend", "lower", "layout", "emit", "compile", "runtime"},
		why: "what the engine takes is asked through Options.Accept and Options.CanFuse"},
	{pkg: "layout/weights", never: []string{"*"}, why: "constants as plain bytes in, bytes out"},
	{pkg: "lower", never: []string{"frontend", "passes", "emit", "compile", "runtime", "lower/attest"},
		why: "a rule never sees the simulator, nor how its tasks are filed, nor which of them recorded programs " +
			"vouch for"},
	{pkg: "cost", never: []string{"*"}, except: []string{"lower/td", "target"},
		why: "an estimate follows from registers, so that any program can have one"},
	{pkg: "report", never: []string{"frontend", "runtime", "verify", "cmd/zinc/cli"},
		why: "every form shows the report that it is given; it runs and reads nothing"},
	{pkg: "emit/hwx", never: []string{"*"}, why: "tasks are bytes to the container"},
	{pkg: "emit/hazard", never: []string{"*"}, except: []string{"emit/hwx", "lower/td"},
		why: "it derives addresses anew, so that it shares no mistake with lowering or engine"},
	{pkg: "emit/e5", never: []string{"*"}, except: []string{"emit/e5/internal/fb"},
		why: "the descriptor knows names and layouts, no graph"},
	{pkg: "emit/afpp", never: []string{"*"}, except: []string{"lower/td"},
		why: "a file format alone, whose records and register groups are those that tasks are split into"},
	{pkg: "pair", never: []string{"*"}, except: []string{"internal/atomicfile", "internal/regularfile"},
		why: "whatever handles compiled models may import it; it reads no format"},
	{pkg: "cache", never: []string{"*"}, except: []string{"pair", "internal/atomicfile", "internal/regularfile"},
		why: "files and digests alone: what compiles is its callers' to say"},
	{pkg: "patch", never: []string{"frontend", "passes", "lower", "compile", "runtime", "verify", "cmd/zinc/cli"},
		except: []string{"lower/td"}, why: "a pair is patched from its bytes and its debug database, by nothing " +
			"that could compile it"},
	{pkg: "internal/manpage", never: []string{"*"}, why: "a tree of commands in, text out"},
	{pkg: "provenance", never: []string{"*"},
		why: "names, lines and offsets alone: who asks where a byte came from needs no compiler"},
	{pkg: "runtime/sim/stack/loader", never: []string{"*"}, except: []string{"emit/hwx", "emit/afpp", "lower/td",
		"runtime/sim/stack/translation"}, why: "bytes of a container in, mapped memory out: no graph, no engine"},
	{pkg: "runtime/sim/stack/broker", never: []string{"*"}, except: []string{"runtime/sim/stack/driver",
		"runtime/sim/stack/coprocessor", "runtime/sim/stack/loader", "runtime/sim/stack/protocol",
		"runtime/sim/stack/translation", "runtime/sim/stack/firmware", "runtime/sim/engine", "runtime/sim/stack/trace",
		"runtime/sim/stack/inject", "emit/hwx", "emit/afpp", "lower/td"},
		why: "the driver, what it stands on, and the container's format: compiling is given to it as a function"},
	{pkg: "runtime/sim/stack/firmware", never: []string{"*"},
		why: "queues, slots and states alone; what they carry is bytes"},
	{pkg: "verify", never: []string{"frontend", "reduce", "compare", "cmd/zinc/cli"},
		why: "it judges programs, however they were opened or made smaller"},
	{pkg: "toolchain", never: []string{"*"}, except: []string{"internal/procgroup"},
		why: "another version is an executable with flags and files; what is in them is its callers' to say"},
	{pkg: "compare", never: []string{"reduce", "cmd/zinc/cli"},
		why: "it judges models and pairs, however they were made"},
	{pkg: "reduce", never: []string{"cmd/zinc/cli"}, why: "a predicate may be a function as well as a command"},
	{pkg: "explain", never: []string{"cmd/zinc/cli", "report"},
		why: "an answer is facts; how they are shown beside others is not its business"},
	{pkg: "runtime/sim/stack/coprocessor", never: []string{"frontend", "passes", "lower", "layout", "emit", "compile",
		"ir", "runtime"}, except: []string{"lower/td", "emit/afpp", "runtime/sim/stack/firmware",
		"runtime/sim/stack/protocol", "runtime/sim/stack/translation", "runtime/sim/engine", "runtime/sim/stack/trace",
		"runtime/sim/stack/inject"}, why: "a container's bytes are all that the controller knows of a program"},
	{pkg: "runtime/sim/stack/driver", never: []string{"frontend", "passes", "lower", "layout", "emit", "compile", "ir",
		"runtime/sim/interp"}, except: []string{"lower/td", "emit/hwx", "emit/afpp"},
		why: "the kernel knows containers and messages, never what they were compiled from"},
	{pkg: "lint", never: []string{"frontend", "cmd/zinc/cli"},
		why: "it judges programs by their operations and by running them, whatever file they came from"},
	{pkg: "runtime/sim", never: []string{"frontend", "passes", "lower", "layout", "compile"},
		except: []string{"lower/td"}, why: "it runs bytes, never the graph they were compiled from"},
	{pkg: "explore", never: []string{"cmd/zinc/cli"}, why: "a page over what the compiler gives and the bytes that " +
		"it wrote, which the simulator runs; commands stand above it"},
	{pkg: "runtime/sim/stack/e5rt", never: []string{"frontend", "passes", "lower", "layout", "compile"},
		except: []string{"lower/td"}, why: "the compiler is a function that the caller gives; what runs is bytes"},
}

// under reports whether a package is one of the folders' or below them.
func under(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		return f == "*" || pkg == f || strings.HasPrefix(pkg, f+"/")
	})
}

// TestWalls asks the go command what each package depends on.
func TestWalls(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	deps := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fs := strings.Fields(line)
		var own []string
		for _, f := range fs[1:] {
			if p, ok := strings.CutPrefix(f, module); ok {
				own = append(own, p)
			}
		}
		deps[strings.TrimPrefix(fs[0], module)] = own
	}
	for _, w := range walls {
		have, ok := deps[w.pkg]
		if !ok {
			t.Errorf("%s: no such package", w.pkg)
		}
		for _, d := range have {
			if under(d, w.never) && !under(d, w.except) {
				t.Errorf("%s depends on %s: %s", w.pkg, d, w.why)
			}
		}
	}
}

func writeWalls(w *bytes.Buffer) {
	head(w, "package", "never depends on", "because")
	for _, x := range walls {
		never := quoted(x.never)
		if x.never[0] == "*" {
			never = "any package of zinc"
		}
		if x.except != nil {
			never += ", but for " + quoted(x.except)
		}
		row(w, "`"+x.pkg+"`", never, x.why)
	}
}
