package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

const (
	groupUnderstand = "understand"
	groupRun        = "run"
	groupChange     = "change"
	groupServe      = "serve"
	groupZinc       = "zinc"
)

// newRoot returns the command tree. The root command itself compiles.
func newRoot(e *env) *cobra.Command {
	root := newCompile(e)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddGroup(
		&cobra.Group{ID: groupUnderstand, Title: "Understand a model or a file:"},
		&cobra.Group{ID: groupRun, Title: "Run and verify:"},
		&cobra.Group{ID: groupChange, Title: "Change and compare:"},
		&cobra.Group{ID: groupServe, Title: "Embed and browse:"},
		&cobra.Group{ID: groupZinc, Title: "zinc itself:"},
	)
	root.SetHelpCommandGroupID(groupZinc)
	root.SetCompletionCommandGroupID(groupZinc)
	root.AddCommand(newRun(e), newVerify(e), newProve(e), newReduce(e), newCheck(e), newExplain(e), newLint(e),
		newWatch(e),
		newPatch(e), newConvert(e), newCompress(e), newSplit(e), newGenerate(e),
		newStack(e), newDevice(e), newServe(e), newTop(e), newLoad(e), newSession(e),
		newExplore(e), newDump(e), newDiff(e),
		newCache(e), newOps(e), newTargets(e), newCoreML(e), newMan(e), newVersion(e))

	root.Version = ownVersion().Text()
	root.SetVersionTemplate("{{.Version}}")
	root.Flags().BoolP("version", "V", false, "print the version of zinc, as zinc version does")

	p := root.PersistentFlags()
	p.Var(newChoice(&e.diagnostics, "text", "json"), "diagnostics", "format of errors on standard error: text or "+
		"json (default json with --json)")
	p.Var(&e.memory, "max-memory", "limit of the values of a run and of decompressed weights, as in 512MiB or 4GiB "+
		"(default half of the machine's memory, at most 16GiB)")
	p.Var(newChoice(&e.color, "auto", "always", "never"), "color",
		"colors in text and errors: auto (on a terminal), always or never")
	p.BoolVarP(&e.quiet, "quiet", "q", false, "print results and errors only")
	p.StringVar(&e.profile.cpu, "cpuprofile", "", "write a CPU profile to this file")
	p.StringVar(&e.profile.mem, "memprofile", "", "write a memory profile to this file")
	p.MarkHidden("cpuprofile")
	p.MarkHidden("memprofile")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if e.inSession != nil && slices.Contains(endless, c.Name()) {
			return usagef("%s runs until it is interrupted, so it cannot be a request of a session; run it as a "+
				"process of its own", c.CommandPath())
		}
		if err := e.limitMemory(c.Flags().Changed("max-memory")); err != nil {
			return err
		}
		if asJSON := c.Flags().Lookup("json"); asJSON != nil && asJSON.Value.String() == "true" &&
			!c.Flags().Changed("diagnostics") {
			e.diagnostics = "json"
		}
		return e.profile.start()
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return &usageError{nearFlag(c, err)} })
	root.AddCommand(&cobra.Command{
		Use:   "exit-status",
		Short: "Exit statuses of every command",
		Long: "Exit statuses:\n\n" + statusText() +
			"\nzinc diff has the statuses of diff(1), and zinc reduce --help describes those of its command.",
	})
	root.AddCommand(&cobra.Command{
		Use:   "environment",
		Short: "Environment variables that zinc reads",
		Long:  "Environment variables:\n\n" + environmentText(),
	})
	e.setHelp(root)
	e.addHelpJSON(root)
	if e.completes {
		completes(root)
	}
	return root
}

// endless are the commands that run until they are interrupted.
var endless = []string{"serve", "top", "watch", "explore", "session"}

// limitMemory sets the limit of the process, which the requests of a session share.
func (e *env) limitMemory(set bool) error {
	switch {
	case e.inSession == nil:
		memlimit.Set(int64(e.memory))
	case set:
		return usagef("--max-memory is a limit of the whole process; set it on zinc session")
	}
	return nil
}

// nearFlag adds to the error of an unknown flag the name of the flag that is most like it.
func nearFlag(c *cobra.Command, err error) error {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	name := unknown.GetSpecifiedName()
	best, off := "", len(name)/3+1
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := ir.EditDistance(name, f.Name); !f.Hidden && d < off {
			best, off = f.Name, d
		}
	})
	if best == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, best)
}

// operands returns a check that a command has lo to hi operands; want describes them in errors.
func operands(lo, hi int, want string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		name := ""
		if c.HasParent() {
			name = c.Name() + ": "
		}
		switch {
		case len(args) < lo:
			return usagef("%smissing operand; want %s", name, want)
		case len(args) > hi:
			return usagef("%sunexpected operand %q; want %s", name, args[hi], want)
		}
		return nil
	}
}

// unknownCommand returns an error for a first operand that is neither a file nor a command.
func (e *env) unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 || strings.ContainsAny(args[0], `./\`) || e.stdin.IsStdin(args[0]) {
		return nil
	}
	if _, err := os.Lstat(args[0]); err == nil {
		return nil
	}
	msg := fmt.Sprintf("%q is neither a file nor a command", args[0])
	c.SuggestionsMinimumDistance = 2
	if s := c.SuggestionsFor(args[0]); len(s) > 0 {
		slices.Sort(s)
		msg += "; did you mean " + strings.Join(s, " or ") + "?"
	}
	return usagef("%s", msg)
}

// byteCount is the value of a flag that takes a number of bytes; 0 is not set.
type byteCount int64

// units are the suffixes of a number of bytes.
var units = []struct {
	suffix string
	shift  int
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"", 0}}

func (n *byteCount) Type() string { return "BYTES" }

func (n *byteCount) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}

// Set implements pflag.Value.
func (n *byteCount) Set(s string) error {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		k, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || k < 1 || k > math.MaxInt64>>u.shift {
			break
		}
		*n = byteCount(k << u.shift)
		return nil
	}
	return errors.New("want a number of bytes from 1 on, as in 512MiB or 4GiB")
}

// choice is the value of a flag that takes one of a few words.
type choice struct {
	value *string
	words []string
}

// newChoice returns the flag's value; the first word is the default unless *value is already set.
func newChoice(value *string, words ...string) *choice {
	if *value == "" {
		*value = words[0]
	}
	return &choice{value, words}
}

// newArithmetic returns the choice of a numerics mode; the default is the engine's own.
func newArithmetic(value *string) *choice {
	words := append(slices.Clone(numerics.ModeNames()[1:]), numerics.IEEE.String())
	*value = cmp.Or(*value, numerics.ANE.String())
	return newChoice(value, words...)
}

func (c *choice) String() string { return *c.value }

// Type implements pflag.Value: the words, or WORD where they would fill a line of the help.
func (c *choice) Type() string {
	if t := strings.Join(c.words, "|"); len(t) <= maxWords {
		return t
	}
	return "WORD"
}

// maxWords is the length of the words of a choice that stand beside the flag in its help.
const maxWords = 26

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("must be %s", strings.Join(c.words, " or "))
	}
	*c.value = s
	return nil
}
