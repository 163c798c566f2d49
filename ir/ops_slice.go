package ir

// Parts of a tensor.
var (
	OpSliceByIndex = newOp("slice_by_index", Movement,
		"Elements begin to end of every dimension, stride apart; masks ignore a bound or drop a dimension.").
		picks(ofX...)
	OpSliceBySize = newOp("slice_by_size", Movement, "size elements of every dimension from begin; -1 takes the rest.").
			picks(ofX...)
	OpSliceUpdate = newOp("slice_update", Movement,
		"x with the elements that slice_by_index selects replaced by update.").picks(ParamX, ParamUpdate)
)

// SliceAxis is the part of one dimension that slice_by_index or slice_by_size
// takes: Len elements from Begin, Stride apart (Stride may be negative).
type SliceAxis struct {
	Begin, Stride int64 // counted from the front; Unknown if it depends on an unknown value
	Len           int64 // Unknown where not known; 1 for a squeezed axis
	Squeeze       bool  // the axis is not in the result
}

// Slice has one SliceAxis per dimension of x.
type Slice []SliceAxis

// Shape returns the shape of the result.
func (s Slice) Shape() []int64 {
	out := make([]int64, 0, len(s))
	for _, a := range s {
		if !a.Squeeze {
			out = append(out, a.Len)
		}
	}
	return out
}

// SliceAttrs decodes slice_by_index and slice_by_size (and the window of slice_update). If begin, end or size
// are not known at compile time, the parts that depend on them are Unknown.
func SliceAttrs(op *Op) (Slice, error) {
	rank := op.Arg(ParamX).Type.Rank()
	x := op.Arg(ParamX).Type.Shape
	index := func(name ParamName) ([]int64, bool, error) {
		v := op.Arg(name)
		if v == nil {
			return nil, false, nil
		}
		n := int64(1)
		if v.Type.Rank() == 1 {
			n = v.Type.Shape[0]
		}
		if v.Type.Rank() > 1 || !agree(n, int64(rank)) {
			return nil, false, Rulef(name, "%s is %s, x has rank %d", name, ShapeString(v.Type.Shape), rank).and(ParamX)
		}
		ns, ok := ArgInts(op, name)
		return ns, ok, nil
	}
	begin, haveBegin, err := index(ParamBegin)
	if err != nil {
		return nil, err
	}
	if op.Is(OpSliceBySize) {
		size, haveSize, err := index(ParamSize)
		if err != nil {
			return nil, err
		}
		return sliceBySize(x, begin, haveBegin, size, haveSize)
	}
	end, haveEnd, err := index(ParamEnd)
	if err != nil {
		return nil, err
	}
	stride, haveStride, err := index(ParamStride)
	if err != nil {
		return nil, err
	}
	mask := func(name ParamName) ([]bool, error) {
		if op.Arg(name) == nil {
			return make([]bool, rank), nil
		}
		m, ok := ArgBools(op, name)
		if !ok || len(m) != rank {
			return nil, Rulef(name, "%s is %s, x has rank %d", name, op.Arg(name).Type, rank).and(ParamX)
		}
		return m, nil
	}
	beginMask, err := mask(ParamBeginMask)
	if err != nil {
		return nil, err
	}
	endMask, err := mask(ParamEndMask)
	if err != nil {
		return nil, err
	}
	squeeze, err := mask(ParamSqueezeMask)
	if err != nil {
		return nil, err
	}
	out := make(Slice, rank)
	for i, n := range x {
		s := SliceAxis{Stride: 1, Squeeze: squeeze[i]}
		if haveStride {
			s.Stride = stride[i]
		}
		if s.Stride == 0 {
			return nil, Rulef(ParamStride, "stride[%d] is 0", i)
		}
		b, e := bound{open: beginMask[i], known: haveBegin}, bound{open: endMask[i], known: haveEnd}
		if haveBegin {
			b.at = begin[i]
		}
		if haveEnd {
			e.at = end[i]
		}
		if s.Squeeze {
			s.Stride, s.Len = 1, 1
			switch {
			case b.open:
				s.Begin = 0
			case !b.known || (b.at < 0 && n < 0):
				s.Begin = Unknown
			default:
				s.Begin = b.at
				if s.Begin < 0 {
					s.Begin += n
				}
				if n >= 0 && (s.Begin < 0 || s.Begin >= n) {
					return nil, Rulef(ParamBegin, "begin[%d] is %d, dimension %d of x is %d", i, b.at, i, n).and(ParamX)
				}
			}
			out[i] = s
			continue
		}
		s.Begin, s.Len = sliceRange(n, b, e, s.Stride)
		out[i] = s
	}
	return out, nil
}

// bound is one end of a range: masked, not known at compile time, or an index that may count from the end.
type bound struct {
	at          int64
	open, known bool
}

