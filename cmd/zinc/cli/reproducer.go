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
	options       compile.Options // of the compilation
}

// faultText is the file of a reproducer that says what happened.
const faultText = "fault.txt"

// maxReproduced bounds the bytes of constants that a reproducer has a copy of.
const maxReproduced = 256 << 20

// reproducer writes a folder with what shows a fault of zinc again: the model as MIL
// text with its weights, the program before the pass of the fault, the command line and
// the error. It returns the folder, "" when no model was open or none could be written.
func (o *subject) reproducer(fault error) (folder string) {
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
		if after := compile.LastPass(fault); after != "" {
			line, err := o.writeIR(dir, after)
			if err != nil {
				line = fmt.Sprintf("the program after pass %s is not here: %v", after, err)
			}
			note += line + "\n"
		}
		folder = dir
		text := atomicfile.Bytes(filepath.Join(dir, faultText), []byte(note+fault.Error()+"\n"+string(stackOf(fault))))
		return atomicfile.Write(context.Background(), text)
	})
	if err != nil {
		return ""
	}
	return folder
}

// copyModel writes the model to a folder.
func (o *subject) copyModel(dir string) error {
	return o.opened(func(p *ir.Program) error {
		_, err := reduce.Write(context.Background(), p, dir)
		return err
	})
}

// writeIR writes the program after a pass to a folder and returns the line that says how to go on from it.
func (o *subject) writeIR(dir, after string) (line string, err error) {
	err = o.opened(func(p *ir.Program) error {
		c := o.options
		c.Progress, c.PrintAfter, c.PrintChanged, c.Observe, c.Log, c.Provenance = nil, nil, false, nil, nil, false
		s, err := compile.RunTo(context.Background(), p, c, after)
		if err != nil {
			return err
		}
		name, from := beforeBackend, ""
		if next := s.Next(); next != "" {
			name, from = "before-"+next+irExt, " --from="+next
		}
		line = fmt.Sprintf("resume with the flags of the command: zinc %s%s -o out.hwx", name, from)
		files, err := irFiles(s, filepath.Join(dir, name))
		if err != nil {
			return err
		}
		return atomicfile.Write(context.Background(), files...)
	})
	return line, err
}

// beforeBackend is the file of a reproducer with the program after all passes.
const beforeBackend = "before-backend" + irExt

// opened calls f with the model, unless that is too large for a reproducer.
func (o *subject) opened(f func(p *ir.Program) error) error {
	return guarded(func() error {
		m, err := frontend.Open(o.path, frontend.Options{WeightsDir: o.weights})
		if err != nil {
			return err
		}
		defer m.Close()
		if n := constantBytes(m.Program); n > maxReproduced {
			return fmt.Errorf("its constants take %d bytes, a reproducer has at most %d", n, maxReproduced)
		}
		return f(m.Program)
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
