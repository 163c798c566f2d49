package lower

import (
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// TestRowsAreLaidOutByLanes compares the pass that lays out the rows of a product, and the product, with recorded
// programs of h14: of 8 rows (matmul_m8_k256_n256_ty1), of 64 (chain_ffn_d256_s64, and matmul_m64_k512_n256_ty1, whose
// result leaves), and of 128 (the transposed keys of an attention over 128 positions).
func TestRowsAreLaidOutByLanes(t *testing.T) {
	for _, c := range []struct {
		name                 string
		rows, terms, columns int64
		live                 bool // the other operand comes from the host
		after                int  // tasks of a product that reads the result; 0: it leaves
		pass, product        map[td.Field]uint32
	}{
		{name: "8 rows", rows: 8, terms: 256, columns: 256,
			pass: map[td.Field]uint32{td.OCGSize: 0, td.UnicastCin: 1, td.LaneGroups: 0, td.ShMax: 3, td.ShPref: 3,
				td.ShMin: 0},
			product: map[td.Field]uint32{td.OCGSize: 4, td.SmallSource: 1, td.SrcDependent: 0}},
		{name: "64 rows", rows: 64, terms: 256, columns: 1024, after: 1,
			pass: map[td.Field]uint32{td.OCGSize: 2, td.UnicastCin: 4, td.LaneGroups: 1, td.ShMax: 2, td.ShPref: 2,
				td.ShMin: 0, td.ActiveNE: 4},
			product: map[td.Field]uint32{td.OCGSize: 5, td.SmallSource: 1, td.SrcDependent: 1, td.LaneGroups: 0}},
		{name: "64 rows that leave", rows: 64, terms: 512, columns: 256,
			pass: map[td.Field]uint32{td.OCGSize: 2, td.UnicastCin: 4, td.LaneGroups: 1, td.ShMax: 2, td.ShPref: 2,
				td.ShMin: 0, td.ActiveNE: 4},
			product: map[td.Field]uint32{td.OCGSize: 4, td.SmallSource: 1, td.SrcDependent: 0, td.LaneGroups: 0}},
		{name: "128 rows of a live tensor", rows: 128, terms: 64, columns: 128, live: true, after: 2,
			pass: map[td.Field]uint32{td.OCGSize: 3, td.UnicastCin: 8, td.LaneGroups: 1, td.ShMax: 1, td.ShPref: 1,
				td.ShMin: 1},
			product: map[td.Field]uint32{td.OCGSize: 3, td.SmallSource: 0, td.SrcDependent: 1, td.LaneGroups: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tasks := packedTasks(t, func(g *irbuild.Graph) *ir.Value {
				product := func(x, y *ir.Value) *ir.Value {
					return g.Op("matmul", "x", x, "y", y, "transpose_x", false, "transpose_y", true)
				}
				rows := g.Input(c.rows, c.terms)
				switch {
				case c.live:
					return product(product(g.Input(c.columns, c.terms), rows), g.Weights(64, c.rows))
				case c.after == 0:
					return product(rows, g.Weights(c.columns, c.terms))
				}
				return product(product(rows, g.Weights(c.columns, c.terms)), g.Weights(64, c.columns))
			})
			n := len(tasks) - c.after
			for _, x := range []struct {
				what string
				task *td.Task
				want map[td.Field]uint32
			}{{"pass", tasks[n-2], c.pass}, {"product", tasks[n-1], c.product}} {
				for f, want := range x.want {
					if got := x.task.Get(f); got != want {
						t.Errorf("%s of %s: %d, recorded %d", f, x.what, got, want)
					}
				}
			}
		})
	}
}

// packedTasks returns the tasks of a program for h14.
func packedTasks(t *testing.T, build func(g *irbuild.Graph) *ir.Value) []*td.Task {
	t.Helper()
	g := irbuild.New(1)
	seg := segmentOf(g, build(g))
	seg.Codec, seg.Keep = td.V11, true
	p, err := Lower(seg, target.H14, &weights.Section{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Tasks
}
