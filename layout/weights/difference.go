package weights

// Differences returns the parts of a channelwise kernel of the bytes 1 and -1, which subtracts every second channel
// from the one before it (less_bool_rr_1x64x1x1), each after the table.
func (p *Plan) Differences(t *Table) (data []byte, sizes [MaxCores]int) {
	for c := range min(p.Cores, p.Out) {
		part := make([]byte, TableBytes)
		t.put(part)
		for range p.inputs(c) {
			part = append(part, 1, 0xff)
		}
		part = append(part, make([]byte, align(len(part))-len(part))...)
		data, sizes[c] = append(data, part...), len(part)
	}
	return data, sizes
}

// DifferencesLayout describes the bytes of Differences.
func (p *Plan) DifferencesLayout() []Repeat {
	var l layout
	for c := range min(p.Cores, p.Out) {
		n := 2 * p.inputs(c)
		l.runs(1, run1(Lookup, TableBytes), run1(Values, n), run1(Padding, align(n)-n))
	}
	return l
}

// inputs returns the number of channels that a core takes from a channelwise kernel.
func (p *Plan) inputs(core int) int { return (p.Out-core-1)/p.Cores + 1 }
