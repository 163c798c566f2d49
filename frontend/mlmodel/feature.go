package mlmodel

import (
	"math"

	"github.com/zinc-compiler/zinc/frontend/metadata"
)

// description reads a ModelDescription.
func (d *decoder) description(m span, out *metadata.Model) error {
	whole := metadata.Function{Name: "main"}
	err := d.each(m, descriptionSchema, func(r *reader) error {
		switch r.name {
		case "metadata":
			return d.in(one(r.name), r.at, func() error { return d.metadata(r.data, out) })
		case "defaultFunctionName":
			out.Default = r.text()
		case "functions":
			return element(r, &out.Functions, func(m span) (f metadata.Function, err error) {
				err = d.each(m, functionDescriptionSchema, func(r *reader) error { return d.functionField(r, &f) })
				return f, err
			})
		default:
			return d.functionField(r, &whole)
		}
		return nil
	})
	if len(out.Functions) == 0 {
		out.Functions = []metadata.Function{whole}
	}
	return err
}

// functionField reads a field that describes a function, or a model of one.
func (d *decoder) functionField(r *reader, f *metadata.Function) error {
	var list *[]metadata.Feature
	switch r.name {
	case "name":
		f.Name = r.text()
		return nil
	case "predictedFeatureName":
		f.Predicted = r.text()
		return nil
	case "predictedProbabilitiesName":
		f.Probabilities = r.text()
		return nil
	case "input":
		list = &f.Inputs
	case "output":
		list = &f.Outputs
	case "state":
		list = &f.States
	}
	return element(r, list, d.feature)
}

func (d *decoder) metadata(m span, out *metadata.Model) error {
	texts := map[string]*string{
		"shortDescription": &out.Description, "versionString": &out.Version, "author": &out.Author,
		"license": &out.License,
	}
	err := d.each(m, metadataSchema, func(r *reader) error {
		if t := texts[r.name]; t != nil {
			*t = r.text()
			return nil
		}
		key, value, ok := r.entry()
		if ok {
			out.UserDefined = append(out.UserDefined, metadata.KeyValue{Key: key, Value: string(value.b)})
		}
		return r.err
	})
	out.SortUserDefined()
	return err
}

func (d *decoder) feature(m span) (f metadata.Feature, err error) {
	err = d.each(m, featureSchema, func(r *reader) error {
		switch r.name {
		case "name":
			f.Name = r.text()
		case "shortDescription":
			f.Description = r.text()
		case "type":
			return d.in(one(r.name), r.at, func() error { return d.featureType(r.data, &f) })
		}
		return nil
	})
	return f, err
}

// featureType reads a FeatureType.
func (d *decoder) featureType(m span, f *metadata.Feature) error {
	return d.each(m, featureTypeSchema, func(r *reader) error {
		if r.name == "isOptional" {
			f.Optional = r.n != 0
			return nil
		}
		f.Kind = r.name
		return d.in(one(r.name), r.at, func() error {
			switch r.name {
			case "multiArray":
				return d.array(r.data, f)
			case "image":
				return d.image(r.data, f)
			case "state":
				return d.each(r.data, stateSchema, func(r *reader) error {
					return d.in(one(r.name), r.at, func() error { return d.array(r.data, f) })
				})
			case "dictionary":
				return d.each(r.data, dictionarySchema, func(r *reader) error { f.Elem = r.name; return nil })
			case "sequence":
				return d.each(r.data, sequenceSchema, func(r *reader) error { f.Elem = r.name; return nil })
			}
			return nil
		})
	})
}

// maxRank limits the dimensions of a tensor or feature. Core ML's own limit is 5; this larger one keeps texts and
// messages short.
const maxRank = 64

// shape adds the numbers of a shape to one.
func (r *reader) shape(to []int64) ([]int64, error) {
	ok := r.numbers(func(n uint64) {
		if len(to) <= maxRank {
			to = append(to, int64(n))
		}
	})
	if !ok {
		return nil, r.err
	}
	if len(to) > maxRank {
		return nil, r.fail("the shape has more than %d dimensions", maxRank)
	}
	for _, n := range to {
		if n < 0 {
			return nil, r.fail("the shape has dimension %d, want at least 0", n)
		}
	}
	return to, nil
}

