package weights

import (
	"fmt"
	"math/bits"
)

// Form is the shape of a kernel's assignment to cores.
type Form uint8

// The forms. Dense covers matrix products too.
const (
	Dense Form = iota
	Grouped
	Depthwise
)

func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

var formNames = [...]string{"dense", "grouped", "depthwise"}

// OCG is one output channel group of a task: the outputs that all cores compute at the same time. Core c computes
// outputs Start+c*Lanes up to Start+(c+1)*Lanes, counted from the plan's first output; only cores below Live compute
// any.
type OCG struct {
	Start, Lanes, Live int
}

// Plan assigns the outputs of one task to cores.
type Plan struct {
	Form Form
	// First and Out delimit the outputs: First..First+Out of the kernel.
	First, Out int
	// Cores is the number of active cores, a power of two up to MaxCores.
	Cores int
	// OCGSize is the field of ConvCfg: ceil(log2 lanes) of the first group.
	OCGSize int
	// Groups are the output channel groups: of the whole task for a dense form, of each conv group for a
	// grouped one (Start then counts from the conv group's first output); empty for a depthwise form.
	Groups []OCG
	// ConvGroups is the number of conv groups of the kernel; 1 when dense.
	ConvGroups int
	// WideMasks is set if masks of zero-skipping bodies have sixteen bits (td.Codec).
	WideMasks bool
}

// ActiveCores returns the number of cores that n outputs keep busy: all sixteen, or the smallest power of two that is
// at least n.
func ActiveCores(n int) int {
	if n >= MaxCores {
		return MaxCores
	}
	return ceilPow2(n)
}

func ceilPow2(n int) int {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len(uint(n-1))
}

