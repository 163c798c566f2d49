package ir

// Nearest returns the operation name closest to name by edit distance, "" if none is close enough to suggest.
func Nearest(name string) string { return NearestOf(name, Names()) }

// NearestParam returns the parameter of d closest to name, "" if none is close.
func NearestParam(d *OpDef, name string) string {
	ns := make([]string, len(d.Params))
	for i, p := range d.Params {
		ns[i] = string(p.Name)
	}
	return NearestOf(name, ns)
}

// maxNearest is the maximum length of a name to compare.
const maxNearest = 64

// NearestOf returns the name closest to name among others, "" if none is close.
func NearestOf(name string, among []string) string {
	if len(name) > maxNearest {
		return ""
	}
	best, at := 1+max(len(name), 3)/3, ""
	for _, n := range among {
		if d := EditDistance(name, n); d < best {
			best, at = d, n
		}
	}
	return at
}

// EditDistance is the least number of insertions, deletions and replacements
// that turn a into b.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// LookupArgs returns the form of that name that has all the named arguments: the newest such form not newer than
// the opset, else the oldest such form, else the result of Lookup. Compiled programs contain forms older than
// their opset (constexpr operations with packed attributes).
func LookupArgs(name, opset string, args []ParamName) *OpDef {
	takes := func(d *OpDef) bool {
		for _, a := range args {
			if d.ParamIndex(a) < 0 {
				return false
			}
		}
		return true
	}
	var old, later *OpDef
	for _, f := range Forms(name) {
		switch {
		case !takes(f):
		case OpsetNumber(f.Since) <= OpsetNumber(opset):
			old = f
		case later == nil:
			later = f
		}
	}
	if old != nil {
		return old
	}
	if later != nil {
		return later
	}
	return Lookup(name, opset)
}

// NewOp returns an operation of that row with empty argument lists.
func NewOp(d *OpDef) *Op { return &Op{Def: d, Args: make([][]*Value, len(d.Params))} }