// sliceRange resolves one dimension of n elements by NumPy's rules, with one exception: with a
// negative stride, negative bounds before the first element are clamped to element 0, as in
// coremltools, where NumPy allows an end before it. As in coremltools, a slice between two such
// bounds still contains the element that it starts from.
func sliceRange(n int64, b, e bound, stride int64) (begin, length int64) {
	if n < 0 {
		return sliceUnknown(b, e, stride)
	}
	low, high := int64(0), n // range of a valid bound
	if stride < 0 {
		low, high = -1, n-1
	}
	place := func(v bound, open int64) (int64, bool) {
		switch {
		case v.open:
			return open, true
		case !v.known:
			return 0, false
		}
		at := v.at
		if at < 0 {
			at = max(at+n, 0)
		}
		return min(max(at, low), high), true
	}
	first, last := low, high
	if stride < 0 {
		first, last = high, low
	}
	from, okB := place(b, first)
	to, okE := place(e, last)
	if !okB {
		return Unknown, Unknown
	}
	if !okE {
		return from, Unknown
	}
	if stride < 0 && !b.open && !e.open && b.at < 0 && e.at < b.at && b.at >= -n && e.at >= b.at+stride {
		return from, 1
	}
	if stride > 0 {
		return from, max(0, (to-from+stride-1)/stride)
	}
	return from, max(0, (from-to-stride-1)/-stride)
}

// sliceUnknown resolves the parts that do not depend on the unknown extent.
func sliceUnknown(b, e bound, stride int64) (begin, length int64) {
	begin, length = Unknown, Unknown
	if stride > 0 && (b.open || b.known && b.at >= 0) {
		begin = b.at
		if b.open {
			begin = 0
		}
	}
	switch {
	case b.open && e.open:
	case b.known && !b.open && e.open && stride > 0 && b.at == -1:
		length = 1
	case b.known && e.known && !b.open && !e.open && b.at >= 0 && e.at >= 0 && stride > 0 && e.at <= b.at:
		length = 0
	}
	return begin, length
}

func sliceBySize(x, begin []int64, haveBegin bool, size []int64, haveSize bool) (Slice, error) {
	out := make(Slice, len(x))
	for i, n := range x {
		s := SliceAxis{Begin: Unknown, Stride: 1, Len: Unknown}
		if haveBegin {
			s.Begin = begin[i]
			if s.Begin < 0 && n >= 0 {
				s.Begin += n
			}
			if s.Begin < 0 && n >= 0 || n >= 0 && s.Begin > n {
				return nil, Rulef(ParamBegin, "begin[%d] is %d, dimension %d of x is %d", i, begin[i], i, n).and(ParamX)
			}
			s.Begin = max(s.Begin, Unknown)
		}
		if haveSize {
			switch {
			case size[i] >= 0:
				s.Len = size[i]
			case size[i] == -1 && s.Begin >= 0 && n >= 0:
				s.Len = n - s.Begin
			case size[i] < -1:
				return nil, Rulef(ParamSize, "size[%d] is %d; only -1 means the rest", i, size[i])
			}
			if s.Begin >= 0 && n >= 0 && s.Len > n-s.Begin {
				return nil, Rulef(ParamSize, "begin[%d] + size[%d] is %d, dimension %d of x is %d", i, i,
					s.Begin+s.Len, i, n).and(ParamX)
			}
		}
		out[i] = s
	}
	return out, nil
}

func inferSlice(op *Op) ([]Type, error) {
	s, err := SliceAttrs(op)
	if err != nil {
		return nil, err
	}
	return one(op.Arg(ParamX).Type.WithShape(s.Shape()...))
}

// sliceForms are the forms of the operations above.
func sliceForms() (out forms) {
	later := func(d *OpDef) {
		d.types(clsSmallB, ParamX, ParamUpdate)
		d.types(clsIndex, ParamBegin, ParamEnd, ParamStride, ParamSize)
		d.letter("U", ParamBegin, ParamEnd, ParamStride, ParamSize)
	}
	boolVec := func(n ParamName) Param { return boolP(n).opt() }
	byIndex := &OpDef{Operation: OpSliceByIndex,
		Params: params(in(ParamX, clsNumB), in(ParamBegin, clsInt32), in(ParamEnd, clsInt32), intP(ParamStride).opt(),
			boolVec(ParamBeginMask), boolVec(ParamEndMask), boolVec(ParamSqueezeMask)),
		Infer: inferSlice, Fold: moving(foldSlice)}
	out.add(byIndex, byIndex.since("ios17", later))
	bySize := &OpDef{Operation: OpSliceBySize,
		Params: params(in(ParamX, clsNumB), in(ParamBegin, clsInt32), in(ParamSize, clsInt32)), Infer: inferSlice,
		Fold: moving(foldSlice)}
	out.add(bySize, bySize.since("ios17", later))

	update := byIndex.since("ios18", func(d *OpDef) {
		d.Operation, d.Fold, d.ByType = OpSliceUpdate, foldUpdate, true
		d.Params = append(params(in(ParamX, clsSmallB).as("T"), in(ParamUpdate, clsSmallB).as("T")), d.Params[1:]...)
		later(d)
		d.Infer = func(op *Op) ([]Type, error) {
			s, err := SliceAttrs(op)
			if err != nil {
				return nil, err
			}
			want, u := s.Shape(), op.Arg(ParamUpdate).Type
			if !u.Fits(u.WithShape(want...)) {
				return nil, Rulef(ParamUpdate, "update is %s, the window is %s", ShapeString(u.Shape),
					ShapeString(want)).and(ParamX)
			}
			return sameAsX(op)
		}
	})
	out.add(update)
	return out
}
