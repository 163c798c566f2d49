package sim_test

import (
	"fmt"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
)

// TestFoldedProducts runs products of 64 rows, which compute on 8x8 images, and similar ones, which do not: alone,
// followed by another, and between others.
func TestFoldedProducts(t *testing.T) {
	var samples []sample
	for _, c := range [][3]int64{{64, 40, 257}, {64, 33, 600}, {63, 33, 600}, {65, 33, 600}, {64, 33, 256},
		{64, 300, 300}, {1, 40, 72}, {8, 40, 72}} {
		m, k, n := c[0], c[1], c[2]
		samples = append(samples,
			sample{name: fmt.Sprintf("product %v", c), build: func(g *irbuild.Graph) {
				g.Output(g.Op("matmul", "x", g.Input(m, k), "y", g.Weights(n, k), "transpose_y", true))
			}},
			sample{name: fmt.Sprintf("product and relu of a leading one %v", c), build: func(g *irbuild.Graph) {
				y := g.Op("linear", "x", g.Input(1, m, k), "weight", g.Weights(n, k), "bias", g.Weights(n))
				g.Output(g.Op("relu", "x", y))
			}},
			sample{name: fmt.Sprintf("two products %v", c), build: func(g *irbuild.Graph) {
				y := g.Op("matmul", "x", g.Input(m, k), "y", g.Weights(n, k), "transpose_y", true)
				g.Output(g.Op("matmul", "x", y, "y", g.Weights(24, n), "transpose_y", true))
			}},
			sample{name: fmt.Sprintf("inner product %v", c), build: func(g *irbuild.Graph) {
				x := g.Op("abs", "x", g.Input(m, k))
				y := g.Op("matmul", "x", x, "y", g.Weights(n, k), "transpose_y", true)
				g.Output(g.Op("add", "x", y, "y", g.Input(m, n)))
			}})
	}
	runSamples(t, samples)
}
