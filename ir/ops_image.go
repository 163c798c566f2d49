package ir

import (
	"math"

	"github.com/zinc-compiler/zinc/numerics"
)

// Resized and resampled images.
var (
	OpUpsampleNearestNeighbor = newOp("upsample_nearest_neighbor", Movement,
		"Last two dimensions enlarged, element floor(i n_in/n_out).").picks(ofX...)
	OpResizeNearestNeighbor = newOp("resize_nearest_neighbor", Movement,
		"Last two dimensions resized, element floor(i n_in/n_out).").picks(ofX...)
	OpResizeBilinear = newOp("resize_bilinear", Resampling,
		"Last two dimensions resized by linear interpolation on the grid of sampling_mode.").err(numerics.Rounded)
	OpCrop             = newOp("crop", Movement, "Last two dimensions cropped at both ends.").picks(ofX...)
	OpAffine           = newOp("affine", Resampling, "x sampled on an affinely transformed grid.")
	OpUpsampleBilinear = newOp("upsample_bilinear", Resampling,
		"Last two dimensions enlarged by linear interpolation.").err(numerics.Rounded)
	OpResample   = newOp("resample", Resampling, "x sampled at given coordinates.").gate(A14)
	OpCropResize = newOp("crop_resize", Resampling, "Boxes cropped from x and resized to one size.").
			err(numerics.Rounded).gate(A14)
	OpResize = newOp("resize", Resampling, "Last dimensions resized to shape, where 0 keeps a dimension.").
			err(numerics.Rounded)
)

// spatialSize returns a rule that replaces the last two dimensions.
func spatialSize(size func(op *Op, h, w int64) (int64, int64, error)) func(op *Op) ([]Type, error) {
	return func(op *Op) ([]Type, error) {
		x := op.Arg(ParamX).Type
		out := cloneShape(x.Shape)
		n := len(out)
		var err error
		if out[n-2], out[n-1], err = size(op, out[n-2], out[n-1]); err != nil {
			return nil, err
		}
		return one(x.WithShape(out...))
	}
}

func upsampled(op *Op, h, w int64) (int64, int64, error) {
	scale := func(name ParamName, d int64) (int64, error) {
		f, ok := ArgFloat(op, name)
		if !ok || !(f > 0) {
			return 0, Rulef(name, "%s must be a positive constant", name)
		}
		if d < 0 {
			return Unknown, nil
		}
		r := math.Floor(f * float64(d))
		if r < 1 || r > maxDim {
			return 0, Rulef(name, "%s = %g results in %g elements from %d", name, f, r, d).and(ParamX)
		}
		return int64(r), nil
	}
	oh, err := scale(ParamScaleFactorHeight, h)
	if err != nil {
		return 0, 0, err
	}
	ow, err := scale(ParamScaleFactorWidth, w)
	return oh, ow, err
}

func targeted(height, width ParamName) func(op *Op, h, w int64) (int64, int64, error) {
	return func(op *Op, _, _ int64) (int64, int64, error) {
		h, err := needInt(op, height)
		if err != nil {
			return 0, 0, err
		}
		w, err := needInt(op, width)
		if err != nil {
			return 0, 0, err
		}
		if h < 1 || w < 1 {
			return 0, 0, Rulef(height, "%s is %d and %s %d, must be at least 1", height, h, width, w)
		}
		return h, w, nil
	}
}

func cropped(op *Op, h, w int64) (int64, int64, error) {
	take := func(name ParamName, d int64) (int64, error) {
		c, err := needInts(op, name)
		if err != nil {
			return 0, err
		}
		if len(c) != 2 || c[0] < 0 || c[1] < 0 || d >= 0 && c[0]+c[1] > d {
			return 0, Rulef(name, "%s is %s, x has %s elements there", name, intsText(c), dimString(d)).and(ParamX)
		}
		if d < 0 {
			return Unknown, nil
		}
		return d - c[0] - c[1], nil
	}
	oh, err := take(ParamCropHeight, h)
	if err != nil {
		return 0, 0, err
	}
	ow, err := take(ParamCropWidth, w)
	return oh, ow, err
}

