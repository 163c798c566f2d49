package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/values"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/transform/patch"
)

// patchCommand is the state of `zinc patch`.
type patchCommand struct {
	*env
	compileFlags
	values []string
	out    string
	debug  string
	source string // path of the model, "" to patch by the debug database
	error  float64
	json   bool
}

// patchJSON is what zinc patch --json prints.
type patchJSON struct {
	Changes []patch.Change `json:"changes"` // one for each weight
	Files   []fileJSON     `json:"files"`   // that were written
}

func newPatch(e *env) *cobra.Command {
	c := &patchCommand{env: e}
	form := pflag.NewFlagSet("", pflag.ContinueOnError) // what --model is compiled with
	form.StringVar(&c.compileFlags.weights, "model-weights", "",
		"`FOLDER` for @model_path (default the model's own)")
	c.form(form)
	c.work(form)
	form.VisitAll(func(f *pflag.Flag) { f.Usage = "with --model: " + f.Usage })
	cmd := &cobra.Command{
		Use:   "patch FILE.hwx --weights NAME=FILE.npy ... -o OUT.hwx",
		Short: "Replace weights in a compiled pair; its tasks do not change",
		Long: `Patch writes the pair with new values for constants of its source, packed in place. The
bytes of the tasks do not change. NAME is the constant's name in the source, or
FUNCTION/NAME if several functions have one; the array must have its shape and type.

The place of a constant is read from the debug database beside the pair, FILE.zdb,
written with --debug-db when the pair was compiled. A constant that the passes folded
into others, or that determines more than coefficients, is refused with the reason. With
--model the pair is computed again from its source, folding included, with the flags
that it was compiled with; values that would change the tasks are refused.

NAME may also be the result of a constexpr operation: the array has the values that it
unpacks to. A weight whose tasks read indices keeps its codebook, and its values become
the nearest entries; it is refused with the error that it would have if a value is more
than --max-error from its entry. The table of constexpr_lut_to_dense replaces the codebook
alone. With --model such a weight is written as numbers.

OUT.e5 and OUT.zdb are written beside OUT.hwx, so a patched pair can be patched again.
The name - is standard input, of a container alone, and standard output, with -o -.`,
		Example: `  zinc digits.mlmodelc -o digits.hwx --debug-db digits.zdb
  zinc patch digits.hwx --weights conv3_weight=new.npy -o patched.hwx
  zinc patch digits.hwx --model digits.mlmodelc --weights conv1_weight=new.npy -o patched.hwx`,
		GroupID: groupChange,
		Args:    operands(1, 1, "one FILE.hwx"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		form.VisitAll(func(f *pflag.Flag) {
			if f.Changed && c.source == "" && err == nil {
				err = usagef("patch: --%s requires --model", f.Name)
			}
		})
		if err != nil {
			return err
		}
		return c.run(cmd.Context(), args[0])
	}
	f := cmd.Flags()
	f.StringArrayVarP(&c.values, "weights", "w", nil, "`NAME=FILE.npy`: new values of constant NAME (repeatable)")
	f.StringVarP(&c.out, "output", "o", "", "container to write, `OUT.hwx`; OUT.e5 and OUT.zdb go beside it; - "+
		"writes the container alone to standard output")
	f.StringVar(&c.debug, "debug-db", "", "debug database of the pair, `FILE.zdb` (default the one beside it)")
	f.StringVar(&c.source, "model", "", "`MODEL` that the pair was compiled from: compute the constants again, "+
		"folding included")
	f.Float64Var(&c.error, "max-error", 0, "largest difference `E` of a value from the nearest entry of a weight's "+
		"codebook")
	f.BoolVar(&c.json, "json", false, "print what was patched as JSON")
	f.AddFlagSet(form)
	exclusive(cmd, "debug-db", "model")
	return cmd
}

func (c *patchCommand) run(ctx context.Context, path string) error {
	files, err := pairs("--weights", c.values)
	if err != nil {
		return err
	}
	switch {
	case files == nil:
		return usagef("patch: missing new values; set --weights NAME=FILE.npy")
	case c.out == "":
		return usagef("patch: missing output; set -o OUT%s", pair.ContainerExt)
	case c.json && c.out == stdoutName:
		return usagef("patch: -o - and --json would both write to standard output")
	}
	to, err := c.pairPaths(c.out, path)
	if err != nil {
		return err
	}
	old, err := c.old(path)
	if err != nil {
		return err
	}
	var ws []patch.Weight
	for _, f := range files {
		b, err := c.stdin.Read(f.file)
		if err != nil {
			return fmt.Errorf("weights %s: %w", f.name, err)
		}
		a, err := npy.Decode(b)
		if err != nil {
			return fmt.Errorf("weights %s: %s: %w", f.name, f.file, err)
		}
		ws = append(ws, patch.Weight{Name: f.name, Array: a, MaxError: c.error})
	}
	var r *patch.Result
	if c.source != "" {
		r, err = c.recompute(ctx, old, ws)
	} else {
		r, err = c.byDatabase(path, old, ws)
	}
	if err != nil {
		return err
	}
	if same, err := sameTasks(old.Container, r.Container); err != nil || !same {
		return &internalError{err: errors.Join(errors.New("patching changed the tasks"), err)}
	}
	if c.out == stdoutName {
		_, err = c.env.out.Write(r.Container)
	} else {
		err = c.writeFiles(ctx, r.Files(to.Container)...)
	}
	if err != nil {
		return err
	}
	if c.json {
		files, err := written(r.Files(to.Container))
		if err != nil {
			return err
		}
		return jsonform.Document(c.env.out, patchJSON{r.Changes, files})
	}
	for _, ch := range r.Changes {
		at := ""
		if ch.Line > 0 {
			at = fmt.Sprintf(" of line %d", ch.Line)
		}
		what := ""
		if ch.Tasks > 0 {
			what = fmt.Sprintf(", %d bytes that %s", ch.Bytes, diag.Count(ch.Tasks, "task loads", "tasks load"))
		}
		if e := ch.Error; e != nil && e.Largest > 0 {
			what += fmt.Sprintf("; its values are up to %.4g from the codebook's entries, signal to noise %.1f dB",
				e.Largest,
				e.Ratio)
		} else if e != nil {
			what += "; its codebook has the values"
		}
		c.note("%s%s: patched%s", ch.Name, at, what)
	}
	c.note("the tasks are those of %s", path)
	return nil
}

// old reads the pair to patch. One from standard input is a container alone, and so is what is written.
func (c *patchCommand) old(path string) (pair.Pair, error) {
	if !c.stdin.IsStdin(path) {
		return pair.Reader(c.whole).Read(path)
	}
	switch {
	case c.out != stdoutName:
		return pair.Pair{}, usagef("patch: a container from standard input has no descriptor beside it; write the " +
			"container alone with -o -")
	case c.debug == "" && c.source == "":
		return pair.Pair{}, usagef("patch: a container from standard input has no debug database beside it; set " +
			"--debug-db FILE.zdb or --model MODEL")
	}
	b, err := c.stdin.Read(path)
	return pair.Pair{Container: b}, err
}

// byDatabase patches with the debug database of the pair.
func (c *patchCommand) byDatabase(path string, old pair.Pair, ws []patch.Weight) (*patch.Result, error) {
	db, err := (&dump.Options{Debug: c.debug, Name: flagName}).OpenDebug(pair.PathsOf(path).Container, old.Container)
	if err != nil {
		return nil, err
	}
	return patch.Apply(old, db, ws)
}

// recompute compiles the pair's model with other constants.
func (c *patchCommand) recompute(ctx context.Context, old pair.Pair, ws []patch.Weight) (*patch.Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	_, same, err := c.compiled(ctx, nil)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(same.Container, old.Container) {
		return nil, fmt.Errorf("%s does not compile to this pair; use the flags that it was compiled with, and "+
			"the zinc that compiled it", c.source)
	}
	r, written, err := c.compiled(ctx, ws)
	if err != nil {
		return nil, err
	}
	if same, err := sameTasks(old.Container, written.Container); err != nil || !same {
		return nil, errors.Join(&patch.Refusal{
			Name:   ws[0].Name,
			Reason: "the new values would change the tasks",
			Hint:   "compile the model with them",
		}, err)
	}
	out := &patch.Result{Pair: written, DB: r.Provenance}
	for _, w := range ws {
		out.Changes = append(out.Changes, patch.Change{Name: w.Name})
	}
	return out, nil
}

// compiled compiles the model with new values for some constants.
func (c *patchCommand) compiled(ctx context.Context, ws []patch.Weight) (r *compile.Result, p pair.Pair, err error) {
	m, err := c.open(c.env, c.source)
	if err != nil {
		return nil, p, err
	}
	defer m.Close()
	for _, w := range ws {
		if err := replace(m.Program, w); err != nil {
			return nil, p, err
		}
	}
	c.provenance = ws != nil
	if r, err = c.compile(ctx, c.env, m, (*compile.Result).Files); err != nil {
		return nil, p, err
	}
	if p, err = r.Pair(); err != nil {
		return nil, p, &internalError{err: err}
	}
	return r, p, nil
}

// replace replaces the values of a constant of a program.
func replace(p *ir.Program, w patch.Weight) error {
	fn, name, qualified := strings.Cut(w.Name, "/")
	if !qualified {
		fn, name = "", w.Name
	}
	found := map[string]*ir.Value{} // by function
	var order []string
	made := ""
	for _, f := range p.Funcs {
		if qualified && f.Name != fn {
			continue
		}
		ir.Walk(f, func(op *ir.Op) {
			op.Operands(func(_ *ir.Param, v *ir.Value) {
				if replaceable(v) && v.Name == name && found[f.Name] == nil {
					found[f.Name] = v
					order = append(order, f.Name)
				}
			})
			if slices.ContainsFunc(op.Results, func(v *ir.Value) bool { return v.Name == name }) {
				made = op.Def.Name
			}
		})
	}
	switch {
	case len(order) == 0 && made != "":
		return &patch.Refusal{
			Name:   w.Name,
			Reason: fmt.Sprintf("it is the result of %s, not a constant", made),
			Hint:   "patch the constants that it is computed from, or compile the model with other ones",
		}
	case len(order) == 0:
		return fmt.Errorf("unknown constant %q", w.Name)
	case len(order) > 1:
		return fmt.Errorf("functions %s and %s both have a constant %q; use %s/%s or %s/%s", order[0], order[1],
			w.Name, order[0], w.Name, order[1], w.Name)
	}
	v := found[order[0]]
	t, err := values.FromArray(w.Array, v.Type)
	if err != nil {
		return fmt.Errorf("constant %q: %w", w.Name, err)
	}
	v.Const = t.Const()
	if v.Def != nil { // unpacked here, instead of the operation
		drop(p.Func(order[0]).Body, v.Def)
		v.Def = nil
	}
	return nil
}

// drop removes an operation from a block or its nested blocks.
func drop(b *ir.Block, op *ir.Op) {
	b.Ops = slices.DeleteFunc(b.Ops, func(o *ir.Op) bool { return o == op })
	for _, o := range b.Ops {
		for _, inner := range o.Blocks {
			drop(inner, op)
		}
	}
}

// replaceable reports whether a value is a constant or the result of a constexpr operation. The
// latter is replaced by its unpacked values, because new values in compressed form would also
// require new tables and scales.
func replaceable(v *ir.Value) bool {
	return v.IsConst() || v != nil && v.Def != nil && ir.IsConstexpr(v.Def)
}

// sameTasks reports whether two containers have the same bytes of tasks.
func sameTasks(a, b []byte) (bool, error) {
	f, err := hwx.Read(a)
	if err != nil {
		return false, err
	}
	g, err := hwx.Read(b)
	if err != nil {
		return false, err
	}
	return bytes.Equal(f.TextBytes(), g.TextBytes()), nil
}
