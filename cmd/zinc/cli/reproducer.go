package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/regularfile"
	"github.com/zinc-compiler/zinc/internal/shellwords"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// subject is the model that a command compiles.
type subject struct {
	path, weights string // as on the command line
	stdin         *regularfile.Input
	args          []string
	options       compile.Options // of the compilation
}

// faultText is the file of a reproducer that describes the fault.
const faultText = "fault.txt"

// maxReproduced is the maximum size in bytes of the constants that a reproducer copies.
const maxReproduced = 256 << 20

// reproducer writes a folder that reproduces a bug in zinc: the model as MIL text with its weights,
// the program before the failing pass, the command line and the error. It returns the folder, or ""
// if no model was open or the folder could not be written.
func (o *subject) reproducer(fault error) (folder string) {
	if o == nil || o.path == "" {
		return ""
	}
	// The bug may also cause a panic while the model is read again.
	err := guarded(func() error {
		dir, err := os.MkdirTemp("", faultPrefix)
		if err != nil {
			return err
		}
		removeOldFaults(os.TempDir())
		note := fmt.Sprintf("zinc %s, %s %s/%s\n", compile.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		words := []string{"zinc"}
		for _, a := range o.args {
			words = append(words, shellwords.Quote(a))
		}
		note += "command: " + strings.Join(words, " ") + "\n"
		if err := o.copyModel(dir); err != nil {
			note += fmt.Sprintf("the model %s was not copied: %v\n", o.path, err)
		} else {
			note += "a smaller model that fails as well, run where the command ran: " + o.reduction(dir) + "\n"
		}
		if after := compile.LastPass(fault); after != "" {
			line, err := o.writeIR(dir, after)
			if err != nil {
				line = fmt.Sprintf("the program after pass %s was not copied: %v", after, err)
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

// reduction returns the command that looks in the copy of the model for a smaller one at which the command fails.
func (o *subject) reduction(dir string) string {
	words := []string{"zinc"}
	for _, a := range o.args {
		if a = shellwords.Quote(a); a == shellwords.Quote(o.path) {
			a = "{}"
		}
		words = append(words, a)
	}
	line := []string{"zinc", "reduce", dir, "--predicate", strings.Join(words, " "), "--interesting-exit", "nonzero",
		"-o", filepath.Join(dir, "reduced.mil")}
	for i := range line {
		line[i] = shellwords.Quote(line[i])
	}
	return strings.Join(line, " ")
}

// Folders of faults in the temporary folder begin with faultPrefix; the keptFaults newest ones stay.
const (
	faultPrefix = "zinc-fault-"
	keptFaults  = 8
)

// removeOldFaults removes the oldest folders of faults in a folder. One that cannot be removed, such as another
// user's, stays.
func removeOldFaults(in string) {
	type folder struct {
		path string
		made time.Time
	}
	var old []folder
	entries, _ := os.ReadDir(in) // what cannot be listed stays
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && strings.HasPrefix(e.Name(), faultPrefix) {
			old = append(old, folder{filepath.Join(in, e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(old, func(a, b folder) int { return b.made.Compare(a.made) })
	for _, f := range old[min(keptFaults, len(old)):] {
		os.RemoveAll(f.path) // nothing depends on it
	}
}

// copyModel writes the model to a folder.
func (o *subject) copyModel(dir string) error {
	return o.opened(func(p *ir.Program) error {
		_, err := reduce.Write(context.Background(), p, dir)
		return err
	})
}

// writeIR writes the program after a pass to a folder and returns a line that says how to continue from it.
func (o *subject) writeIR(dir, after string) (line string, err error) {
	err = o.opened(func(p *ir.Program) error {
		c := o.options
		c.Progress, c.PrintAfter, c.PrintChanged, c.Observe, c.Log, c.Provenance = nil, nil, false, nil, nil, false
		c.Until = after
		var s *compile.Snapshot
		if err := compile.Compile(context.Background(), p, c, compile.Sink{Snapshot: compile.To(&s)}); err != nil {
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

// opened calls f with the model, unless the model is too large for a reproducer.
func (o *subject) opened(f func(p *ir.Program) error) error {
	return guarded(func() error {
		m, err := frontend.Open(o.path, frontend.Options{WeightsDir: o.weights, Stdin: o.stdin})
		if err != nil {
			return err
		}
		defer m.Close()
		if n := ir.ConstantBytes(m.Program); n > maxReproduced {
			return fmt.Errorf("its constants take %d bytes, over the limit of %d for reproducers", n, maxReproduced)
		}
		return f(m.Program)
	})
}
