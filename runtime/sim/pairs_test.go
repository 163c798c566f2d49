package sim_test

import (
	"fmt"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
)

// TestPairedColumns runs depthwise convolutions of one row at the bounds within which two columns are computed at a
// time, for odd and even widths, with and without bias.
func TestPairedColumns(t *testing.T) {
	var samples []sample
	for _, c := range [][4]int64{{1, 20, 257, 9}, {2, 16, 300, 11}, {1, 5, 258, 13}, {1, 18, 256, 9}, {1, 18, 300, 7},
		{1, 18, 300, 10}} {
		n, ch, w, k := c[0], c[1], c[2], c[3]
		for _, pad := range []string{"same", "valid"} {
			samples = append(samples,
				sample{name: fmt.Sprintf("%v %s", c, pad), build: func(g *irbuild.Graph) {
					g.Output(g.Op("conv", "x", g.Input(n, ch, 1, w), "weight", g.Weights(ch, 1, 1, k), "pad_type", pad,
						"groups", ch))
				}},
				sample{name: fmt.Sprintf("%v %s bias relu", c, pad), build: func(g *irbuild.Graph) {
					y := g.Op("conv", "x", g.Input(n, ch, 1, w), "weight", g.Weights(ch, 1, 1, k), "bias",
						g.Weights(ch), "pad_type", pad, "groups", ch)
					g.Output(g.Op("relu", "x", y))
				}},
				sample{name: fmt.Sprintf("%v %s table", c, pad), build: func(g *irbuild.Graph) {
					y := g.Op("conv", "x", g.Input(n, ch, 1, w), "weight", g.Weights(ch, 1, 1, k), "pad_type", pad,
						"groups", ch)
					g.Output(g.Op("sigmoid", "x", y))
				}})
		}
	}
	runSamples(t, samples)
}
