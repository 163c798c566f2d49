// Zinc compiles Core ML models to programs for the Apple Neural Engine, and
// runs them on a simulator. `zinc --help` lists what it can do.
package main

import (
	"os"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
	_ "github.com/zinc-compiler/zinc/internal/hugepages"
	"github.com/zinc-compiler/zinc/internal/memlimit"
)

func main() {
	memlimit.Start()
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