func floorPow2(n int) int {
	if n <= 1 {
		return 1
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

func log2Ceil(n int) int { return bits.Len(uint(ceilPow2(n))) - 1 }

// Lane caps of one output channel group. Recorded: 32 for a convolution whose
// input is at most 8x8, 16 for larger ones and for every matrix product.
const (
	capSmall = 32
	capLarge = 16
)

// SplitOCGs divides out outputs over cores in output channel groups of at most 1<<ocgSize lanes. It is the whole rule:
// the engine derives the same groups from the three registers alone. With rem outputs left and per = rem/cores, lanes
// is the cap if per reaches it; exactly per in the first group if cores divides rem without remainder (cut slices: 6
// and 14 recorded); otherwise the largest power of two up to per; and 1 on the first rem cores if per is 0.
func SplitOCGs(out, cores, ocgSize int) []OCG {
	if out < 1 || cores < 1 || ocgSize < 0 || ocgSize > 7 {
		return nil
	}
	lim := 1 << ocgSize
	var gs []OCG
	for start := 0; start < out; {
		rem := out - start
		per := rem / cores
		lanes := 1
		switch {
		case per >= lim:
			lanes = lim
		case start == 0 && rem%cores == 0 && per > 0:
			lanes = per
		case per > 0:
			lanes = floorPow2(per)
		}
		live := min(cores, rem)
		gs = append(gs, OCG{Start: start, Lanes: lanes, Live: live})
		start += lanes * live
	}
	return gs
}

func checkOutputs(n int) error {
	if n < 1 || n > maxExtent {
		return fmt.Errorf("weights: plan of %d outputs, want 1..%d", n, maxExtent)
	}
	return nil
}

// PlanDense plans an uncut dense convolution of out outputs. small says the
// output is at most 8x8 pixels.
func PlanDense(out int, small bool) (Plan, error) {
	lim := capLarge
	if small {
		lim = capSmall
	}
	return planUncut(out, lim)
}

// PlanMatmul plans a matrix product with a constant weight of n columns.
func PlanMatmul(n int) (Plan, error) { return planUncut(n, capLarge) }

func planUncut(out, lim int) (Plan, error) {
	if err := checkOutputs(out); err != nil {
		return Plan{}, err
	}
	n := ActiveCores(out)
	size := log2Ceil(min(lim, floorPow2(out/n)))
	return Plan{Form: Dense, Out: out, Cores: n, OCGSize: size, Groups: SplitOCGs(out, n, size), ConvGroups: 1}, nil
}

// PlanSlice plans one slice of a cut dense kernel: a slice of fewer than 16 channels per core is one group of exactly
// that many lanes.
func PlanSlice(s Slice) (Plan, error) {
	if err := checkOutputs(s.Count); err != nil {
		return Plan{}, err
	}
	if s.First < 0 || s.First > maxExtent {
		return Plan{}, fmt.Errorf("weights: slice starts at output %d, want 0..%d", s.First, maxExtent)
	}
	n := ActiveCores(s.Count)
	per := s.Count / n
	if s.Count%n != 0 {
		per = floorPow2(per)
	}
	size := log2Ceil(min(capLarge, max(1, per)))
	return Plan{Form: Dense, First: s.First, Out: s.Count, Cores: n, OCGSize: size,
		Groups: SplitOCGs(s.Count, n, size), ConvGroups: 1}, nil
}

// PlanGrouped plans a grouped convolution, 1 < groups < channels: each conv group is spread over all cores in turn,
// (out/groups)/16 lanes each, or one lane on the first out/groups cores. Recorded: 1 and 2 lanes per core; more follow
// SplitOCGs (modelled).
func PlanGrouped(out, groups int) (Plan, error) {
	if err := checkOutputs(out); err != nil {
		return Plan{}, err
	}
	if groups < 1 || out%groups != 0 {
		return Plan{}, fmt.Errorf("weights: %d groups do not divide %d outputs", groups, out)
	}
	p, err := planUncut(out/groups, capLarge)
	p.Form, p.Out, p.ConvGroups = Grouped, out, groups
	return p, err
}

// PlanDepthwise plans a channelwise convolution: core c takes channels c,
// c+n, c+2n and so on of n active cores.
func PlanDepthwise(channels int) (Plan, error) {
	if err := checkOutputs(channels); err != nil {
		return Plan{}, err
	}
	return Plan{Form: Depthwise, Out: channels, Cores: ActiveCores(channels), ConvGroups: channels}, nil
}

// check returns why the plan cannot pack k.
func (p *Plan) check(k *Kernel) error {
	if err := k.Check(); err != nil {
		return err
	}
	if p.Cores < 1 || p.Cores > MaxCores || p.Cores&(p.Cores-1) != 0 {
		return fmt.Errorf("weights: plan field Cores is %d, want a power of two up to %d", p.Cores, MaxCores)
	}
	if p.First < 0 || p.Out < 1 || p.First > k.Out-p.Out {
		return fmt.Errorf("weights: plan covers outputs %d..%d of a kernel of %d", p.First, p.First+p.Out, k.Out)
	}
	groups, whole := 1, p.Out
	switch p.Form {
	case Dense:
	case Grouped:
		groups, whole = p.ConvGroups, 0
		if groups > 0 {
			whole = p.Out / groups
		}
		if p.Out != k.Out {
			return fmt.Errorf("weights: plan covers %d outputs of a grouped kernel of %d; grouped kernels are not cut",
				p.Out, k.Out)
		}
	case Depthwise:
		if k.In != k.Groups {
			return fmt.Errorf("weights: depthwise plan for a kernel of %d groups and %d inputs", k.Groups, k.In)
		}
		return nil
	default:
		return fmt.Errorf("weights: plan field Form is %d", p.Form)
	}
	if groups != k.Groups {
		return fmt.Errorf("weights: %s plan of %d conv groups for a kernel of %d", p.Form, groups, k.Groups)
	}
	next := 0
	for i, g := range p.Groups {
		if g.Start != next || g.Lanes < 1 || g.Live < 1 || g.Live > p.Cores || g.Lanes > whole || g.Start+
			g.Lanes*g.Live > whole {
			return fmt.Errorf("weights: plan group %d is start %d, %d lanes on %d cores; want start %d inside %d "+
				"outputs", i, g.Start, g.Lanes, g.Live, next, whole)
		}
		next += g.Lanes * g.Live
	}
	if next != whole {
		return fmt.Errorf("weights: plan groups cover %d of %d outputs", next, whole)
	}
	return nil
}

// PartSizes returns the padded bytes of each core's part for k, 0 for a core without outputs. It applies to Pack; a
// zero-skipping kernel's sizes depend on its values and come from PackSkipping.
func (p *Plan) PartSizes(k *Kernel) ([MaxCores]int, error) {
	var sizes [MaxCores]int
	if err := p.check(k); err != nil {
		return sizes, err
	}
	lead := k.leadBytes()
	for c := range sizes[:p.Cores] {
		n := 0
		switch p.Form {
		case Depthwise:
			if c < p.Out {
				n = align(k.PlaneBytes(1) * ((p.Out-c-1)/p.Cores + 1))
			}
		case Dense, Grouped:
			for _, g := range p.Groups {
				if c < g.Live {
					n += k.PlaneBytes(g.Lanes)
				}
			}
			n = align(n) * p.ConvGroups
		}
		if n > 0 {
			sizes[c] = n + lead
		}
	}
	return sizes, nil
}

// Size returns the total of PartSizes.
func (p *Plan) Size(k *Kernel) (int, error) {
	sizes, err := p.PartSizes(k)
	n := 0
	for _, s := range sizes {
		n += s
	}
	return n, err
}