// array reads an ArrayFeatureType.
func (d *decoder) array(m span, f *metadata.Feature) error {
	err := d.each(m, arraySchema, func(r *reader) (err error) {
		switch r.name {
		case "shape":
			f.Shape, err = r.shape(f.Shape)
		case "dataType":
			f.Elem = arrayTypes[r.n]
			if f.Elem == "" {
				r.fail("unknown array element type %d", r.n)
			}
		case "intDefaultValue":
			v := float64(int32(r.n))
			f.Value = &v
		case "floatDefaultValue":
			v := float64(math.Float32frombits(uint32(r.n)))
			f.Value = &v
		case "doubleDefaultValue":
			v := math.Float64frombits(r.n)
			f.Value = &v
		case "enumeratedShapes":
			return r.message(shapesSchema, func(r *reader) error {
				return element(r, &f.Enumerated, func(m span) (s []int64, err error) {
					err = d.each(m, shapeSchema, func(r *reader) (err error) { s, err = r.shape(s); return err })
					return s, err
				})
			})
		case "shapeRange":
			return r.message(shapeRangeSchema, func(r *reader) error {
				return d.sizeRange(r, nth(r.name, len(f.Ranges)), f)
			})
		}
		if err == nil {
			err = r.err
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.consistent(m.at, f)
}

// sizeRange reads a SizeRange and adds it to the ranges of f.
func (d *decoder) sizeRange(r *reader, s step, f *metadata.Feature) error {
	return d.in(s, r.at, func() error {
		var low, high int64
		err := d.each(r.data, sizeRangeSchema, func(r *reader) error {
			if r.name == "lowerBound" {
				low = int64(r.n)
			} else {
				high = max(int64(r.n), -1)
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case low < 0 || high >= 0 && high < low:
			return d.errorf(r.at, "the range is %d to %d", low, high)
		case len(f.Ranges) >= maxRank:
			return d.errorf(r.at, "ranges for more than %d dimensions", maxRank)
		}
		f.Ranges = append(f.Ranges, [2]int64{low, high})
		return nil
	})
}

// consistent fills in the default shape and checks that there is one shape, or
// one range, for each dimension.
func (d *decoder) consistent(at int64, f *metadata.Feature) error {
	if f.Shape == nil && len(f.Enumerated) > 0 {
		f.Shape = f.Enumerated[0]
	}
	if f.Shape == nil && len(f.Ranges) > 0 {
		for _, r := range f.Ranges {
			f.Shape = append(f.Shape, r[0])
		}
	}
	if n := len(f.Ranges); n > 0 && n != len(f.Shape) {
		return d.errorf(at, "ranges for %d dimensions, but the shape has %d", n, len(f.Shape))
	}
	for i, r := range f.Ranges {
		if n := f.Shape[i]; n < r[0] || r[1] >= 0 && n > r[1] {
			return d.errorf(at, "dimension %d of the default shape is %d, outside its range %d to %d", i, n, r[0], r[1])
		}
	}
	for i, s := range f.Enumerated {
		if len(s) != len(f.Shape) {
			return d.errorf(at, "enumerated shape %d has %d dimensions, but the default shape has %d", i, len(s),
				len(f.Shape))
		}
	}
	return nil
}

// image reads an ImageFeatureType. Its shapes are [height, width].
func (d *decoder) image(m span, f *metadata.Feature) error {
	var size [2]int64
	given := false
	err := d.each(m, imageSchema, func(r *reader) error {
		switch r.name {
		case "width", "height":
			given = true
			return d.extent(r, &size)
		case "colorSpace":
			if f.Elem = colourSpaces[r.n]; f.Elem == "" {
				return r.fail("unknown colour space %d", r.n)
			}
		case "enumeratedSizes":
			return r.message(imageSizesSchema, func(r *reader) error {
				return element(r, &f.Enumerated, func(m span) ([]int64, error) {
					s := new([2]int64)
					return s[:], d.each(m, imageSizeSchema, func(r *reader) error { return d.extent(r, s) })
				})
			})
		case "imageSizeRange":
			return d.in(one(r.name), r.at, func() error {
				var parts [2]metadata.Feature // height, width
				err := d.each(r.data, imageRangeSchema, func(r *reader) error {
					i := 0
					if r.name == "widthRange" {
						i = 1
					}
					return d.sizeRange(r, one(r.name), &parts[i])
				})
				for _, p := range parts {
					if err == nil && len(p.Ranges) != 1 {
						err = d.errorf(r.at, "want one range for the height of an image and one for its width")
					}
					f.Ranges = append(f.Ranges, p.Ranges...)
				}
				return err
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if given && (size[0] > 0 && size[1] > 0 || !f.Flexible()) {
		f.Shape = size[:]
	}
	return d.consistent(m.at, f)
}

// extent reads the width or height of an image into [height, width].
func (d *decoder) extent(r *reader, size *[2]int64) error {
	n := int64(r.n)
	if n < 0 {
		return r.fail("the %s of the image is %d", r.name, n)
	}
	if r.name == "height" {
		size[0] = n
	} else {
		size[1] = n
	}
	return nil
}
