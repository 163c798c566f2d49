package ir

import "bytes"

// foldReinterpret keeps the bytes and changes the shape.
func foldReinterpret(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	x := op.Arg(ParamX).Const
	if !ok || t.Bytes() != int64(len(x.Data)) {
		return nil, nil
	}
	return []*Const{{Type: t, Data: x.Data, Blob: x.Blob}}, nil
}

func foldIdentity(op *Op) ([]*Const, error) { return []*Const{op.Arg(ParamX).Const}, nil }

func foldTranspose(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	p, err := Perm(op)
	if !ok || err != nil {
		return nil, err
	}
	x := op.Arg(ParamX).Const
	own := strides(x.Type.Shape)
	st := make([]int64, len(p))
	for i, a := range p {
		st[i] = own[a]
	}
	data := make([]byte, t.Bytes())
	copyStrided(data, x.Data, t.DType.Bits()/8, t.Shape, 0, st)
	return folded(t, data)
}

func foldSlice(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	s, err := SliceAttrs(op)
	if !ok || err != nil {
		return nil, err
	}
	x := op.Arg(ParamX).Const
	own := strides(x.Type.Shape)
	var base int64
	var st []int64
	data := make([]byte, t.Bytes())
	if len(data) == 0 {
		return folded(t, data)
	}
	for i, a := range s {
		if a.Begin < 0 || a.Len < 0 {
			return nil, nil
		}
		base += a.Begin * own[i]
		if !a.Squeeze {
			st = append(st, own[i]*a.Stride)
		}
	}
	copyStrided(data, x.Data, t.DType.Bits()/8, t.Shape, base, st)
	return folded(t, data)
}

// foldUpdate writes the update into x. Of a window that is all of x, the values of x are not needed.
func foldUpdate(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	s, err := SliceAttrs(op)
	x, u := op.Arg(ParamX), op.Arg(ParamUpdate).Const
	if !ok || err != nil || u == nil {
		return nil, err
	}
	own := strides(t.Shape)
	base, window, st := int64(0), make([]int64, len(s)), make([]int64, len(s))
	for i, a := range s {
		if a.Begin < 0 || a.Len < 0 {
			return nil, nil
		}
		base += a.Begin * own[i]
		window[i], st[i] = a.Len, own[i]*a.Stride
	}
	if !x.IsConst() && count(window) != t.Elems() {
		return nil, nil
	}
	data := make([]byte, t.Bytes())
	if x.IsConst() {
		copy(data, x.Const.Data)
	}
	if len(u.Data) == 0 || len(s) == 0 {
		copy(data, u.Data)
		return folded(t, data)
	}
	size, last := t.DType.Bits()/8, len(s)-1
	n, step := int(window[last]), int(st[last])
	walk(window, []int64{base}, [][]int64{st}, func(row int, at []int64) {
		for i := range n {
			from, to := (row*n+i)*size, (int(at[0])+i*step)*size
			copy(data[to:to+size], u.Data[from:])
		}
	})
	return folded(t, data)
}

// joinAlong concatenates tensors along dimension a; their other dimensions are equal.
func joinAlong(t Type, vs []*Value, a int, width func(v *Value) int64) ([]*Const, error) {
	size := t.DType.Bytes(1)
	outer := count(t.Shape[:a])
	inner := count(t.Shape[a+1:]) * size
	data := make([]byte, 0, t.Bytes())
	if cap(data) == 0 { // outer may be large although there is nothing to copy
		outer = 0
	}
	for o := range outer {
		for _, v := range vs {
			n := width(v) * inner
			data = append(data, v.Const.Data[o*n:(o+1)*n]...)
		}
	}
	return folded(t, data)
}

func foldConcat(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	vs := op.ArgList(ParamValues)
	if !ok {
		return nil, nil
	}
	one := func(*Value) int64 { return 1 }
	if vs[0].Type.Rank() == 0 {
		return joinAlong(t, vs, 0, one)
	}
	a, err := AxisAttr(op, ParamAxis, t.Rank())
	if err != nil {
		return nil, err
	}
	if inter, _ := ArgBool(op, ParamInterleave); inter {
		// Interleaving is a stack along a new axis after axis, with the two merged.
		shape := append(cloneShape(vs[0].Type.Shape[:a+1]), int64(len(vs)))
		shape = append(shape, vs[0].Type.Shape[a+1:]...)
		c, err := joinAlong(t.WithShape(shape...), vs, a+1, one)
		if err != nil {
			return nil, err
		}
		return folded(t, c[0].Data)
	}
	return joinAlong(t, vs, a, func(v *Value) int64 { return v.Type.Shape[a] })
}

func foldStack(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	if !ok {
		return nil, nil
	}
	a, err := AxisAttr(op, ParamAxis, t.Rank())
	if err != nil {
		return nil, err
	}
	return joinAlong(t, op.ArgList(ParamValues), a, func(*Value) int64 { return 1 })
}

