package main

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The tables: published times, the graphs that they are of, and the chips.
var (
	//go:embed points.tsv
	pointTable string
	//go:embed graphs.tsv
	graphTable string
	//go:embed chips.tsv
	chipTable string
)

// graphRow is a graph of the table.
type graphRow struct {
	name, family string
	copies       bool    // the host copies inputs and outputs
	calls        float64 // calls that the published time is of
	description  string
}

// pointRow is a published time.
type pointRow struct {
	graph, chip string
	us          float64
	derived     bool // from a published rate, not measured as a time
	figure      string
	source      string
	omitted     string // why it is not used, "" if it is
}

// chipRow is a chip of the table.
type chipRow struct {
	chip, inherits string
	start          [rates]float64 // published figures, 0 for the rates of the chip that it inherits from
	fixed          [rates]bool    // the figure is what was measured, so it is not fitted
	source         string
}

// rows returns the rows of a table without its heading.
func rows(name, table string, columns int) ([][]string, error) {
	var out [][]string
	for i, line := range strings.Split(strings.TrimRight(table, "\n"), "\n") {
		f := strings.Split(line, "\t")
		if len(f) != columns {
			return nil, fmt.Errorf("%s:%d: %d columns, want %d", name, i+1, len(f), columns)
		}
		if i > 0 {
			out = append(out, f)
		}
	}
	return out, nil
}

func readGraphs() (map[string]graphRow, error) {
	all, err := rows("graphs.tsv", graphTable, 5)
	if err != nil {
		return nil, err
	}
	out := map[string]graphRow{}
	for _, f := range all {
		calls, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			return nil, fmt.Errorf("graphs.tsv: %s: %w", f[0], err)
		}
		out[f[0]] = graphRow{name: f[0], family: f[1], copies: f[2] == "yes", calls: calls, description: f[4]}
	}
	return out, nil
}

// farApart is the ratio from which two times of a graph on a chip say that neither is what a call takes: on the M2 Pro
// a small call takes 110 us as the least of a few and 276 in a loop of six seconds.
const farApart = 1.5

// readPoints returns the published times that are used, at most one for each graph and chip: the least of the measured
// ones or, if there are none, of the derived ones. Of two that are far apart it is the geometric mean.
func readPoints(graphs map[string]graphRow) ([]pointRow, error) {
	all, err := rows("points.tsv", pointTable, 7)
	if err != nil {
		return nil, err
	}
	var out []pointRow
	for _, f := range all {
		p := pointRow{graph: f[0], chip: f[1], derived: f[3] == "derived", figure: f[4], source: f[5], omitted: f[6]}
		if p.us, err = strconv.ParseFloat(f[2], 64); err != nil {
			return nil, fmt.Errorf("points.tsv: %s: %w", f[0], err)
		}
		if p.omitted != "" {
			continue
		}
		g, ok := graphs[p.graph]
		if !ok {
			return nil, fmt.Errorf("points.tsv: %s is not in graphs.tsv", p.graph)
		}
		p.us /= g.calls
		i := slices.IndexFunc(out, func(o pointRow) bool { return o.graph == p.graph && o.chip == p.chip })
		switch {
		case i < 0:
			out = append(out, p)
		case out[i].derived && !p.derived:
			out[i] = p
		case !out[i].derived && p.derived:
		case max(p.us, out[i].us) > farApart*min(p.us, out[i].us):
			out[i].us = math.Sqrt(p.us * out[i].us)
		case p.us < out[i].us:
			out[i] = p
		}
	}
	return out, nil
}

func readChips() ([]chipRow, error) {
	all, err := rows("chips.tsv", chipTable, 8)
	if err != nil {
		return nil, err
	}
	var out []chipRow
	for _, f := range all {
		c := chipRow{chip: f[0], inherits: f[1], source: f[7]}
		for i := range rates {
			if f[2+i] == "-" {
				continue
			}
			figure, fixed := strings.CutPrefix(f[2+i], "=")
			v, err := strconv.ParseFloat(figure, 64)
			if err != nil {
				return nil, fmt.Errorf("chips.tsv: %s: %w", c.chip, err)
			}
			c.start[i], c.fixed[i] = v*units[i], fixed
		}
		out = append(out, c)
	}
	return out, nil
}
