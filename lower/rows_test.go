package lower

import (
	"fmt"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/target"
)

// TestReshapesExchangeWholeRows checks that a change of rows keeps rows together: what it writes takes at most eight
// times the bytes of the tensor; one pass with single elements in rows of their own takes thirty-two times as many.
func TestReshapesExchangeWholeRows(t *testing.T) {
	for _, c := range []struct{ from, to []int64 }{
		{[]int64{1, 1024, 320}, []int64{1, 1024, 8, 40}},
		{[]int64{1, 8, 256, 40}, []int64{8, 256 * 40}},
		{[]int64{1, 1024, 640}, []int64{1, 1024, 8, 80}},
		{[]int64{1, 1024, 8, 80}, []int64{1, 1024, 640}},
		{[]int64{1, 65, 80, 80}, []int64{1, 65, 6400}},
		{[]int64{1, 65, 20, 20}, []int64{1, 65, 400}},
		{[]int64{1, 6400}, []int64{80, 80}},
		{[]int64{640, 50}, []int64{800, 40}},
		{[]int64{1, 4096, 640}, []int64{1, 4096, 8, 80}}, // more elements than are moved one by one
	} {
		t.Run(fmt.Sprint(c.from, c.to), func(t *testing.T) {
			g := irbuild.New(1)
			x := g.Input(c.from...)
			seg := segmentOf(g, g.Op("reshape", "x", x, "shape", c.to))
			if _, err := accept(seg.Ops[0], target.H13, nil); err != nil {
				t.Fatal(err)
			}
			b := newBuilder(seg, target.H13, &weights.Section{})
			if err := b.makeDrafts(seg); err != nil {
				t.Fatal(err)
			}
			written := int64(0)
			seen := map[*buffer]bool{}
			for _, d := range b.drafts {
				if buf := d.dst.buf; !seen[buf] {
					seen[buf] = true
					written += buf.size
				}
			}
			if most := 8 * x.Type.Bytes(); written > most {
				t.Errorf("%d tasks write %d bytes, want at most %d", len(b.drafts), written, most)
			}
		})
	}
}
