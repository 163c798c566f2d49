package weights

// Tables that are recorded word by word, and whose rule is not known (docs/deviations.md): the knots nearly have the
// least squared error over all normal fp16 numbers of the domain. Source: the constant sections of recorded programs
// (mil-hwx-compiler), with the SHA-256 that the tests compare.
var (
	recordedGELU = recordedKnots{low: 0xc466, knots: [Knots]uint16{
		0x0000, 0x8e8a, 0x9230, 0x9757, 0x9bf0, 0xa011, 0xa3bf, 0xa6ec, 0xa9bf, 0xac75, 0xae67,
		0xb03d, 0xb11e, 0xb184, 0xb104, 0xaecf, 0x922d, 0x3098, 0x357e, 0x389f, 0x3ab8, 0x3c78,
		0x3d9a, 0x3eb9, 0x3fd2, 0x4072, 0x40f8, 0x417c, 0x41fe, 0x427f, 0x4300, 0x4380, 0x4400,
	}}
	recordedSiLU = recordedKnots{low: 0xc91a, slope: 0x945d, intercept: 0xa191, knots: [Knots]uint16{
		0x98cd, 0x9c5e, 0x9e65, 0xa0ef, 0xa37b, 0xa5a9, 0xa83b, 0xaa45, 0xac8e, 0xae85, 0xb088,
		0xb210, 0xb3a9, 0xb470, 0xb460, 0xb284, 0x96fb, 0x34be, 0x39d0, 0x3ce4, 0x3f0b, 0x409f,
		0x41b7, 0x42cc, 0x43dc, 0x4473, 0x44f8, 0x457a, 0x45fc, 0x467e, 0x46fe, 0x477f, 0x47ff,
	}}
)

// recordedKnots are the knots of a table that approaches 0 on the low side: the line between the low bound and the
// first knot, and the knots, as fp16.
type recordedKnots struct {
	low, slope, intercept uint16
	knots                 [Knots]uint16
}

// gated makes the row of an input times a gate between 0 and 1, whose knots are recorded. Its high line runs through
// the last knot.
func (r *recordedKnots) gated(f func(float64) float64, step int) func([]float64) (Spec, error) {
	return func([]float64) (Spec, error) {
		high := Line(1, 1, 0)
		high.Through = true
		low := Hold(FromFP16(r.low), 0, FromFP16(r.slope), FromFP16(r.intercept))
		return Spec{F: f, Mode: ModePlain, Step: step, Knots: r.knots[:], Low: low, High: high}, nil
	}
}
