package computeplan

import (
	"regexp"
	"strings"
)

// Lines of logs.
var (
	// logLine is "operation ios17.conv, device <MLCPUComputeDevice: 0x600000000010>, cost 4.6175%", after a log's
	// prefix.
	logLine = regexp.MustCompile(`\b(operation|layer) ([^,]+), device ([^,]*?)(?:, cost ([^,]+))?\s*$`)
	// inspectLine is "36.00% C|GN x, y = ios17.conv(x: ["audio_input"])".
	inspectLine = regexp.MustCompile(`^\s*(?:(\S+)%\s+)?(?:([CGN-])\|([CGN ]*)\s)?\s*` +
		`(\w[\w./@:-]*(?:, *\w[\w./@:-]*)*) = ([\w.]+)\(`)
	// inspectFunc is the first line of a function.
	inspectFunc = regexp.MustCompile(`^\s*func (\S+?)\(`)
	// inspectUnits is in the line before the functions.
	inspectUnits = regexp.MustCompile(`for compute units? \[?([\w.]+)`)
)

// lineReader reads a plan line by line.
type lineReader struct {
	file   string
	number int
	plan   *Plan

	backends []string // names of the numbered backends of a table
}

func (r *lineReader) errorf(rule, value, hint string) error {
	return &Error{File: r.file, Line: r.number, Rule: rule, Value: value, Hint: hint}
}

// add adds an operation with the devices and the weight of texts.
func (r *lineReader) add(o Operation, preferred, supported, weight string, percent bool) error {
	if len(r.plan.Operations) >= MaxOperations {
		return r.errorf(tooMany, "", "")
	}
	o.Line, o.index = r.number, -1
	d, ok := parseDevice(preferred)
	if !ok {
		return r.errorf(notDevice, quoted(preferred), "")
	}
	o.Preferred = d
	set, bad := parseDevices(supported)
	if bad != "" {
		return r.errorf(notDevice, quoted(bad), "")
	}
	o.Supported = set
	if weight != "" && weight != "-" {
		if o.Weight, o.Weighed = parseWeight(weight, percent); !o.Weighed {
			return r.errorf(badWeight(percent), quoted(weight), "")
		}
	}
	r.plan.Operations = append(r.plan.Operations, o)
	return nil
}

// readLog reads the lines that Objective-C programs log. A layer has a name, an operation a kind.
func readLog(file, src string) (*Plan, error) {
	r := lineReader{file: file, plan: &Plan{Form: "log of operations"}}
	for line := range strings.Lines(src) {
		r.number++
		m := logLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		var o Operation
		if m[1] == "layer" {
			o.Outputs = []string{strings.TrimSpace(m[2])}
		} else {
			o.Opset, o.Kind = splitKind(m[2])
		}
		if err := r.add(o, m[3], "", m[4], false); err != nil {
			return nil, err
		}
	}
	return r.plan, r.plan.finish(file)
}

// readInspect reads a listing of functions with a column of devices. The letter before the bar is the preferred device,
// those after it are the others.
func readInspect(file, src string) (*Plan, error) {
	r := lineReader{file: file, plan: &Plan{Form: "CoreMLInspect listing"}}
	function := ""
	for line := range strings.Lines(src) {
		r.number++
		if m := inspectUnits.FindStringSubmatch(line); m != nil && function == "" {
			r.plan.Units = parseUnits(m[1])
			continue
		}
		if m := inspectFunc.FindStringSubmatch(line); m != nil {
			function = m[1]
			continue
		}
		m := inspectLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		o := Operation{Function: function}
		for name := range strings.SplitSeq(m[4], ",") {
			o.Outputs = append(o.Outputs, strings.TrimSpace(name))
		}
		o.Opset, o.Kind = splitKind(m[5])
		others := strings.Join(strings.Split(strings.ReplaceAll(m[2]+m[3], " ", ""), ""), ",")
		if err := r.add(o, m[2], others, m[1], true); err != nil {
			return nil, err
		}
	}
	return r.plan, r.plan.finish(file)
}
