package computeplan

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A summaryReader collects the counts of a document without operations.
type summaryReader struct {
	Summary
	found bool
}

// maxCount is the limit of a count.
const maxCount = MaxOperations

// badCount is the rule of an Error about a count.
var badCount = "want a count from 0 to " + strconv.Itoa(maxCount)

// read collects a member of the document: counts by device, counts by kind and device, or lists of operations by
// device.
func (s *summaryReader) read(r *treeReader, key string, n int32) error {
	switch {
	case key == "peroptype" && r.nodes[n].kind == object:
		s.found = true
		return s.byKind(r, n)
	case key == "opsbydevice" && r.nodes[n].kind == object:
		s.found = true
		s.Unreliable = "its devices are the first word found in a printed usage, so that an operation on the CPU " +
			"that the engine supports counts as the engine's"
		return s.byDevice(r, n)
	}
	return nil
}

// byKind reads {KIND: {DEVICE: COUNT}}.
func (s *summaryReader) byKind(r *treeReader, n int32) error {
	for k := range r.children(n) {
		_, kind := splitKind(r.key(k))
		for c := range r.children(k) {
			d, ok := parseDevice(r.key(c))
			if !ok {
				return r.errorAt(int(r.nodes[c].keyStart), notDevice, quoted(r.key(c)), "")
			}
			text, _ := r.text(c)
			count, err := strconv.Atoi(text)
			if err != nil || count < 0 || count > maxCount {
				return r.errorAt(int(r.nodes[c].start), badCount, quoted(text), "")
			}
			if d == NoDevice || isConstant(kind) {
				continue
			}
			s.add(d, count)
			s.Kinds = append(s.Kinds, KindCount{kind, d, count})
		}
	}
	return nil
}

// byDevice reads {DEVICE: ["KIND:OUTPUT"]}.
func (s *summaryReader) byDevice(r *treeReader, n int32) error {
	counts := map[KindCount]int{}
	for k := range r.children(n) {
		d, ok := parseDevice(r.key(k))
		if !ok {
			return r.errorAt(int(r.nodes[k].keyStart), notDevice, quoted(r.key(k)), "")
		}
		for c := range r.children(k) {
			text, _ := r.text(c)
			op, _, _ := strings.Cut(text, ":")
			_, kind := splitKind(op)
			if d == NoDevice || isConstant(kind) {
				continue
			}
			s.add(d, 1)
			counts[KindCount{Kind: kind, Device: d}]++
		}
	}
	for k, n := range counts {
		k.Count = n
		s.Kinds = append(s.Kinds, k)
	}
	slices.SortFunc(s.Kinds, func(a, b KindCount) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Device, b.Device))
	})
	return nil
}

// Lines of a summary: "ANE: 1 / 3 ( 33.3%)", and "1  pad" after a line about operations off the engine.
var (
	shareLine = regexp.MustCompile(`^\s*(\S+):\s+(\d+)\s*/\s*(\d+)\s*\(\s*[\d.]+\s*%\s*\)`)
	kindLine  = regexp.MustCompile(`^\s*(\d+)\s+([\w.]+)\s*$`)
)

// readSummary reads a text of counts.
func readSummary(file, src string) (*Plan, error) {
	p := &Plan{Form: "summary of shares", Summary: &Summary{}}
	number := 0
	for line := range strings.Lines(src) {
		number++
		count := func(s string) (int, error) {
			n, err := strconv.Atoi(s)
			if err != nil || n > maxCount {
				return 0, &Error{File: file, Line: number, Rule: badCount, Value: quoted(s)}
			}
			return n, nil
		}
		if m := shareLine.FindStringSubmatch(line); m != nil {
			d, ok := parseDevice(m[1])
			if !ok {
				return nil, &Error{File: file, Line: number, Rule: notDevice, Value: quoted(m[1])}
			}
			n, err := count(m[2])
			if err != nil {
				return nil, err
			}
			p.Summary.add(d, n)
		} else if m := kindLine.FindStringSubmatch(line); m != nil {
			n, err := count(m[1])
			if err != nil {
				return nil, err
			}
			_, kind := splitKind(m[2])
			p.Summary.Kinds = append(p.Summary.Kinds, KindCount{Kind: kind, Count: n})
		}
	}
	return p, nil
}
