package computeplan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/internal/align"
)

// An Op is an operation of a model: what Join compares.
type Op struct {
	Outputs []string
	Kind    string
}

// A Join says which operation of a plan is which of a model.
type Join struct {
	// Of has an element for each operation of the model: the position in Plan.Operations, or -1.
	Of []int
	// Inserted are operations of the plan that Core ML put in: copies at the border of the program, casts to the
	// declared types, the preparation of images, the repair of indices.
	Inserted []int
	Extra    []int // other operations of the plan that are not in the model
	Missing  int   // operations of the model that are not in the plan
	Other    int   // operations of the plan in other functions
	Renamed  []int // operations of the model that have another kind in the plan, under the same name
	// Whole is false if the sequences of kinds differ so much that parts were not aligned.
	Whole bool

	functions []string // of the plan, if none is the model's
}

// maxAlignWork bounds the comparisons of kinds by Join: two sequences may differ in about 8,000 operations.
const maxAlignWork = 1 << 26

// Join finds the operations of one function of a model, in program order without constants, in the plan: by the names
// of their outputs, or for a plan without names by the order of their kinds.
func (p *Plan) Join(function string, ops []Op) *Join {
	j := &Join{Of: make([]int, len(ops)), Whole: true}
	for i := range j.Of {
		j.Of[i] = -1
	}
	own := p.own(function, j)
	if p.ByOrder {
		p.joinOrder(own, ops, j)
	} else {
		p.joinNames(own, ops, j)
	}
	for i, at := range j.Of {
		switch {
		case at < 0:
			j.Missing++
		case p.Operations[at].Kind != "" && p.Operations[at].Kind != ops[i].Kind:
			j.Renamed = append(j.Renamed, i)
		}
	}
	return j
}

// Functions are the functions of the plan, if the model's is not one of them.
func (j *Join) Functions() []string { return j.functions }

// own returns the positions of the operations of a function; other functions are counted.
func (p *Plan) own(function string, j *Join) (own []int) {
	for i := range p.Operations {
		if f := p.Operations[i].Function; f == "" || f == function {
			own = append(own, i)
			continue
		}
		j.Other++
	}
	if len(own) == 0 {
		for i := range p.Operations {
			if f := p.Operations[i].Function; !slices.Contains(j.functions, f) && len(j.functions) < maxFunctions {
				j.functions = append(j.functions, f)
			}
		}
	}
	return own
}

// maxFunctions is the number of functions that Functions lists.
const maxFunctions = 8

// copies are the kinds of operations between buffers of the caller and tensors.
var copies = regexp.MustCompile(`^(\w*buffer_to_tensor|tensor_to_\w*buffer)$`)

// joinNames joins by outputs. An operation at the border of the program has its name with a suffix, and the copy to the
// buffer has the plain one.
func (p *Plan) joinNames(own []int, ops []Op, j *Join) {
	byName := map[string]int{}
	for _, at := range own {
		o := &p.Operations[at]
		if copies.MatchString(o.Kind) {
			continue
		}
		for _, name := range o.Outputs {
			if was, ok := byName[name]; !ok || o.border && !p.Operations[was].border {
				byName[name] = at
			}
		}
	}
	joined := map[int]bool{}
	for i := range ops {
		for _, name := range ops[i].Outputs {
			if at, ok := byName[name]; ok && !joined[at] {
				j.Of[i], joined[at] = at, true
				break
			}
		}
	}
	repair := p.repairs(own, joined)
	for _, at := range own {
		switch {
		case joined[at]:
		case p.isInserted(at, byName) || repair[at]:
			j.Inserted = append(j.Inserted, at)
		default:
			j.Extra = append(j.Extra, at)
		}
	}
}

// insertedName is the name of a cast to a declared type or of a step of the preparation of an image.
var insertedName = regexp.MustCompile(`_to_(fp|int|uint|bool)\d*(_\d+)?$|_cast(_\d+)?$|__(scaled|biased)__`)

// isInserted reports whether Core ML put in an operation that is not in the model.
func (p *Plan) isInserted(at int, byName map[string]int) bool {
	o := &p.Operations[at]
	if copies.MatchString(o.Kind) || o.border {
		return true
	}
	if other, ok := byName[o.Name()]; ok && other != at && p.Operations[other].border {
		return true // the copy to the buffer, in a dump without kinds
	}
	if !insertedName.MatchString(o.Name()) {
		return false
	}
	return o.Kind == "" || o.Kind == "cast" || strings.Contains(o.Name(), "__")
}

// repairs returns the operations that make the indices of a gather positive: a comparison, an addition and a choice,
// maybe with casts between them, right before it.
func (p *Plan) repairs(own []int, joined map[int]bool) map[int]bool {
	found := map[int]bool{}
	var run []int
	for _, at := range own {
		kind := p.Operations[at].Kind
		if !joined[at] && slices.Contains([]string{"cast", "greater_equal", "add", "select"}, kind) {
			run = append(run, at)
			continue
		}
		if strings.HasPrefix(kind, "gather") {
			for _, r := range run {
				found[r] = true
			}
		}
		run = run[:0]
	}
	return found
}

// joinOrder joins by the order of kinds.
func (p *Plan) joinOrder(own []int, ops []Op, j *Join) {
	numbers := map[string]int32{}
	number := func(kind string) int32 {
		n, ok := numbers[kind]
		if !ok {
			n = int32(len(numbers))
			numbers[kind] = n
		}
		return n
	}
	var at []int
	var a, b []int32
	for _, i := range own {
		o := &p.Operations[i]
		if copies.MatchString(o.Kind) {
			j.Inserted = append(j.Inserted, i)
			continue
		}
		at, a = append(at, i), append(a, number(o.Kind))
	}
	for i := range ops {
		b = append(b, number(ops[i].Kind))
	}
	pairs, whole := align.Common(a, b, maxAlignWork)
	j.Whole = whole
	next := 0
	for _, pair := range pairs {
		j.Extra = append(j.Extra, at[next:pair[0]]...)
		next = int(pair[0]) + 1
		j.Of[pair[1]] = at[pair[0]]
	}
	j.Extra = append(j.Extra, at[next:]...)
}
