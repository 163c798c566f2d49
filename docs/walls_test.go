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
	{"lower/td", []string{"*"}, nil, "compiler and engine share the bytes of a task and its field names, and nothing else"},
	{"runtime/sim/engine", []string{"*"}, []string{"lower/td"}, "it knows registers and bytes alone, so a wrong lowering cannot be hidden by the same mistake in the engine"},
	{"runtime/sim/interp", []string{"lower", "layout", "emit", "passes", "runtime/sim/engine"}, nil, "the second opinion must not share code with the first"},
	{"runtime/sim/stack/translation", []string{"*"}, nil, "an address unit alone: buffers in, bytes behind addresses out"},
	{"runtime/sim/stack/protocol", []string{"*"}, nil, "messages alone: what the firmware knows of programs is asked through an interface"},
	{"runtime/sim/stack", []string{"frontend", "passes", "lower", "layout", "compile"}, []string{"lower/td"}, "a machine gets bytes; what compiled them is a function that its maker gives"},
	{"runtime/sim/stack/trace", []string{"*"}, nil, "every layer tells its steps through it"},
	{"runtime/sim/stack/inject", []string{"*"}, nil, "every layer asks it for faults"},
	{"numerics", []string{"*"}, nil, "scalars alone; engine-side and interpreter-side code may both be measured by it"},
	{"internal/diag", []string{"*"}, nil, "whatever holds a source position may import it"},
	{"frontend/mil", []string{"*"}, []string{"internal/diag"}, "syntax alone: no names, no types, no files"},
	{"frontend/blobfile", []string{"*"}, nil, "a file format alone"},
	{"frontend/netplist", []string{"*"}, []string{"ir"}, "a description is read from its bytes and its weight files alone"},
	{"ir", []string{"frontend", "passes", "lower", "layout", "emit", "compile", "runtime", "target"}, nil, "the form between the parts belongs to none of them"},
	{"frontend", []string{"passes", "lower", "layout", "emit", "compile", "runtime", "target"}, nil, "reading a model does not depend on what it is compiled for"},
	{"passes", []string{"frontend", "lower", "layout", "emit", "compile", "runtime"}, nil, "what the engine takes is asked through Options.Accept and Options.CanFuse"},
	{"layout/weights", []string{"*"}, nil, "constants as plain bytes in, bytes out"},
	{"lower", []string{"frontend", "passes", "emit", "compile", "runtime", "lower/attest"}, nil, "a rule never sees the simulator, nor how its tasks are filed, nor which of them recorded programs vouch for"},
	{"cost", []string{"*"}, []string{"lower/td", "target"}, "an estimate follows from registers, so that any program can have one"},
	{"report", []string{"frontend", "runtime", "verify", "cmd/zinc/cli"}, nil, "every form shows the report that it is given; it runs and reads nothing"},
	{"emit/hwx", []string{"*"}, nil, "tasks are bytes to the container"},
	{"emit/hazard", []string{"*"}, []string{"emit/hwx", "lower/td"}, "it derives addresses anew, so that it shares no mistake with lowering or engine"},
	{"emit/e5", []string{"*"}, []string{"emit/e5/internal/fb"}, "the descriptor knows names and layouts, no graph"},
	{"emit/afpp", []string{"*"}, []string{"lower/td"}, "a file format alone, whose records and register groups are those that tasks are split into"},
	{"cache", []string{"*"}, nil, "files and digests alone: what compiles is its callers' to say"},
	{"patch", []string{"frontend", "passes", "lower", "compile", "runtime", "verify", "cmd/zinc/cli"}, []string{"lower/td"}, "a pair is patched from its bytes and its debug database, by nothing that could compile it"},
	{"internal/manpage", []string{"*"}, nil, "a tree of commands in, text out"},
	{"provenance", []string{"*"}, nil, "names, lines and offsets alone: who asks where a byte came from needs no compiler"},
	{"runtime/sim/stack/loader", []string{"*"}, []string{"emit/hwx", "emit/afpp", "lower/td", "runtime/sim/stack/translation"}, "bytes of a container in, mapped memory out: no graph, no engine"},
	{"runtime/sim/stack/broker", []string{"*"}, []string{"runtime/sim/stack/driver", "runtime/sim/stack/coprocessor", "runtime/sim/stack/loader", "runtime/sim/stack/protocol", "runtime/sim/stack/translation", "runtime/sim/stack/firmware", "runtime/sim/engine", "runtime/sim/stack/trace", "runtime/sim/stack/inject", "emit/hwx", "emit/afpp", "lower/td"}, "the driver, what it stands on, and the container's format: compiling is given to it as a function"},
	{"runtime/sim/stack/firmware", []string{"*"}, nil, "queues, slots and states alone; what they carry is bytes"},
	{"verify", []string{"frontend", "reduce", "compare", "cmd/zinc/cli"}, nil, "it judges programs, however they were opened or made smaller"},
	{"toolchain", []string{"*"}, []string{"internal/procgroup"}, "another version is an executable with flags and files; what is in them is its callers' to say"},
	{"compare", []string{"reduce", "cmd/zinc/cli"}, nil, "it judges models and pairs, however they were made"},
	{"reduce", []string{"cmd/zinc/cli"}, nil, "a predicate may be a function as well as a command"},
	{"explain", []string{"cmd/zinc/cli", "report"}, nil, "an answer is facts; how they are shown beside others is not its business"},
	{"runtime/sim/stack/coprocessor", []string{"frontend", "passes", "lower", "layout", "emit", "compile", "ir", "runtime"}, []string{"lower/td", "emit/afpp", "runtime/sim/stack/firmware", "runtime/sim/stack/protocol", "runtime/sim/stack/translation", "runtime/sim/engine", "runtime/sim/stack/trace", "runtime/sim/stack/inject"}, "a container's bytes are all that the controller knows of a program"},
	{"runtime/sim/stack/driver", []string{"frontend", "passes", "lower", "layout", "emit", "compile", "ir", "runtime/sim/interp"}, []string{"lower/td", "emit/hwx", "emit/afpp"}, "the kernel knows containers and messages, never what they were compiled from"},
	{"lint", []string{"frontend", "cmd/zinc/cli"}, nil, "it judges programs by their operations and by running them, whatever file they came from"},
	{"runtime/sim", []string{"frontend", "passes", "lower", "layout", "compile"}, []string{"lower/td"}, "it runs bytes, never the graph they were compiled from"},
	{"explore", []string{"cmd/zinc/cli"}, nil, "a page over what the compiler gives and the bytes that it wrote, which the simulator runs; commands stand above it"},
	{"runtime/sim/stack/e5rt", []string{"frontend", "passes", "lower", "layout", "compile"}, []string{"lower/td"}, "the compiler is a function that the caller gives; what runs is bytes"},
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
