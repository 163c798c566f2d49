// Models writes models with the structure and size of published ones, for trying zinc's commands:
//
//	go run ./examples/models yolo -o dist/yolo
//
// The folder has model.mil and weights/weight.bin. The weights are random, so that the model's cost is real and its
// results mean nothing. The same name gives the same bytes each time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/zinc-compiler/zinc/internal/test/irmodels"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "models:", err)
		os.Exit(1)
	}
}

// run writes the model that the arguments name.
func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("models", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	to := flags.String("o", "", "write the model to `DIR`")
	var names []string
	for len(args) > 0 { // flags may follow the name
		if err := flags.Parse(args); err != nil {
			return usage(err)
		}
		if args = flags.Args(); len(args) > 0 {
			names, args = append(names, args[0]), args[1:]
		}
	}
	if len(names) != 1 || *to == "" {
		return usage(errors.New("want one model and -o DIR"))
	}
	m := irmodels.Find(names[0])
	if m == nil {
		return usage(fmt.Errorf("unknown model %q", names[0]))
	}
	p := m.Program()
	if _, err := reduce.Write(ctx, p, *to); err != nil {
		return err
	}
	text, weights := reduce.Files(*to)
	fmt.Fprintf(out, "%s: %d operations; %s and %s\n", m.Name, len(p.Funcs[0].Body.Ops), text, weights)
	return nil
}

// usage adds how the program is used to an error.
func usage(err error) error {
	text := err.Error() + "\nusage: go run ./examples/models MODEL -o DIR\nmodels:"
	for i := range irmodels.Models {
		m := &irmodels.Models[i]
		text += fmt.Sprintf("\n  %-5s %s", m.Name, m.Doc)
	}
	return errors.New(text)
}