// samplingModes are the grids of the resizing operations.
var samplingModes = []string{"DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "UNALIGN_CORNERS", "OFFSET_CORNERS"}

func inferCropResize(op *Op) ([]Type, error) {
	h, w, err := targeted(ParamTargetHeight, ParamTargetWidth)(op, 0, 0)
	if err != nil {
		return nil, err
	}
	x := op.Arg(ParamX).Type
	if op.Def.ParamIndex(ParamBoxes) >= 0 {
		b := op.Arg(ParamBoxes).Type
		if !agree(b.Shape[1], 4) {
			return nil, Rulef(ParamBoxes, "boxes has %d columns, must have 4", b.Shape[1])
		}
		if err := vectorOf(op, ParamBoxIndices, b.Shape[0], "the number of boxes"); err != nil {
			return nil, err
		}
		return one(x.WithShape(b.Shape[0], x.Shape[1], h, w))
	}
	r := op.Arg(ParamROI).Type
	if !agree(r.Shape[2], 4) && !agree(r.Shape[2], 5) {
		return nil, Rulef(ParamROI, "roi has %d coordinates, must have 4 or 5", r.Shape[2])
	}
	return one(x.WithShape(r.Shape[0], x.Shape[0], x.Shape[1], h, w))
}

func inferResize(op *Op) ([]Type, error) {
	x := op.Arg(ParamX).Type
	n, err := needInt(op, ParamResizedDims)
	if err != nil {
		return nil, err
	}
	have := op.Arg(ParamShape).Type.Shape[0]
	if n < 1 || n > int64(x.Rank()) || have >= 0 && n > have {
		return nil, Rulef(ParamResizedDims, "resized_dims is %d, x has rank %d and shape %s elements", n, x.Rank(),
			dimString(have))
	}
	out := cloneShape(x.Shape)
	tail := out[len(out)-int(n):]
	v, ok := ArgInts(op, ParamShape)
	for i := range tail {
		switch {
		case !ok:
			tail[i] = Unknown
		case v[len(v)-int(n)+i] < 0:
			return nil, Rulef(ParamShape, "shape has %d", v[len(v)-int(n)+i])
		case v[len(v)-int(n)+i] > 0:
			tail[i] = v[len(v)-int(n)+i]
		}
	}
	return one(x.WithShape(out...))
}

func inferResample(op *Op) ([]Type, error) {
	x, c := op.Arg(ParamX).Type, op.Arg(ParamCoordinates).Type
	if !agree(x.Shape[0], c.Shape[0]) || !agree(c.Shape[3], 2) {
		return nil, Rulef(ParamCoordinates, "coordinates is %s, must be [%s, H, W, 2]", ShapeString(c.Shape),
			dimString(x.Shape[0])).and(ParamX)
	}
	return one(x.WithShape(x.Shape[0], x.Shape[1], c.Shape[1], c.Shape[2]))
}

func inferAffine(op *Op) ([]Type, error) {
	if m := op.Arg(ParamTransformMatrix).Type; !agree(m.Shape[1], 6) {
		return nil, Rulef(ParamTransformMatrix, "transform_matrix has %d columns, must have 6", m.Shape[1])
	}
	return spatialSize(targeted(ParamOutputHeight, ParamOutputWidth))(op)
}

// imageForms are the forms of the operations above.
func imageForms() (out forms) {
	x := in(ParamX, clsFloat).as("T").rank(3, 5)
	flat := x.rank(4, 4)
	sampling := stringP(ParamSamplingMode).oneOf(samplingModes...)
	factor := func(n ParamName) Param {
		return in(n, DTypesOf(FP32, Int32)).as("U").fixed().or(int64(1))
	}
	one32 := func(n ParamName) Param { return intP(n).or(int64(1)) }
	out.add(
		&OpDef{Operation: OpUpsampleNearestNeighbor,
			Params: params(x, factor(ParamScaleFactorHeight), factor(ParamScaleFactorWidth)),
			Infer:  spatialSize(upsampled)},
		&OpDef{Operation: OpResizeNearestNeighbor,
			Params: params(x, intP(ParamTargetSizeHeight), intP(ParamTargetSizeWidth)),
			Infer:  spatialSize(targeted(ParamTargetSizeHeight, ParamTargetSizeWidth))},
		&OpDef{Operation: OpResizeBilinear,
			Params: params(x, one32(ParamTargetSizeHeight), one32(ParamTargetSizeWidth), sampling.or("DEFAULT")),
			Infer:  spatialSize(targeted(ParamTargetSizeHeight, ParamTargetSizeWidth))},
		&OpDef{Operation: OpCrop,
			Params: params(x, intP(ParamCropHeight), intP(ParamCropWidth)), Infer: spatialSize(cropped)},
		&OpDef{Operation: OpAffine,
			Params: params(flat, in(ParamTransformMatrix, clsFloat).as("T").rank(2, 2), intP(ParamOutputHeight),
				intP(ParamOutputWidth),
				stringP(ParamSamplingMode),
				stringP(ParamPaddingMode), in(ParamPaddingValue, clsFloat).as("T").fixed(),
				stringP(ParamCoordinatesMode),
				boolP(ParamAlignCorners)), Infer: inferAffine})

	up := &OpDef{Operation: OpUpsampleBilinear,
		Params: params(x, factor(ParamScaleFactorHeight), factor(ParamScaleFactorWidth), boolP(ParamAlignCorners).
			or(true)),
		Infer: spatialSize(upsampled)}
	out.add(up, up.since("ios16", func(d *OpDef) { d.Params = append(d.Params, boolP(ParamHalfPixelCenters).opt()) }))

	resample := &OpDef{Operation: OpResample,
		Params: params(flat, in(ParamCoordinates, DTypesOf(Int32, FP32)).rank(4, 4), stringP(ParamSamplingMode),
			stringP(ParamPaddingMode),
			in(ParamPaddingValue, clsFloat).as("T").fixed(), stringP(ParamCoordinatesMode), boolP(ParamAlignCorners)),
		Infer: inferResample}
	out.add(resample,
		resample.since("ios16", func(d *OpDef) { d.types(clsNum, ParamCoordinates) }),
		resample.since("ios17", func(d *OpDef) { d.types(clsSmall, ParamCoordinates) }))

	tail := params(one32(ParamTargetHeight), one32(ParamTargetWidth), boolP(ParamNormalizedCoordinates).or(false),
		in(ParamSpatialScale, DTypesOf(FP32)).fixed().or(1.0),
		stringP(ParamBoxCoordinateMode).oneOf("CORNERS_HEIGHT_FIRST", "CORNERS_WIDTH_FIRST", "CENTER_SIZE_HEIGHT_FIRST",
			"CENTER_SIZE_WIDTH_FIRST").or("CORNERS_HEIGHT_FIRST"), sampling.or("DEFAULT"))
	crop := &OpDef{Operation: OpCropResize,
		Params: append(params(flat, in(ParamROI, clsFloat).as("T").rank(5, 5)), tail...), Infer: inferCropResize}
	pad := in(ParamPadValue, clsFloat).as("T").fixed().or(0.0)
	out.add(crop,
		crop.since("ios16", func(d *OpDef) { d.Params = append(d.Params, pad) }),
		crop.since("ios17", func(d *OpDef) {
			d.Params = append(append(params(flat, in(ParamBoxes, DTypesOf(FP16, FP32, UInt16)).rank(2, 2),
				in(ParamBoxIndices, DTypesOf(UInt16, Int32)).opt()), tail...), pad)
		}))
	out.add(&OpDef{Operation: OpResize, Since: "ios17",
		Params: params(in(ParamX, clsNum), in(ParamShape, DTypesOf(Int32, Int16, UInt16, UInt32)).rank(1, 1),
			in(ParamResizedDims, DTypesOf(UInt32)).fixed(),
			stringP(ParamInterpolationMode).oneOf("LINEAR", "NEAREST_NEIGHBOR").or("LINEAR"), sampling.or("DEFAULT")),
		Infer: inferResize})
	return out
}
