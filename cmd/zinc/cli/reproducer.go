package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/shellwords"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/reduce"
)

// subject is the model that a command works with.
type subject struct {
	path, weights string // as given
	args          []string
}

// faultText is the file of a reproducer that says what happened.
const faultText = "fault.txt"

// maxReproduced bounds the bytes of constants that a reproducer has a copy of.
const maxReproduced = 256 << 20

// reproducer writes a folder with what shows a fault of zinc again: the model as MIL
// text with its weights, the command line and the error. It returns the folder, "" when
// no model was open or none could be written.
func (o *subject) reproducer(fault string) (folder string) {
	if o == nil || o.path == "" {
		return ""
	}
	// What comes here met a fault already, and may meet another in reading the model.
	err := guarded(func() error {
		dir, err := os.MkdirTemp("", "zinc-fault-")
		if err != nil {
			return err
		}
		note := fmt.Sprintf("zinc %s, %s %s/%s\n", compile.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		words := []string{"zinc"}
		for _, a := range o.args {
			words = append(words, shellwords.Quote(a))
		}
		note += "command: " + strings.Join(words, " ") + "\n"
		if err := o.copyModel(dir); err != nil {
			note += fmt.Sprintf("the model %s is not here: %v\n", o.path, err)
		}
		folder = dir
		text := atomicfile.Bytes(filepath.Join(dir, faultText), []byte(note+fault))
		return atomicfile.Write(context.Background(), text)
	})
	if err != nil {
		return ""
	}
	return folder
}

// copyModel writes the model to a folder.
func (o *subject) copyModel(dir string) error {
	return guarded(func() error {
		m, err := frontend.Open(o.path, frontend.Options{WeightsDir: o.weights})
		if err != nil {
			return err
		}
		defer m.Close()
		if n := constantBytes(m.Program); n > maxReproduced {
			return fmt.Errorf("its constants take %d bytes, a reproducer has at most %d", n, maxReproduced)
		}
		_, err = reduce.Write(context.Background(), m.Program, dir)
		return err
	})
}

// constantBytes is how many bytes the constants of a program take.
func constantBytes(p *ir.Program) (n int64) {
	seen := map[*ir.Const]bool{}
	for _, f := range p.Funcs {
		ir.Walk(f, func(op *ir.Op) {
			op.Operands(func(_ *ir.Param, v *ir.Value) {
				if v.Const != nil && !seen[v.Const] {
					seen[v.Const] = true
					n += int64(len(v.Const.Data))
				}
			})
		})
	}
	return n
}
