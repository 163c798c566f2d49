package cli

import (
	"github.com/zinc-compiler/zinc/analysis/coreml"
	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/cmd/zinc/opref"
	"github.com/zinc-compiler/zinc/inspect/check"
	"github.com/zinc-compiler/zinc/inspect/compare"
	"github.com/zinc-compiler/zinc/inspect/explain"
	"github.com/zinc-compiler/zinc/inspect/plandiff"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// JSONShape is a document that a command prints.
type JSONShape struct {
	Command string
	Doc     string
	Value   any // an empty document, or the DeviceParts
}

// JSONShapes are the documents of all commands, except documents in formats of others and the documents of zinc dump,
// whose keys are the parts of a file.
var JSONShapes = []JSONShape{
	{"zinc MODEL --json", "What was compiled, and the estimates.", report.Document{}},
	{"zinc check MODEL --json", "The placement on each target.", check.Result{}},
	{"zinc check FILE.hwx --json", "What a compiled container takes, from its own tasks.", report.Container{}},
	{"zinc check MODEL --as coreml --json", "Where Core ML itself is forecast to run the operations.",
		coreml.Document{}},
	{"zinc check MODEL --compare-plan FILE --json", "Core ML's own decisions beside the forecast.",
		plandiff.Result{}},
	{"zinc coreml rates FILE --json", "Rates fitted to Core ML's estimates.", ratesJSON{}},
	{"zinc explain MODEL:PLACE --json", "What became of a statement.", explain.Answer{}},
	{"zinc lint MODEL --json", "Where the engine may depart from the reference.", lintResult{}},
	{"zinc run FILE --json", "The outputs of a run.", runJSON{}},
	{"zinc verify MODEL --json", "The engine's outputs beside the reference's.", verifyResult{}},
	{"zinc verify MODEL --first-departure --json", "The first statement beyond its bound.", departures{}},
	{"zinc prove MODEL --json", "What was proved of a pair.", prove.Result{}},
	{"zinc diff A B --json", "What differs, and what it costs. zinc watch --json prints one for each change.",
		compare.Result{}},
	{"zinc diff A B --bytes --json", "The bytes that differ.", rangesJSON{}},
	{"zinc patch FILE.hwx --json", "What was patched.", patchJSON{}},
	{"zinc convert MODEL OUTPUT --json", "What was written.", convertJSON{}},
	{"zinc compress MODEL --json", "What compressed weights cost and save.", compressJSON{}},
	{"zinc split MODEL --json", "The models of a pipeline.", splitJSON{}},
	{"zinc reduce MODEL --json", "What a reduction left.", reduce.Result{}},
	{"zinc ops --json", "The operations.", opref.Document{}},
	{"zinc targets --json", "The targets.", targetsJSON{}},
	{"zinc cache ls --json", "The entries of a cache.", cacheListJSON{}},
	{"zinc cache verify --json", "The entries of a cache and their faults.", cacheVerifyJSON{}},
	{"zinc cache gc --json", "What was removed from a cache.", cacheCollectJSON{}},
	{"zinc generate PACKAGE MODEL --json", "What was written.", generateJSON{}},
	{"zinc device --json", "The sections of the device's state, each an object. A subcommand prints one of its name.",
		deviceParts()},
	{"zinc load FILE --json", "Latencies of a load.", loadJSON{}},
	{"zinc serve --json", "Where a machine is served. zinc explore --json prints where the page is.", servingJSON{}},
	{"zinc top --json", "What a served machine does.", broker.Status{}},
	{"zinc man FOLDER --json", "What was written.", manJSON{}},
	{"zinc help --json", "The commands and their flags.", helpJSON{}},
	{"zinc version --json", "The executable itself.", toolchain.Version{}},
	{"zinc COMMAND --json 2>FILE", "What is wrong: errors are on standard error.", diag.Document{}},
}
