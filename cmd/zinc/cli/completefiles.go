package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/frontend"
)

// Extensions of files that operands name. Models may also be folders.
var (
	modelKinds     = []string{".mil", ".mlmodel", ".mlmodelc", ".mlpackage", ".plist"}
	containerKinds = []string{pair.ContainerExt}
	runnableKinds  = slices.Concat(containerKinds, modelKinds)
	planKinds      = []string{".json", ".jsonl", ".csv", ".tsv", ".txt", ".mil", ".mlperf"}
	dumpedKinds    = slices.Concat(runnableKinds, []string{pair.DescriptorExt, pair.DebugExt, ".bin"})
)

// operandFiles are the extensions of the files that each operand of a command may name; the last element also holds for
// further operands. An element that is nil is for an operand that is not a file.
var operandFiles = map[string][][]string{
	"zinc":              {modelKinds},
	"zinc check":        {modelKinds},
	"zinc convert":      {modelKinds},
	"zinc compress":     {modelKinds},
	"zinc coreml rates": {planKinds},
	"zinc device":       {runnableKinds},
	"zinc diff":         {runnableKinds},
	"zinc dump":         {dumpedKinds},
	"zinc explain":      {modelKinds},
	"zinc explore":      {modelKinds},
	"zinc generate":     {nil, modelKinds},
	"zinc lint":         {modelKinds},
	"zinc load":         {{".json"}},
	"zinc patch":        {containerKinds},
	"zinc prove":        {containerKinds, modelKinds},
	"zinc reduce":       {modelKinds},
	"zinc run":          {runnableKinds},
	"zinc split":        {modelKinds},
	"zinc stack":        {runnableKinds},
	"zinc verify":       {modelKinds},
	"zinc watch":        {modelKinds},
}

// completeOperands returns the completion of operands that name files with some extensions. Shells cannot complete a
// command, which the first word of zinc may be, and files of certain kinds at the same time, nor all of them folders
// that are models, so zinc lists the files itself.
func completeOperands(kinds [][]string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		kind := kinds[min(len(args), len(kinds)-1)]
		switch {
		case kind == nil:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case strings.HasPrefix(word, "~"): // which the shell expands
			return nil, cobra.ShellCompDirectiveDefault
		}
		found, enter := operandsLike(word, kind)
		directive := cobra.ShellCompDirectiveNoFileComp
		if enter {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return found, directive
	}
}

// operandsLike lists the files and folders that begin with word and are of a kind, and folders that may have some in
// them, with a separator. Enter reports that there is only a folder, for which the word goes on.
func operandsLike(word string, kind []string) (found []string, enter bool) {
	folder, prefix := filepath.Split(word)
	entries, err := os.ReadDir(filepath.Join(folder, "."))
	if err != nil {
		return nil, false
	}
	for _, d := range entries {
		name := d.Name()
		if !strings.HasPrefix(name, prefix) || prefix == "" && strings.HasPrefix(name, ".") {
			continue
		}
		path := folder + name
		info, err := os.Stat(path) // follows links
		if err != nil {
			continue
		}
		switch {
		case slices.Contains(kind, filepath.Ext(name)):
			found = append(found, path)
		case info.IsDir() && slices.Contains(kind, filepath.Ext(frontend.TextName)) &&
			isRegular(filepath.Join(path, frontend.TextName)):
			found = append(found, path)
		case info.IsDir():
			found = append(found, path+string(filepath.Separator))
		}
	}
	return found, len(found) == 1 && strings.HasSuffix(found[0], string(filepath.Separator))
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
