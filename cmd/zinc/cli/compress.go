package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/compress"
	"github.com/zinc-compiler/zinc/transform/convert"
)

// compressCommand is the state of `zinc compress`.
type compressCommand struct {
	*env
	compileFlags
	forms  []string
	inputs []string
	seed   uint64
	metric string
	limit  float64
	ends   bool
	each   bool
	all    bool
	out    string
	dryRun bool
	json   bool
}

// compressJSON is what zinc compress --json prints.
type compressJSON struct {
	*compress.Result
	Written string     `json:"written,omitempty"` // form of the model that was written
	Files   []fileJSON `json:"files"`             // that were written, or would be without --dry-run
}

func newCompress(e *env) *cobra.Command {
	c := &compressCommand{env: e}
	var forms strings.Builder
	for _, f := range compress.Forms {
		fmt.Fprintf(&forms, "  %-16s%s", f.Name, f.Doc)
		if f.Since != compress.Forms[0].Since {
			fmt.Fprintf(&forms, " (%s)", f.Since)
		}
		forms.WriteByte('\n')
	}
	cmd := &cobra.Command{
		Use:   "compress MODEL",
		Short: "Show what compressed weights cost and save; write the model with them",
		Long: fmt.Sprintf(`Compress stores the weights of MODEL in each of these forms and prints, for the model and
for each weight, the bytes, the estimated time of a call, whether the engine reads the form
as it is stored or as fp16, and how far the outputs are from the outputs of the model in fp32:

%s
The outputs are those of the reference interpreter on the inputs of --input, and random
ones for the rest, which depend on the seed. Weights are constants of %d elements or more
that products, lookups and recurrent operations read. The first and the last layer stay
dense, as Apple advises; --ends compresses them too.

With --max-error E zinc finds a mixture of forms: the fastest one by the estimates whose
outputs are within E. E is the lowest peak signal-to-noise ratio in dB (--metric psnr), the
lowest cosine similarity (cosine), or the most units in the last place of fp16 (ulp).
Weights that no product waits for stay as they are. The errors that single weights cause
are measured for small models, or with --each, and otherwise predicted from the weights'
own; those of mixtures are measured.

Nothing is written without -o. OUTPUT has the mixture, or the form that --form names alone,
with the operations of iOS 16 or 18 that coremltools writes.`, forms.String(), compress.MinElements),
		Example: `  zinc compress model.mlpackage
  zinc compress model.mlpackage -t m2 --all
  zinc compress model.mlpackage --max-error 40 -o small.mlpackage
  zinc compress model.mlpackage --max-error 0.999 --metric cosine --input image=7.npy
  zinc compress model.mlpackage --form palette4 -o small.mlpackage`,
		GroupID: groupChange,
		Args:    operands(1, 1, "one MODEL"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.forms, "form", nil, "`FORM` to try (repeatable; default all that the model's opset has)")
	f.StringArrayVarP(&c.inputs, "input", "i", nil, "`NAME=FILE.npy`: read the input NAME from a file (repeatable)")
	f.Uint64Var(&c.seed, "seed", firstSeed, "seed of the other inputs")
	f.Float64Var(&c.limit, "max-error", 0, "limit `E` of the error of a mixture (default no mixture)")
	f.Var(newChoice(&c.metric, compress.Metrics...), "metric", "what --max-error limits: psnr, cosine or ulp")
	f.BoolVar(&c.ends, "ends", false, "also compress the first and the last layer")
	f.BoolVar(&c.each, "each", false, "measure the outputs with each weight alone in each form, however long it takes")
	f.BoolVar(&c.all, "all", false, fmt.Sprintf("list every weight, not only the %d largest", shownWeights))
	f.StringVarP(&c.out, "output", "o", "", "`OUTPUT` to write the compressed model to: .mlpackage, .mlmodelc or .mil")
	f.BoolVar(&c.dryRun, "dry-run", false, "with -o, print what would be written without writing it")
	f.BoolVar(&c.json, "json", false, "print the tables as JSON")
	f.StringVar(&c.function, "func", "", "`FUNCTION` to measure (default the only one, or main)")
	c.target = defaultTarget
	f.VarP(targetFlag{&c.target}, "target", "t", "hardware `TARGET` of the estimates")
	c.files(f)
	c.work(f)
	return cmd
}

// shownWeights is the number of weights that are listed without --all.
const shownWeights = 10

func (c *compressCommand) run(ctx context.Context, path string) error {
	o := compress.Options{
		Seed: c.seed, Ends: c.ends, Each: c.each, Metric: compress.Metric(c.metric), Limit: c.limit,
	}
	for _, name := range c.forms {
		f := compress.FormOf(name)
		if f == nil {
			return usagef("--form=%s: unknown form; forms are %s", name, strings.Join(formNames(), ", "))
		}
		o.Forms = append(o.Forms, f)
	}
	if c.limit != 0 {
		if err := o.Metric.Check(c.limit); err != nil {
			return usagef("--max-error: %w", err)
		}
	}
	writes := compress.Mixture
	if c.limit == 0 && len(o.Forms) == 1 {
		writes = o.Forms[0].Name
	}
	if c.out != "" {
		if _, ok := convert.FormOf(c.out); !ok {
			return usagef("compress: -o %s: want a path that ends in .mlpackage, .mlmodelc or .mil", c.out)
		}
		if c.limit == 0 && len(o.Forms) != 1 {
			return usagef("compress: -o writes one form or a mixture; set --form FORM or --max-error E")
		}
	}
	files, err := pairs("--input", c.inputs)
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	m, err := c.open(c.env, path)
	if err != nil {
		return err
	}
	defer m.Close()
	if o.Inputs, err = c.tensors(path, "input", inputPorts(m.Program), files); err != nil {
		return err
	}
	p := c.newProgress(c.progress)
	defer p.end()
	if o.Compile, err = c.options(c.env, m.Path, p); err != nil {
		return err
	}
	o.Progress = p.step
	r, err := compress.New(ctx, m.Program, o)
	p.end()
	if err != nil {
		return c.located(m, c.inputs, err)
	}
	out := compressJSON{Result: r, Files: []fileJSON{}}
	if c.out != "" {
		out.Written = writes
		if out.Files, err = c.write(ctx, path, r, writes); err != nil {
			return err
		}
	}
	if c.json {
		return jsonform.Document(c.env.out, &out)
	}
	return c.text(filepath.ToSlash(m.Path), &out)
}

func formNames() (names []string) {
	for _, f := range compress.Forms {
		names = append(names, f.Name)
	}
	return names
}

// write writes the model with weights in a form.
func (c *compressCommand) write(ctx context.Context, path string, r *compress.Result, form string) ([]fileJSON, error) {
	src, err := frontend.OpenSource(path, frontend.Options{WeightsDir: c.weights, Follow: c.follow, Stdin: c.stdin})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	p, err := r.Apply(form)
	if err != nil {
		return nil, err
	}
	files, err := compress.Plan(src, p, c.out, convert.Options{
		BuildInfo: map[string]string{convert.VersionKey: ownVersion().Version},
	})
	if err != nil {
		return nil, err
	}
	if err := c.replaces(c.env, path, path, "-o "+c.out, files...); err != nil {
		return nil, err
	}
	if err := foreign(c.out, files); err != nil {
		return nil, err
	}
	return save(ctx, c.dryRun, files)
}

// text writes the tables.
func (c *compressCommand) text(model string, r *compressJSON) error {
	w := c.env.out
	bytes, kept := int64(0), 0
	for _, x := range r.Weights {
		bytes += x.Bytes
		if x.Kept != "" {
			kept++
		}
	}
	fmt.Fprintf(w, "%s, function %s, target %s: %s of %s", model, r.Function, r.Target, diag.Count(len(r.Weights),
		"weight", "weights"), report.ShortBytes(bytes))
	if kept > 0 {
		fmt.Fprintf(w, ", %d of them stay as they are", kept)
	}
	if r.Already > 0 {
		fmt.Fprintf(w, "; %s already compressed", diag.Count(r.Already, "constant is", "constants are"))
	}
	inputs := fmt.Sprintf("random inputs (seed %d)", r.Seed)
	if len(c.inputs) > 0 {
		inputs = strings.Join(c.inputs, ", ")
	}
	fmt.Fprintf(w, "\nErrors are those of the outputs on %s, compared with %s.\n\n", inputs, r.Reference)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "form\tmodel\tengine\tcall\tpsnr\tcosine\tulp\tas stored\tread as stored by")
	for _, x := range r.Rows {
		stored := ""
		if x.Weights > 0 {
			stored = fmt.Sprintf("%d of %d", x.Streams, x.Weights)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.6f\t%.4g\t%s\t%s\n", x.Form, report.ShortBytes(x.Bytes),
			orDash(x.Container > 0, report.ShortBytes(x.Container)), orDash(x.Time > 0, x.Time.Short()), x.Error.PSNR,
			x.Error.Cosine, x.Error.ULP, cmp.Or(stored, "-"), cmp.Or(generations(x.Targets), "-"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, x := range r.Rows {
		if x.Why != "" {
			fmt.Fprintf(w, "%s: %s read as fp16; the first: %s\n", x.Form,
				diag.Count(x.Folds, "weight is", "weights are"),
				strings.TrimPrefix(x.Why, "dense: "))
		}
	}
	if err := c.weightText(w, r); err != nil {
		return err
	}
	if c.dryRun && len(r.Files) > 0 {
		fmt.Fprintln(w)
	} else if len(r.Files) > 0 {
		fmt.Fprintf(w, "\nwritten, %s:\n", r.Written)
	}
	for _, f := range r.Files {
		fmt.Fprintf(w, "%s\t%d bytes\n", f.Path, f.Bytes)
	}
	return nil
}

// orDash returns a text, or "-" for what is not known.
func orDash(ok bool, text string) string {
	if ok {
		return text
	}
	return "-"
}

// generations shortens a list of targets, oldest first, to the first of those that follow each other.
func generations(names []string) string {
	if len(names) == 0 {
		return ""
	}
	all := target.Names()
	i := slices.Index(all, names[0])
	if slices.Equal(all[i:], names) {
		return names[0] + " on"
	}
	return strings.Join(names, ", ")
}

// weightText lists the weights: of each form the signal-to-noise ratio of the values, and what it saves.
func (c *compressCommand) weightText(w io.Writer, r *compressJSON) error {
	list := slices.Clone(r.Weights)
	if !c.all {
		slices.SortStableFunc(list, func(a, b compress.Weight) int { return cmp.Compare(b.Bytes, a.Bytes) })
		list = list[:min(len(list), shownWeights)]
	}
	measured := slices.ContainsFunc(list, func(x compress.Weight) bool {
		return len(x.Forms) > 0 && x.Forms[0].Error != nil
	})
	what := "signal-to-noise ratio of the values"
	if measured {
		what = "psnr of the outputs with it alone"
	}
	fmt.Fprintf(w, "\nEach weight: %s, and less time where the engine reads it as stored\n", what)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprint(t, "line\tweight\top\tbytes\ttime")
	var forms []string
	for _, x := range r.Rows {
		if compress.FormOf(x.Form) != nil {
			forms = append(forms, x.Form)
			fmt.Fprintf(t, "\t%s", x.Form)
		}
	}
	mixed := c.limit != 0
	if mixed {
		fmt.Fprint(t, "\tmixture")
	}
	fmt.Fprintln(t)
	for _, x := range list {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s", x.Line, x.Name, x.Op, report.ShortBytes(x.Bytes),
			orDash(x.Time > 0, x.Time.Short()))
		for _, form := range forms {
			i := slices.IndexFunc(x.Forms, func(y compress.WeightForm) bool { return y.Form == form })
			if i < 0 {
				fmt.Fprintf(t, "\t%s", orDash(x.Kept != "", "dense"))
				continue
			}
			y := x.Forms[i]
			ratio := y.Ratio
			if y.Error != nil {
				ratio = y.Error.PSNR
			}
			fmt.Fprintf(t, "\t%s, %s", ratio, saves(y.Streams, y.Saves))
		}
		if mixed {
			fmt.Fprintf(t, "\t%s", x.In)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if n := len(r.Weights) - len(list); n > 0 {
		fmt.Fprintf(w, "and %s (--all)\n", diag.Count(n, "smaller weight", "smaller weights"))
	}
	return nil
}

// saves says what a form saves of the time of operations.
func saves(streams bool, t cost.Time) string {
	switch {
	case !streams:
		return "folds"
	case t == 0:
		return "no less"
	case t < 0:
		return "+" + (-t).Short()
	}
	return "-" + t.Short()
}
