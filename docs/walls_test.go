package docs

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zinc-compiler/zinc/"

// wall says what a package must not depend on, directly or not. A folder's name includes the packages below it; "*" is
// every package of zinc.
type wall struct {
	pkg    string
	never  []string
	except []string
	why    string
}

// anywhere are the packages that every wall lets through.
var anywhere = []string{"internal/node", "internal/locked"}

var walls = []wall{
	{pkg: anywhere[0], never: []string{"*"},
		why: "a tree of names and values, with which every reader may describe what it read"},
	{pkg: anywhere[1], never: []string{"*"}, why: "variables under a lock, which every package may have"},
	{pkg: "lower/td", never: []string{"*"},
		why: "compiler and engine share the bytes of a task and its field names, and nothing else"},
	{pkg: "runtime/sim/engine", never: []string{"*"}, except: []string{"lower/td", "numerics/vector", "numerics/field",
		"runtime/sim/engine/port"},
		why: "it knows registers and bytes alone, so a wrong lowering cannot be hidden by the same mistake in the " +
			"engine; it adds and converts rows of numbers with the kernels that the interpreter uses"},
	{pkg: "runtime/sim/engine/port", never: []string{"*"}, except: []string{"numerics/vector"},
		why: "rows of numbers and the special values of the engine, which nothing else has"},
	{pkg: "analysis/prove", never: []string{"frontend", "passes", "lower", "layout", "compile", "analysis/verify",
		"cmd/zinc/cli"},
		except: []string{"lower/td"},
		why:    "it checks the compiler, and so shares none of its rules"},
	{pkg: "runtime/sim/exact", never: []string{"frontend", "passes", "lower", "layout", "emit", "compile",
		"analysis/prove"},
		except: []string{"lower/td"},
		why:    "it says what a program means, which neither the compiler nor the prover may change"},
	{pkg: "numerics/field", never: []string{"*"}, why: "arithmetic only, which engine and prover use alike"},
	{pkg: "runtime/sim/interp", never: []string{"lower", "layout", "emit", "passes", "runtime/sim/engine"},
		why: "the reference must not share code with what it checks"},
	{pkg: "runtime/sim/stack/translation", never: []string{"*"},
		why: "address translation only: buffers in, bytes at addresses out"},
	{pkg: "runtime/sim/stack/protocol", never: []string{"*"}, except: []string{"runtime/sim/stack/wire"},
		why: "messages only: an interface supplies what the firmware knows about programs"},
	{pkg: "runtime/sim/stack", never: []string{"frontend", "passes", "lower", "layout", "compile"},
		except: []string{"lower/td"}, why: "a machine gets bytes; its creator passes it a function that compiles"},
	{pkg: "runtime/sim/stack/trace", never: []string{"*"}, except: []string{"internal/chrometrace"},
		why: "every layer reports its steps through it"},
	{pkg: "runtime/sim/stack/inject", never: []string{"*"}, why: "every layer takes faults from it"},
	{pkg: "numerics/vector", never: []string{"*"},
		why: "arithmetic on rows of numbers only, which compilers, engine and interpreter may use alike"},
	{pkg: "numerics", never: []string{"*"}, except: []string{"numerics/vector"},
		why: "scalars only; it may measure engine-side and interpreter-side code alike"},
	{pkg: "internal/diag", never: []string{"*"}, why: "anything with a source position may import it"},
	{pkg: "internal/flattable", never: []string{"*"}, why: "a file format is a table passed to it"},
	{pkg: "frontend/mil", never: []string{"*"}, except: []string{"internal/diag", "internal/slab"},
		why: "syntax only: no names, types or files"},
	{pkg: "frontend/blobfile", never: []string{"*"}, except: []string{"internal/mapfault"}, why: "only a file format"},
	{pkg: "frontend/netplist", never: []string{"*"}, except: []string{"ir", "numerics", "numerics/vector",
		"internal/mapfault", "internal/slab"},
		why: "a description is read from its bytes and its weight files only"},
	{pkg: "ir", never: []string{"frontend", "passes", "lower", "layout", "emit", "compile", "runtime", "target"},
		why: "the intermediate form is independent of what reads and writes it"},
	{pkg: "frontend", never: []string{"passes", "lower", "layout", "emit", "compile", "runtime", "target"},
		why: "reading a model does not depend on what it is compiled for"},
	{pkg: "passes", never: []string{"frontend", "lower", "layout", "emit", "compile", "runtime"},
		why: "Options.Accept and Options.CanFuse say what the engine accepts"},
	{pkg: "layout/weights", never: []string{"*"}, except: []string{"internal/mapfault", "internal/sha256x2",
		"numerics/vector"},
		why: "plain bytes of constants in, packed bytes out"},
	{pkg: "lower", never: []string{"*"}, except: []string{"ir", "target", "layout/weights", "lower/td", "numerics",
		"numerics/vector", "internal/diag", "internal/mapfault", "internal/sha256x2", "internal/slab"},
		why: "a rule never sees the simulator, nor the container of its tasks, nor which of them recorded programs " +
			"confirm, nor what they cost"},
	{pkg: "compile/cost", never: []string{"*"}, except: []string{"lower/td", "target"},
		why: "an estimate is computed from registers, so any program can have one"},
	{pkg: "inspect/report", never: []string{"frontend", "analysis/verify", "cmd/zinc/cli"},
		why: "every format shows the report passed to it; it reads no model and runs none"},
	{pkg: "emit/hwx", never: []string{"*"}, except: []string{"target"},
		why: "tasks are bytes to the container, and a table of numbers says for which machine"},
	{pkg: "emit/hazard", never: []string{"*"}, except: []string{"emit/hwx", "lower/td", "target"},
		why: "it derives addresses itself, so that it shares no mistake with lowering or the engine"},
	{pkg: "emit/e5", never: []string{"*"}, except: []string{"internal/flattable"},
		why: "the descriptor has names and layouts, but no graph"},
	{pkg: "emit/afpp", never: []string{"*"}, except: []string{"lower/td"},
		why: "only a file format, whose records and register groups are those that tasks are split into"},
	{pkg: "compile/pair", never: []string{"*"}, except: []string{"internal/atomicfile", "internal/regularfile",
		"internal/filename", "internal/memlimit"},
		why: "any package that handles compiled models may import it; it parses no format"},
	{pkg: "compile/cache", never: []string{"*"}, except: []string{"compile/pair", "internal/atomicfile",
		"internal/regularfile",
		"internal/filename", "internal/memlimit"},
		why: "files and digests only: its callers compile"},
	{pkg: "transform/patch", never: []string{"frontend", "passes", "lower", "compile", "runtime", "analysis/verify",
		"cmd/zinc/cli"}, except: []string{"lower/td"},
		why: "a pair is patched from its bytes and its debug database, without " +
			"anything that could compile it"},
	{pkg: "compile/provenance", never: []string{"*"}, except: []string{"internal/flattable"},
		why: "names, lines and offsets only: finding out where a byte came from needs no compiler"},
	{pkg: "runtime/sim/stack/loader", never: []string{"*"}, except: []string{"emit/hwx", "emit/afpp", "lower/td",
		"target", "runtime/sim/stack/translation"},
		why: "bytes of a container in, mapped memory out: no graph, no engine"},
	{pkg: "runtime/sim/stack/broker", never: []string{"*"}, except: []string{"runtime/sim/stack/driver",
		"runtime/sim/stack/coprocessor", "runtime/sim/stack/loader", "runtime/sim/stack/protocol",
		"runtime/sim/stack/translation", "runtime/sim/stack/firmware", "runtime/sim/stack/wire", "runtime/sim/engine",
		"numerics/vector", "numerics/field", "runtime/sim/stack/trace", "runtime/sim/stack/inject", "emit/hwx",
		"emit/afpp", "lower/td", "compile/cost", "target", "internal/chrometrace"},
		why: "the driver, the layers below it, and the container's format: the compiler is passed to it as a function"},
	{pkg: "runtime/sim/stack/wire", never: []string{"*"}, why: "tags of any struct in, a codec out"},
	{pkg: "runtime/sim/stack/firmware", never: []string{"*"}, except: []string{"compile/cost", "target", "lower/td",
		"runtime/sim/stack/wire"},
		why: "queues, slots, states and the clock only; what they carry is bytes, and what time passes for is a " +
			"cause of package cost"},
	{pkg: "analysis/verify", never: []string{"frontend", "transform/reduce", "inspect/compare", "cmd/zinc/cli"},
		why: "it judges programs, however they were opened or reduced"},
	{pkg: "inspect/toolchain", never: []string{"*"}, except: []string{"internal/procgroup"},
		why: "another version is an executable with flags and files; its callers know what is in them"},
	{pkg: "inspect/compare", never: []string{"transform/reduce", "cmd/zinc/cli"},
		why: "it compares models and pairs, whatever produced them"},
	{pkg: "transform/reduce", never: []string{"cmd/zinc/cli"},
		why: "a predicate may be a function as well as a command"},
	{pkg: "transform/split", never: []string{"*"}, except: []string{"ir", "numerics", "numerics/vector",
		"internal/mapfault", "internal/slab"},
		why: "a cut depends on the program alone"},
	{pkg: "inspect/check", never: []string{"inspect/explain", "inspect/compare", "inspect/dump", "runtime/sim/stack",
		"cmd/zinc/cli"},
		except: []string{"runtime/sim/stack/loader", "runtime/sim/stack/translation"},
		why:    "a program that is small contains it without the rest of zinc"},
	{pkg: "inspect/explain", never: []string{"cmd/zinc/cli", "inspect/report"},
		why: "an answer is facts; others decide how to show them"},
	{pkg: "inspect/dump", never: []string{"passes", "lower", "layout", "compile", "runtime", "inspect/explain",
		"inspect/explore",
		"cmd/zinc/cli"}, except: []string{"lower/td", "compile/attest", "layout/weights", "runtime/sim/interp"},
		why: "it prints what files hold, whatever wrote them: it compiles and runs nothing"},
	{pkg: "runtime/sim/stack/coprocessor", never: []string{"frontend", "passes", "lower", "layout", "emit", "compile",
		"ir", "runtime"}, except: []string{"lower/td", "emit/afpp", "runtime/sim/stack/firmware",
		"runtime/sim/stack/wire", "runtime/sim/stack/protocol", "runtime/sim/stack/translation", "runtime/sim/engine",
		"numerics/vector", "numerics/field", "runtime/sim/stack/trace", "runtime/sim/stack/inject"},
		why: "the controller knows only the container's bytes of a program"},
	{pkg: "runtime/sim/stack/driver", never: []string{"frontend", "passes", "lower", "layout", "emit", "compile", "ir",
		"runtime/sim/interp"}, except: []string{"lower/td", "emit/hwx", "emit/afpp"},
		why: "the kernel knows containers and messages, not what they were compiled from"},
	{pkg: "analysis/lint", never: []string{"frontend", "cmd/zinc/cli"},
		why: "it judges programs by their operations and by running them, whatever file they came from"},
	{pkg: "analysis/coreml", never: []string{"frontend", "lower", "layout", "emit", "compile", "runtime",
		"inspect", "cmd/zinc/cli"},
		why: "it forecasts what another compiler decides, by that compiler's rules and none of zinc's"},
	{pkg: "runtime/sim", never: []string{"frontend", "passes", "lower", "layout", "compile"},
		except: []string{"lower/td"}, why: "it runs bytes, not the graph they were compiled from"},
	{pkg: "inspect/explore", never: []string{"cmd/zinc/cli"},
		why: "a page over what the compiler returns and the bytes that " +
			"it wrote, which the simulator runs; commands are a layer above it"},
	{pkg: "runtime/sim/stack/e5rt", never: []string{"frontend", "passes", "lower", "layout", "compile"},
		except: []string{"lower/td"}, why: "the compiler is a function that the caller passes; what runs is bytes"},
}

// under reports whether a package is one of the folders' or below them. The folder compile is the driver alone: the
// packages below it are what a compilation leaves, and compile nothing.
func under(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		return f == "*" || pkg == f || f != "compile" && strings.HasPrefix(pkg, f+"/")
	})
}

// TestWalls lists what each package depends on with the go command.
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
			if under(d, w.never) && !under(d, w.except) && !slices.Contains(anywhere, d) {
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
			never += ", except " + quoted(x.except)
		}
		row(w, "`"+x.pkg+"`", never, x.why)
	}
}
