package compress

import (
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/frontend/mlpackage"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/transform/convert"
)

// weightFile is the path of the weights in the folder of a written model.
const weightFile = mlpackage.WeightsFolder + "/weight.bin"

// Plan returns the files of a compressed program p as a model at a path of one of convert.Forms, with the description
// of the model that p was made from.
func Plan(src *frontend.Source, p *ir.Program, path string, o convert.Options) ([]atomicfile.File, error) {
	text, err := unbuild.Program(p, weightFile)
	if err != nil {
		return nil, err
	}
	tree, list := mil.Parse(path, text.MIL)
	if list.HasErrors() {
		return nil, list.Err()
	}
	return convert.PlanProgram(src, tree, []atomicfile.File{{Path: weightFile, Write: text.WriteWeights}}, path, o)
}
