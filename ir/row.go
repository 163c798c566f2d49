package ir

// Element classes used by many rows. Their names follow the type domains of the operation sets.
var (
	clsFloat  = DTypesOf(FP16, FP32)
	clsNum    = DTypesOf(FP16, FP32, Int32)
	clsNumB   = DTypesOf(FP16, FP32, Int32, Bool)
	clsSmall  = DTypesOf(FP16, FP32, Int32, Int16, UInt16, Int8, UInt8)
	clsSmallB = clsSmall | DTypesOf(Bool)
	clsInt32  = DTypesOf(Int32)
	clsIndex  = DTypesOf(Int8, Int16, Int32)
	clsBool   = DTypesOf(Bool)
	clsString = DTypesOf(String)
	clsAny    = DTypes(1<<numDTypes-1) &^ 1
	clsElem   = clsAny &^ clsString
)

// in is a required parameter.
func in(name ParamName, c DTypes) Param { return Param{Name: name, Types: c} }

// as ties the parameter's element type to a type variable.
func (p Param) as(letter string) Param { p.Same = letter; return p }

// opt makes the parameter optional without a stated default.
func (p Param) opt() Param { p.Optional = true; return p }

// or makes the parameter optional with a default value.
func (p Param) or(v any) Param { p.Optional, p.Default = true, v; return p }

// fixed marks a parameter that must be known at compile time.
func (p Param) fixed() Param { p.Const = true; return p }

// many marks a parameter that takes a tuple.
func (p Param) many() Param { p.Variadic = true; return p }

// rank bounds the rank of the argument.
func (p Param) rank(low, high int) Param { p.ranks = [2]int{low, high}; return p }

// oneOf lists what a string may be.
func (p Param) oneOf(values ...string) Param { p.among = values; return p }

// of sets the kind of value that the parameter takes.
func (p Param) of(k Kind) Param { p.Kind = k; return p }

// Common parameters. A literal of these kinds is always known at compile time.
func intP(name ParamName) Param    { return in(name, clsInt32).fixed() }
func boolP(name ParamName) Param   { return in(name, clsBool).fixed() }
func stringP(name ParamName) Param { return in(name, clsString).fixed() }

// since returns a copy of the form for a later opset, with changes applied.
func (d *OpDef) since(opset string, change func(*OpDef)) *OpDef {
	c := *d
	c.Since = opset
	c.Params = append([]Param(nil), d.Params...)
	change(&c)
	return &c
}

// types sets the element types of the named parameters.
func (d *OpDef) types(c DTypes, names ...ParamName) {
	for _, n := range names {
		for i := range d.Params {
			if d.Params[i].Name == n {
				d.Params[i].Types = c
			}
		}
	}
}

// letter sets the type variable of the named parameters.
func (d *OpDef) letter(l string, names ...ParamName) {
	for _, n := range names {
		for i := range d.Params {
			if d.Params[i].Name == n {
				d.Params[i].Same = l
			}
		}
	}
}

func params(ps ...Param) []Param { return ps }

// sameAsX is the shape rule of operations whose result has x's type.
func sameAsX(op *Op) ([]Type, error) { return one(op.Arg(ParamX).Type) }

// inferAxis is the same for operations along one axis of x.
func inferAxis(op *Op) ([]Type, error) {
	if _, err := AxisAttr(op, ParamAxis, op.Arg(ParamX).Type.Rank()); err != nil {
		return nil, err
	}
	return sameAsX(op)
}

func one(t Type) ([]Type, error) { return []Type{t}, nil }

func cloneShape(s []int64) []int64 { return append(make([]int64, 0, len(s)), s...) }
