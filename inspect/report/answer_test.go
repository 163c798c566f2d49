package report

import (
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
)

// TestAnswerMentionsCompressedWeightsThatSave has forms that save a tenth of the time, and a thousandth.
func TestAnswerMentionsCompressedWeightsThatSave(t *testing.T) {
	for saves, want := range map[cost.Time]string{
		cost.Micros(100): "DMA reads 2.4 MB of fp16 weights a call; the hardware also reads compressed ones, which " +
			"would save\n     100 us as palettes of 4 bits, 50 us as sparse with half of them zero\n     " +
			"zinc streams palettes of 4 bits where the model stores them; it writes other forms as dense fp16 " +
			"weights (zinc-cannot-yet)\n",
		cost.Micros(1): "",
	} {
		forms := []compile.FormTime{{Form: "palette4", Saves: saves, Written: true}, {Form: "sparse", Saves: saves / 2}}
		e := &compile.Estimate{Terms: cost.Split{cost.DMA: cost.Micros(1000)}, DenseBytes: 2_400_000, Forms: forms}
		var b strings.Builder
		if err := WriteAnswer(&b, &Document{Report: &compile.Report{Estimate: e}}, ""); err != nil {
			t.Fatal(err)
		}
		if want == "" && strings.Contains(b.String(), "weights") || !strings.Contains(b.String(), want) {
			t.Errorf("saving %s us:\n%s\nwant %q", saves, &b, want)
		}
	}
}