func foldSplit(op *Op) ([]*Const, error) {
	s, err := SplitAttrs(op)
	x := op.Arg(ParamX).Const
	if err != nil || x.Type.DType.Bits() < 8 {
		return nil, err
	}
	own := strides(x.Type.Shape)
	var out []*Const
	var from int64
	for _, n := range s.Sizes {
		shape := cloneShape(x.Type.Shape)
		shape[s.Axis] = n
		c := &Const{Type: x.Type.WithShape(shape...)}
		c.Data = make([]byte, c.Type.Bytes())
		copyStrided(c.Data, x.Data, x.Type.DType.Bits()/8, shape, from*own[s.Axis], own)
		from += n
		out = append(out, c)
	}
	return out, nil
}

func foldTile(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	x := op.Arg(ParamX)
	if !ok || grown(t.Bytes(), x) {
		return nil, nil
	}
	own := strides(x.Type.Shape)
	var shape, st []int64
	for i, d := range x.Type.Shape {
		rep := int64(0)
		if d > 0 {
			rep = t.Shape[i] / d
		}
		shape, st = append(shape, rep, d), append(st, 0, own[i])
	}
	data := make([]byte, t.Bytes())
	copyStrided(data, x.Const.Data, t.DType.Bits()/8, shape, 0, st)
	return folded(t, data)
}

func foldShape(op *Op) ([]*Const, error) {
	x := op.Arg(ParamX).Type
	if !x.Static() {
		return nil, nil
	}
	return []*Const{ConstInts(Int32, x.Shape...)}, nil
}

func foldFill(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	if !ok || grown(t.Bytes()) {
		return nil, nil
	}
	elem := AppendElem(nil, t.DType, 0)
	if v := op.Arg(ParamValue); v != nil {
		if !v.IsConst() || !hasElems(v.Const, 1) {
			return nil, nil
		}
		elem = v.Const.Data
	}
	data := make([]byte, 0, t.Bytes())
	for range t.Elems() {
		data = append(data, elem...)
	}
	return folded(t, data)
}

func foldRange(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	if !ok || grown(t.Bytes()) {
		return nil, nil
	}
	start, _ := ArgFloat(op, ParamStart)
	step, _ := ArgFloat(op, ParamStep)
	var data []byte
	for i := range t.Elems() {
		if t.DType == FP16 {
			data = AppendElem(data, t.DType, float64(float32(start+float64(float64(i)*step))))
			continue
		}
		data = AppendElem(data, t.DType, start+float64(float64(i)*step))
	}
	return folded(t, data)
}

func foldGather(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	g, err := GatherAttrs(op)
	x, idx := op.Arg(ParamX), op.Arg(ParamIndices)
	if !ok || err != nil || g.BatchDims != 0 || grown(t.Bytes(), x, idx) {
		return nil, err
	}
	n := x.Type.Shape[g.Axis]
	at := idx.Const.Ints()
	for i, k := range at {
		if k < 0 {
			k += n
		}
		if k < 0 || k >= n {
			return nil, nil // out of bounds is left to run time
		}
		at[i] = k
	}
	inner := count(x.Type.Shape[g.Axis+1:]) * t.DType.Bytes(1)
	outer := count(x.Type.Shape[:g.Axis])
	data := make([]byte, 0, t.Bytes())
	if cap(data) == 0 { // outer may be large although there is nothing to copy
		outer = 0
	}
	for o := range outer {
		for _, k := range at {
			from := (o*n + k) * inner
			data = append(data, x.Const.Data[from:from+inner]...)
		}
	}
	return folded(t, data)
}

// foldOneHot inserts an axis that contains on_value at the index. An index outside the axis selects none of its places.
func foldOneHot(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	idx := op.Arg(ParamIndices).Const
	axis, err := AxisAttr(op, ParamAxis, idx.Type.Rank()+1)
	if !ok || err != nil || grown(t.Bytes(), op.Arg(ParamIndices)) {
		return nil, err
	}
	value := func(name ParamName, absent float64) []byte {
		v := op.Arg(name)
		switch {
		case v == nil:
			return AppendElem(nil, t.DType, absent)
		case !hasElems(v.Const, 1):
			return nil
		}
		return v.Const.Data
	}
	on, off := value(ParamOnValue, 1), value(ParamOffValue, 0)
	if on == nil || off == nil {
		return nil, nil
	}
	data := bytes.Repeat(off, int(t.Elems()))
	n, inner := t.Shape[axis], count(idx.Type.Shape[axis:])
	for i := range idx.Elems() {
		if at := idx.Int(i); 0 <= at && at < n {
			copy(data[((i/inner*n+at)*inner+i%inner)*int64(len(on)):], on)
		}
	}
	return folded(t, data)
}
