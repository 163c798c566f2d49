package lower

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/target"
)

// TestHazards has for each hazard a task that waits because of it, and for those that are told apart by one fact, the
// task without that fact, which does not wait.
func TestHazards(t *testing.T) {
	row := span{0, 64}
	inL2 := operand{buf: &buffer{}, where: inL2}
	product := func(f footprint) inFlight { return inFlight{draft: &draft{ne: &neuralWork{}, dst: inL2}, foot: f} }
	planar := func(f footprint) inFlight { return inFlight{draft: &draft{pe: &planarWork{}, dst: inL2}, foot: f} }
	first := &inL2
	second := func(f footprint) issued {
		return issued{inFlight: inFlight{draft: &draft{dst: inL2}, at: 1, foot: f}, first: first}
	}
	var none inFlight
	writer, leaver := footprint{give: row}, footprint{leave: row}
	reader, planarReader := footprint{read: [2]span{row}}, footprint{planar: true, read: [2]span{row}}
	fetcher, planarFetcher := footprint{fetch: [2]span{row}}, footprint{planar: true, fetch: [2]span{row}}
	fetches := func(i issued) issued {
		i.fetches = true
		return i
	}
	awaits := func(i issued, bits int) issued {
		i.source |= bits
		return i
	}
	kept := func(f inFlight) inFlight {
		f.draft.keeps = true
		return f
	}
	read := func(f inFlight) inFlight {
		f.read = true
		return f
	}
	scratchRows := &buffer{space: scratch}
	multiplies := func(t *target.Table) issued {
		kernel := &kernelUse{rows: &kernelRows{buf: scratchRows}}
		return issued{inFlight: inFlight{draft: &draft{t: t, kernel: kernel, dst: inL2}, at: 1}, first: first}
	}
	readsOwn := func(t *target.Table) issued {
		d := &draft{t: t, keptBy: product(fetcher).draft, dst: inL2}
		return issued{inFlight: inFlight{draft: d, at: 1, foot: reader}, first: first}
	}
	stages := planar(leaver)
	stages.draft.dst.buf = scratchRows
	const aliasConv = aliasConvSrc | aliasConvRes
	rows, left := map[string]hazard{}, map[string]bool{}
	for _, h := range hazards {
		name := runtime.FuncForPC(reflect.ValueOf(h).Pointer()).Name()
		name = name[strings.LastIndex(name, ".")+1:]
		rows[name], left[name] = h, true
	}
	for _, c := range []struct {
		hazard         string
		neural, planar inFlight
		task           issued
		source, result int
	}{
		{"readsNeural", product(writer), none, second(reader), aliasConvRes, 0},
		{"readsNeural", none, none, second(reader), 0, 0},
		{"readsPlanar", none, planar(writer), second(reader), aliasPlanarRes, 0},
		{"readsPlanar", none, read(planar(writer)), second(reader), 0, 0},
		{"readsKept", kept(product(fetcher)), none, second(planarReader), aliasConvSrc, 0},
		{"readsKept", product(fetcher), none, second(planarReader), 0, 0},
		{"readsKept", none, kept(planar(fetcher)), second(reader), aliasPlanarSrc, 0},
		{"fetchesFirst", none, none, fetches(issued{first: first}), aliasAll, aliasAll},
		{"fetchesFirst", none, none, fetches(second(fetcher)), 0, 0},
		{"fetchesAfterNeural", product(writer), none, fetches(second(fetcher)), aliasConv, aliasConv},
		{"fetchesAfterNeural", product(writer), none, second(reader), 0, 0},
		{"fetchesAfterPlanar", none, planar(leaver), fetches(second(fetcher)), aliasPlanarRes, 0},
		{"fetchesAfterPlanar", none, planar(reader), fetches(second(fetcher)), aliasPlanarSrc, 0},
		{"fetchesAfterPlanar", none, planar(leaver), fetches(second(writer)), 0, aliasPlanarRes},
		{"fetchesForPlanar", product(reader), none, fetches(second(planarFetcher)), aliasConvSrc, 0},
		{"readsKernel", none, stages, multiplies(target.H14), 0, aliasPlanarRes},
		{"readsKernel", none, stages, multiplies(target.H13), 0, 0},
		{"readsOwn", kept(product(fetcher)), none, readsOwn(target.H18g), aliasConvSrc, 0},
		{"readsOwn", kept(product(fetcher)), none, readsOwn(target.H14), 0, 0},
		{"writesOverPlanar", none, planar(reader), second(writer), 0, aliasPlanarSrc},
		{"writesOverPlanar", none, planar(reader), awaits(second(writer), aliasPlanarRes), 0, 0},
	} {
		b := &scoreboard{schedule: &schedule{}, neural: c.neural, planar: c.planar}
		if source, result := rows[c.hazard](b, &c.task); source != c.source || result != c.result {
			t.Errorf("%s: %#x and %#x, want %#x and %#x", c.hazard, source, result, c.source, c.result)
		}
		delete(left, c.hazard)
	}
	for name := range left {
		t.Errorf("no task waits because of %s", name)
	}
}
