package cli

import (
	"github.com/zinc-compiler/zinc/analysis/coreml"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/inspect/compare"
	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// flagWords are the completions of flags that are not a choice, by name. A flag that takes a list accepts a comma and
// further words after one.
var flagWords = map[string]func() []string{
	"target":      func() []string { return append(target.Spellings(everyTable), allTargets) },
	"target-a":    func() []string { return target.Spellings(everyTable) },
	"target-b":    func() []string { return target.Spellings(everyTable) },
	"print-after": func() []string { return append(passes.Names(), "all") },
	"layers":      func() []string { return layerList(trace.Layer.String) },
	"report":      func() []string { return append(report.Names(), noReport) },
	"op":          ir.Names,
	"level":       func() []string { return append(compare.LevelNames(), string(compare.Outputs)) },
}

// commandFlagWords override flagWords for one command.
var commandFlagWords = map[string]func() []string{
	"zinc --target": compiledTargets, "zinc run --target": compiledTargets, "zinc verify --target": compiledTargets,
	"zinc reduce --target": compiledTargets, "zinc reduce --pass": reduce.PassNames,
	"zinc stack --target": compiledTargets, "zinc generate --target": compiledTargets,
	"zinc patch --target": compiledTargets,
}

// compiledTargets are the names of targets and chips that zinc writes programs for.
func compiledTargets() []string { return target.Spellings(compiles) }

// wordsOrFiles are the words of flags that also take a file.
var wordsOrFiles = map[string]func() []string{
	"zinc check --rules":       coreml.Names,
	"zinc coreml rates --base": coreml.Names,
	"zinc reduce --predicate": func() (out []string) {
		for _, b := range reduce.Builtins {
			if b.Arg != "" {
				b.Name += "="
			}
			out = append(out, b.Name)
		}
		return out
	},
}

// completes registers the shell completions of flags and operands: the words of a choice, targets, passes, report
// formats, folders, names of operations, files that the operand may be; for other flags any file.
func completes(c *cobra.Command) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if words, directive := completion(c, f); words != nil || directive != cobra.ShellCompDirectiveDefault {
			// The only error is a second registration, which the loop does not make.
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, directive))
		}
	})
	if kinds := operandFiles[c.CommandPath()]; kinds != nil {
		c.ValidArgsFunction = completeOperands(kinds)
	}
	switch c.CommandPath() {
	case "zinc ops":
		c.ValidArgsFunction = cobra.FixedCompletions(ir.Names(), cobra.ShellCompDirectiveNoFileComp)
	case "zinc targets":
		c.ValidArgsFunction = cobra.FixedCompletions(target.Spellings(everyTable), cobra.ShellCompDirectiveNoFileComp)
	case "zinc version":
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, s := range c.Commands() {
		completes(s)
	}
}

// noFile are the types of flag values that are not file names.
var noFile = []string{"int", "int64", "uint64", "float64", "limit", "bool"}

func completion(c *cobra.Command, f *pflag.Flag) ([]string, cobra.ShellCompDirective) {
	if x, ok := f.Value.(*choice); ok {
		return slices.Clone(x.words), cobra.ShellCompDirectiveNoFileComp
	}
	if words := commandFlagWords[c.CommandPath()+" --"+f.Name]; words != nil {
		return words(), cobra.ShellCompDirectiveNoFileComp
	}
	if words := wordsOrFiles[c.CommandPath()+" --"+f.Name]; words != nil {
		return words(), cobra.ShellCompDirectiveDefault
	}
	if words := flagWords[f.Name]; words != nil {
		return words(), cobra.ShellCompDirectiveNoFileComp
	}
	if operand, _ := pflag.UnquoteUsage(f); operand == "FOLDER" {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	if slices.Contains(noFile, f.Value.Type()) || f.Name == "func" || f.Name == "shape" || f.Name == dump.PartTask {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}
