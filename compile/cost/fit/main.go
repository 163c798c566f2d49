// Command fit fits the constants of package cost to published times of calls.
//
// In: tables beside it of published times, of the graphs that they are of, and of the chips. It compiles every graph,
// estimates zinc's program of it, and chooses the constants with the least errors. Out: the table of published times,
// estimates and bands, and the errors of points and of families that were left out; or with -write the tables that
// package cost embeds.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/zinc-compiler/zinc/compile/cost"
)

func main() {
	write := flag.String("write", "", "write chips.go and points.go into this `folder`, compile/cost")
	flag.Parse()
	if err := run(*write); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	chips, err := load()
	if err != nil {
		return err
	}
	for _, c := range chips {
		c.fit()
	}
	for _, c := range chips {
		c.band(chips)
	}
	if folder != "" {
		return writeTables(folder, chips)
	}
	for _, c := range chips {
		c.print(os.Stdout)
	}
	return nil
}

// load reads the tables and compiles the graphs.
func load() ([]*chip, error) {
	graphs, err := readGraphs()
	if err != nil {
		return nil, err
	}
	times, err := readPoints(graphs)
	if err != nil {
		return nil, err
	}
	rows, err := readChips()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fit")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	programs := map[string]*program{}
	var chips []*chip
	for _, row := range rows {
		c := &chip{chipRow: row}
		if i := slices.IndexFunc(chips, func(o *chip) bool { return o.chip == row.inherits }); i >= 0 {
			c.parent = chips[i]
		}
		chips = append(chips, c)
		for _, t := range times {
			if t.chip != row.chip {
				continue
			}
			g := graphs[t.graph]
			if programs[t.graph] == nil {
				if programs[t.graph], err = compiled(&g, dir); err != nil {
					return nil, err
				}
			}
			c.points = append(c.points, newPoint(t, &g, programs[t.graph]))
		}
	}
	return chips, nil
}

func newPoint(t pointRow, g *graphRow, p *program) *point {
	x := &point{pointRow: t, family: g.family, program: p, description: g.description}
	for i := range p.tasks {
		x.apart = x.apart || p.tasks[i].part > cost.PartWork
	}
	return x
}
