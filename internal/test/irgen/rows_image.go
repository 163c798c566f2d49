package irgen

import "github.com/zinc-compiler/zinc/ir"

// samplingModes are the grids of resizes.
var samplingModes = []string{"DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "UNALIGN_CORNERS", "OFFSET_CORNERS"}

func imageRows() map[*ir.Operation]row {
	size := func(m *maker) int { return 1 + m.n(12) }
	// of takes images and lets f choose the other arguments.
	of := func(f func(m *maker, x *ir.Value) []any) row {
		return func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.operand(want{types: m.types(op, ir.ParamX), least: 3, most: 4, fits: func(s []int64) bool {
				return s[len(s)-1]*s[len(s)-2] <= 400
			}})
			return m.try(op.Name, append([]any{"x", x}, f(m, x)...)...)
		}
	}
	// sampled takes images of four dimensions.
	sampled := func(f func(m *maker, op *ir.Operation, x *ir.Value) []any) row {
		return func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.operand(want{types: m.types(op, ir.ParamX), least: 4, most: 4})
			return m.try(op.Name, append([]any{"x", x}, f(m, op, x)...)...)
		}
	}
	// edges are arguments of samplings that say what is outside the image.
	edges := func(m *maker, x *ir.Value, coordinates ...string) []any {
		return []any{"sampling_mode", pick(m.choices, "bilinear", "nearest"),
			"padding_mode", pick(m.choices, "constant", "border", "reflection", "symmetric"),
			"padding_value", m.number(x, 2), "coordinates_mode", pick(m.choices, coordinates...),
			"align_corners", m.yes()}
	}
	scale := func(m *maker) any {
		if m.yes() {
			return 1 + m.n(3)
		}
		return m.g.Const(&ir.Const{Type: ir.Scalar(ir.FP32), Data: ir.AppendElem(nil, ir.FP32, 1+float64(m.n(4))/2)})
	}
	return join(
		family(of(func(m *maker, x *ir.Value) []any {
			h := scale(m)
			return m.maybe([]any{}, "scale_factor_height", h, "scale_factor_width", h)
		}), ir.OpUpsampleNearestNeighbor),
		family(of(func(m *maker, x *ir.Value) []any {
			h := scale(m)
			args := []any{"scale_factor_height", h, "scale_factor_width", h, "align_corners", m.yes()}
			if m.has(ir.OpUpsampleBilinear, ir.ParamHalfPixelCenters) {
				args = m.maybe(args, "half_pixel_centers", args[5] == false)
			}
			return args
		}), ir.OpUpsampleBilinear),
		family(of(func(m *maker, x *ir.Value) []any {
			return []any{"target_size_height", size(m), "target_size_width", size(m)}
		}), ir.OpResizeNearestNeighbor),
		family(of(func(m *maker, x *ir.Value) []any {
			return m.maybe([]any{"target_size_height", size(m), "target_size_width", size(m)}, "sampling_mode",
				pick(m.choices, samplingModes...))
		}), ir.OpResizeBilinear),
		family(of(func(m *maker, x *ir.Value) []any {
			shape := []int64{int64(m.n(12)), int64(m.n(12))}
			n := m.g.Const(ir.ConstInt(ir.UInt32, int64(1+m.n(2))))
			mode := pick(m.choices, "LINEAR", "NEAREST_NEIGHBOR", "LINEAR")
			return m.maybe([]any{"shape", shape, "resized_dims", n}, "interpolation_mode", mode,
				"sampling_mode", pick(m.choices, samplingModes...))
		}), ir.OpResize),
		family(sampled(func(m *maker, op *ir.Operation, x *ir.Value) []any {
			matrix := m.g.Filled(x.Type.DType, func(i int64) float64 {
				return float64([]int{4, 1, 1, -1, 3, 1}[i%6]) / 4
			}, x.Type.Shape[0], 6)
			return append([]any{"transform_matrix", matrix, "output_height", size(m), "output_width", size(m)},
				edges(m, x, "normalized_minus_one_to_one")...)
		}), ir.OpAffine),
		family(sampled(func(m *maker, op *ir.Operation, x *ir.Value) []any {
			t := pick(m.choices, ir.FP32, ir.Int32, ir.FP16, ir.Int8)
			if !m.types(op, ir.ParamCoordinates).Has(t) {
				t = ir.FP32
			}
			k := int64(1 + m.n(7))
			at := m.g.Filled(t, func(i int64) float64 { return float64(i*k%9-2) / 2 }, x.Type.Shape[0],
				int64(1+m.n(4)), int64(1+m.n(4)), 2)
			if t.IsFloat() {
				return append([]any{"coordinates", at}, edges(m, x, "unnormalized", "normalized_minus_one_to_one",
					"normalized_zero_to_one")...)
			}
			return append([]any{"coordinates", at}, edges(m, x, "unnormalized")...)
		}), ir.OpResample),
		family(sampled(cropResizeArgs), ir.OpCropResize),
	)
}

func cropResizeArgs(m *maker, op *ir.Operation, x *ir.Value) []any {
	n := int64(1 + m.n(3))
	box := func(i int64) float64 { return []float64{0, 0, 2, 1}[i%4] + float64(i/4%2)/2 }
	var args []any
	if m.has(op, ir.ParamROI) {
		args = []any{"roi", m.g.Filled(x.Type.DType, func(i int64) float64 {
			if i%5 == 0 {
				return float64(i / 5 % x.Type.Shape[0])
			}
			return box(i%5 - 1)
		}, n, 1, 5, 1, 1)}
	} else {
		t := pick(m.choices, ir.FP16, ir.FP32)
		args = []any{"boxes", m.g.Filled(t, box, n, 4)}
		if n > x.Type.Shape[0] || m.yes() { // else box i is of image i
			args = append(args, "box_indices", m.indices(m.types(op, ir.ParamBoxIndices), x.Type.Shape[0], n))
		}
	}
	args = m.maybe(args, "target_height", 1+m.n(4), "target_width", 1+m.n(4), "normalized_coordinates", m.yes(),
		"spatial_scale", 0.5, "box_coordinate_mode", pick(m.choices, "CORNERS_HEIGHT_FIRST", "CORNERS_WIDTH_FIRST",
			"CENTER_SIZE_HEIGHT_FIRST", "CENTER_SIZE_WIDTH_FIRST"), "sampling_mode", pick(m.choices, samplingModes...))
	if m.has(op, ir.ParamPadValue) {
		args = m.maybe(args, "pad_value", m.number(x, 3))
	}
	return args
}
