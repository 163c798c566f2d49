package lower

import "testing"

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
	reader := footprint{read: [2]span{row}}
	planarReader := footprint{planar: true, read: [2]span{row}}
	fetcher := footprint{fetch: [2]span{row}}
	with := func(i issued, change func(*issued)) issued {
		change(&i)
		return i
	}
	fetches := func(i issued) issued { return with(i, func(i *issued) { i.fetches = true }) }
	kept := func(f inFlight) inFlight {
		f.draft.keeps = true
		return f
	}
	for _, c := range []struct {
		hazard         string
		neural, planar inFlight
		task           issued
		source, result int
	}{
		{"reads a neural result", product(footprint{give: row}), inFlight{}, second(reader), aliasConvRes, 0},
		{"reads a neural result", inFlight{}, inFlight{}, second(reader), 0, 0},
		{"reads a planar result", inFlight{}, planar(footprint{give: row}), second(reader), aliasPlanarRes, 0},
		{"reads a planar result", inFlight{}, inFlight{draft: &draft{}, foot: footprint{give: row}, read: true},
			second(reader), 0, 0},
		{"reads what the other engine has fetched", kept(product(fetcher)), inFlight{}, second(planarReader),
			aliasConvSrc, 0},
		{"reads what the other engine has fetched", product(fetcher), inFlight{}, second(planarReader), 0, 0},
		{"reads what the other engine has fetched", inFlight{}, kept(planar(fetcher)), second(reader),
			aliasPlanarSrc, 0},
		{"fetches first", inFlight{}, inFlight{}, fetches(issued{first: first}), aliasAll, aliasAll},
		{"fetches first", inFlight{}, inFlight{}, fetches(second(fetcher)), 0, 0},
		{"fetches after a neural task, for the neural engine", product(footprint{give: row}), inFlight{},
			fetches(second(fetcher)), aliasConvSrc | aliasConvRes, aliasConvSrc | aliasConvRes},
		{"fetches after a neural task, for the neural engine", product(footprint{give: row}), inFlight{},
			second(reader), 0, 0},
		{"fetches after a planar task, for the neural engine", inFlight{}, planar(footprint{leave: row}),
			fetches(second(fetcher)), aliasPlanarRes, 0},
		{"fetches after a planar task, for the neural engine", inFlight{}, planar(reader),
			fetches(second(fetcher)), aliasPlanarSrc, 0},
		{"fetches after a planar task, for the neural engine", inFlight{}, planar(footprint{leave: row}),
			fetches(second(footprint{give: row})), 0, aliasPlanarRes},
		{"fetches for the planar engine", product(reader), inFlight{},
			fetches(second(footprint{planar: true, fetch: [2]span{row}})), aliasConvSrc, 0},
		{"writes over a planar source", inFlight{}, planar(reader), second(footprint{give: row}), 0, aliasPlanarSrc},
		{"writes over a planar source", inFlight{}, planar(reader),
			with(second(footprint{give: row}), func(i *issued) { i.source = aliasPlanarRes }), 0, 0},
	} {
		b := &scoreboard{chain: &chain{}, neural: c.neural, planar: c.planar}
		found := false
		for _, h := range hazards {
			if h.name != c.hazard {
				continue
			}
			found = true
			if source, result := h.waits(b, &c.task); source != c.source || result != c.result {
				t.Errorf("%s: %#x and %#x, want %#x and %#x", h.name, source, result, c.source, c.result)
			}
		}
		if !found {
			t.Errorf("no hazard %q", c.hazard)
		}
	}
}
