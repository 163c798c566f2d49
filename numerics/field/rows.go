package field

// AddRow sets v[i] to v[i] + b[i], or v[i] + b[0] if b has one element.
func AddRow(v, b []Elem) { combine(v, b, addRow, Add) }

// MulRow sets v[i] to v[i] b[i], or v[i] b[0] if b has one element.
func MulRow(v, b []Elem) { combine(v, b, mulRow, Mul) }

// combine sets v[i] to f(v[i], b[i]), or f(v[i], b[0]) if b has one element. kernel does the same; it may be nil.
func combine(v, b []Elem, kernel rowKernel, f func(x, y Elem) Elem) {
	switch {
	case limbs && len(v) >= stripColumns && kernel != nil:
		kernel.run(v, b)
	case len(b) == 1:
		for i, x := range v {
			v[i] = f(x, b[0])
		}
	default:
		for i, y := range b[:len(v)] {
			v[i] = f(v[i], y)
		}
	}
}

// Sum adds elements.
func Sum(v []Elem) Elem {
	var high, low uint64 // of halves, whose sums have room for 2^32 elements
	for _, x := range v {
		high += uint64(x) >> 32
		low += uint64(x) & (1<<32 - 1)
	}
	return Add(Mul(Elem(high%P), 1<<32), Elem(low%P))
}

// SubRow sets v[i] to Sub(v[i], b[i]), or Sub(v[i], b[0]) if b has one element.
func (f *Functions) SubRow(v, b []Elem) {
	if f.plain(b) && finite(v) {
		combine(v, b, subRow, Sub)
	} else {
		combine(v, b, nil, f.Sub)
	}
}

// MulRow sets v[i] to Mul(v[i], b[i]), or Mul(v[i], b[0]) if b has one element.
func (f *Functions) MulRow(v, b []Elem) {
	if f.plain(b) {
		MulRow(v, b)
	} else {
		combine(v, b, nil, f.Mul)
	}
}

// MaxRow sets v[i] to Max(v[i], b[i]), or Max(v[i], b[0]) if b has one element.
func (f *Functions) MaxRow(v, b []Elem) { combine(v, b, nil, f.Max) }

// MinRow is MaxRow for the lesser.
func (f *Functions) MinRow(v, b []Elem) { combine(v, b, nil, f.Min) }

// plain reports that no element has a difference or a product of its own: none is infinite or may be a boolean.
func (f *Functions) plain(v []Elem) bool {
	for _, x := range v {
		if x <= 1 || f.filtered(x) {
			return false
		}
	}
	return finite(v)
}

func finite(v []Elem) bool {
	for _, x := range v {
		if x == Infinity || x == P-Infinity {
			return false
		}
	}
	return true
}

// HashRow replaces elements by their hashes.
func (f *Functions) HashRow(name uint64, v []Elem) {
	if limbs && len(v) >= stripColumns {
		f.hashRow(name, v)
		return
	}
	for i, x := range v {
		v[i] = f.Hash(name, x)
	}
}

// Orders returns the sum of the images of elements, as Order returns them.
func (f *Functions) Orders(v []Elem) Elem {
	if limbs && len(v) >= stripColumns {
		if sum, ok := f.scrambled(v); ok {
			return Sub(sum, Mul(f.low, Elem(len(v))))
		}
	}
	sum := Elem(0)
	for _, x := range v {
		sum = Add(sum, f.Order(x))
	}
	return sum
}
