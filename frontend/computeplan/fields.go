package computeplan

import (
	"slices"
	"strconv"
	"strings"
)

// field is what a member of an operation means.
type field int

const (
	fieldOutputs field = iota
	fieldKind
	fieldPreferred
	fieldBackend
	fieldSupported
	fieldWeight
	fieldFunction
	fieldEstimates
	fieldReasons
	fieldIndex
	fieldBlocks
	fieldPath
	fieldUsage // an object with the devices
	fieldInner // an object with some of the other fields
	fieldTypeName
	numFields
)

// synonyms are the keys of each field, in the letters of foldKey. If an operation has several, the first counts.
var synonyms = [numFields][]string{
	fieldOutputs: {"outputs", "output", "operatorid", "outputnames", "outputname", "identity", "name"},
	fieldKind: {"operatorname", "operator", "operatortype", "optype", "opname", "op", "kind", "operation",
		"layertype"},
	fieldTypeName: {"type"},
	fieldPreferred: {"preferred", "preferreddevice", "preferredcomputedevice", "preferredcomputeunit",
		"selecteddevice", "device", "computedevice", "computeunit"},
	fieldBackend: {"selectedbackend"},
	fieldSupported: {"supported", "supporteddevices", "supportedcomputedevices", "supportedcomputeunits",
		"backendsupport"},
	fieldWeight: {"cost", "weight", "estimatedcost", "costweight", "estimatedcostweight", "estimatedweight",
		"costpercent", "weightpercent"},
	fieldFunction:  {"function", "functionname", "func"},
	fieldEstimates: {"estimatedruntime", "estimatedruntimes", "estimatesms"},
	fieldReasons:   {"validationmessages", "validationmessage"},
	fieldIndex:     {"opindex"},
	fieldBlocks:    {"blocks", "block"},
	fieldPath:      {"path", "oppath"},
	fieldUsage:     {"deviceusage", "computedeviceusage", "usage"},
	fieldInner:     {"operation", "layer", "args", "info", "plan"},
}

// fieldKeys are the fields of keys, with the place in the list of synonyms.
var fieldKeys = func() map[string][]fieldRank {
	m := map[string][]fieldRank{}
	for f, keys := range synonyms {
		for rank, k := range keys {
			m[k] = append(m[k], fieldRank{field(f), rank})
		}
	}
	return m
}()

type fieldRank struct {
	field field
	rank  int
}

// fields are the members of an object by their meaning; -1 is a missing one.
type fields [numFields]int32

func (t *tree) fields(n int32) fields {
	var f fields
	var rank [numFields]int
	for i := range f {
		f[i] = -1
	}
	if t.nodes[n].kind != object {
		return f
	}
	for c := range t.children(n) {
		if t.isNull(c) {
			continue
		}
		for _, k := range fieldKeys[foldKey(t.key(c))] {
			if k.field == fieldInner && t.nodes[c].kind != object || k.field == fieldKind && t.nodes[c].kind < quote {
				continue
			}
			if f[k.field] < 0 || k.rank < rank[k.field] {
				f[k.field], rank[k.field] = c, k.rank
			}
		}
	}
	return f
}

// isOperation reports whether an object with these fields is an operation: it has an operator, or a device and a name.
func (t *tree) isOperation(f *fields) bool {
	if f[fieldKind] >= 0 || f[fieldPath] >= 0 && f[fieldUsage] >= 0 {
		return true
	}
	device := f[fieldPreferred] >= 0 || f[fieldBackend] >= 0 || f[fieldUsage] >= 0
	if f[fieldInner] >= 0 {
		inner := t.fields(f[fieldInner])
		device = device || inner[fieldPreferred] >= 0 || inner[fieldWeight] >= 0
	}
	return device && (f[fieldOutputs] >= 0 || f[fieldTypeName] >= 0 || f[fieldInner] >= 0)
}

// operation reads an operation.
func (r *treeReader) operation(n int32, f fields, function string) (Operation, error) {
	o := Operation{Function: function, Line: r.line.lineAt(int(r.nodes[n].start)), index: -1}
	if f[fieldInner] >= 0 {
		r.inner(&f, &o)
	}
	if f[fieldUsage] >= 0 {
		usage := r.fields(f[fieldUsage])
		for _, x := range []field{fieldPreferred, fieldSupported} {
			if f[x] < 0 {
				f[x] = usage[x]
			}
		}
	}
	if f[fieldFunction] >= 0 {
		o.Function, _ = r.text(f[fieldFunction])
	}
	if f[fieldPath] >= 0 {
		r.path(f[fieldPath], &o)
	}
	if o.Outputs == nil && f[fieldOutputs] >= 0 {
		o.Outputs = r.names(f[fieldOutputs])
	}
	for _, x := range []field{fieldTypeName, fieldKind} {
		if f[x] >= 0 {
			if s, ok := r.text(f[x]); ok {
				o.Opset, o.Kind = splitKind(s)
			}
		}
	}
	return o, r.facts(&f, &o)
}

// inner adds the fields of an object in an operation. In a trace the event's name is the operator.
func (r *treeReader) inner(f *fields, o *Operation) {
	isArgs := foldKey(r.key(f[fieldInner])) == "args"
	if isArgs && f[fieldOutputs] >= 0 {
		f[fieldKind], f[fieldOutputs] = f[fieldOutputs], -1
	}
	if f[fieldKind] == f[fieldInner] {
		f[fieldKind] = -1
	}
	for x, c := range r.fields(f[fieldInner]) {
		if f[x] < 0 {
			f[x] = c
		}
	}
}

// facts reads the devices, the weight, the estimates and the reasons.
func (r *treeReader) facts(f *fields, o *Operation) error {
	if n := f[fieldBackend]; n >= 0 {
		s, _ := r.text(n)
		o.Backend = strings.Trim(s, `"`)
		if f[fieldPreferred] < 0 {
			f[fieldPreferred] = n
		}
	}
	if n := f[fieldPreferred]; n >= 0 {
		set, err := r.devices(n)
		if err != nil {
			return err
		}
		for _, d := range []Device{Engine, GPU, CPU} {
			if set.Has(d) {
				o.Preferred = d
				break
			}
		}
	}
	if n := f[fieldSupported]; n >= 0 {
		set, err := r.devices(n)
		if err != nil {
			return err
		}
		o.Supported = set
	}
	if n := f[fieldWeight]; n >= 0 {
		if err := r.weight(n, o); err != nil {
			return err
		}
	}
	if n := f[fieldEstimates]; n >= 0 {
		for c := range r.children(n) {
			s, _ := r.text(c)
			ms, ok := parseMs(s)
			if !ok {
				return r.errorAt(int(r.nodes[c].start), "want an estimate in ms, at least 0", quoted(s), "")
			}
			o.Estimates = append(o.Estimates, Estimate{r.key(c), ms})
		}
	}
	if n := f[fieldReasons]; n >= 0 {
		for c := range r.children(n) {
			if s, ok := r.text(c); ok && s != "" {
				o.Reasons = append(o.Reasons, Reason{r.key(c), s})
			}
		}
	}
	if n := f[fieldIndex]; n >= 0 {
		s, _ := r.text(n)
		i, err := strconv.ParseInt(s, 10, 64)
		if err != nil || i < 0 {
			return r.errorAt(int(r.nodes[n].start), "want a position, at least 0", quoted(s), "")
		}
		o.index = i
	}
	return nil
}

// parseMs reads a time.
func parseMs(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v >= 0 && v <= maxMs
}

// maxMs is more than any estimate.
const maxMs = 1e15

// weight reads the share of an operation: a number, a text with a number, per cent, or an object with one of these.
func (r *treeReader) weight(n int32, o *Operation) error {
	if r.nodes[n].kind == object {
		inner := r.fields(n)
		if inner[fieldWeight] < 0 {
			return nil
		}
		n = inner[fieldWeight]
	}
	s, ok := r.text(n)
	if !ok {
		return r.errorAt(int(r.nodes[n].start), "want a weight", "a list or a dictionary", "")
	}
	if s == "" {
		return nil
	}
	percent := strings.HasSuffix(foldKey(r.key(n)), "percent")
	w, ok := parseWeight(s, percent)
	if !ok {
		return r.errorAt(int(r.nodes[n].start), badWeight(percent), quoted(s), "")
	}
	o.Weight, o.Weighed = w, true
	return nil
}

// badWeight is the rule of an Error about a weight.
func badWeight(percent bool) string {
	if percent {
		return "want a weight from 0 to 100 %"
	}
	return "want a weight from 0 to 1"
}

// parseWeight reads a share of 1, or of 100 for a text that ends with a per cent sign or is a per cent.
func parseWeight(s string, percent bool) (float64, bool) {
	s, sign := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if percent || sign {
		v /= 100
	}
	return v, err == nil && v >= 0 && v <= 1+weightSlack
}

// weightSlack is what a sum of shares in single precision may be above 1.
const weightSlack = 1e-6

// names returns the outputs that a value lists: a text, a list of texts, or of objects with a name.
func (r *treeReader) names(n int32) (out []string) {
	switch r.nodes[n].kind {
	case array:
		for c := range r.children(n) {
			if r.nodes[c].kind == object {
				if f := r.fields(c); f[fieldOutputs] >= 0 {
					c = f[fieldOutputs]
				}
			}
			if s, ok := r.text(c); ok && s != "" {
				out = append(out, s)
			}
		}
	case quote, word:
		s, _ := r.text(n)
		for name := range strings.SplitSeq(s, ",") {
			if name = strings.TrimSpace(name); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// path reads an operation's place: "functions.main.block.operations[3]", or a list of components that ends with its
// output.
func (r *treeReader) path(n int32, o *Operation) {
	if s, ok := r.text(n); ok {
		if name, ok := strings.CutPrefix(s, "functions."); ok {
			o.Function, _, _ = strings.Cut(name, ".block")
		}
		return
	}
	if r.nodes[n].kind == object {
		for c := range r.children(n) {
			if foldKey(r.key(c)) == "components" {
				r.path(c, o)
			}
		}
		return
	}
	for c := range r.children(n) {
		r.component(c, o, "")
	}
}

// component reads one component of a path: {programOperation: {data: {outputName: x}}}, or {Type = Operation; Output =
// x}.
func (r *treeReader) component(n int32, o *Operation, kind string) {
	var name, output string
	for c := range r.children(n) {
		key := foldKey(r.key(c))
		if r.nodes[c].kind == object {
			if key != "data" {
				kind = key
			}
			r.component(c, o, kind)
			continue
		}
		s, _ := r.text(c)
		switch key {
		case "type":
			kind = foldKey(s)
		case "name":
			name = s
		case "output", "outputname":
			output = s
		}
	}
	switch {
	case output != "":
		o.Outputs = []string{output}
	case name != "" && strings.HasSuffix(kind, "function"):
		o.Function = name
	case name != "" && strings.HasSuffix(kind, "layer"):
		o.Outputs = []string{name}
	}
}

// devices returns the devices that a value names: a name, names with commas between, a list, an object with a name, or
// one whose keys are the names.
func (r *treeReader) devices(n int32) (Devices, error) {
	switch r.nodes[n].kind {
	case array:
		var set Devices
		for c := range r.children(n) {
			s, err := r.devices(c)
			if err != nil {
				return 0, err
			}
			set |= s
		}
		return set, nil
	case object:
		return r.deviceObject(n)
	}
	s, _ := r.text(n)
	set, bad := parseDevices(s)
	if bad != "" {
		return 0, r.errorAt(int(r.nodes[n].start), notDevice, quoted(bad), "")
	}
	return set, nil
}

const notDevice = "want a device: CPU, GPU or Neural Engine"

// parseDevices reads names of devices; bad is one that is not, or "". "unsupported" is the name of none.
func parseDevices(s string) (set Devices, bad string) {
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(",;|+", r) }) {
		if strings.Trim(part, ` "`) == "unsupported" {
			continue
		}
		d, ok := parseDevice(part)
		if !ok {
			return 0, strings.TrimSpace(part)
		}
		set |= Devices(d)
	}
	return set, ""
}

// deviceObject reads an object that has the name of a device as a member, or names of devices as keys.
func (r *treeReader) deviceObject(n int32) (Devices, error) {
	for c := range r.children(n) {
		if slices.Contains(deviceNames, foldKey(r.key(c))) {
			return r.devices(c)
		}
	}
	var set Devices
	for c := range r.children(n) {
		key := r.key(c)
		d, ok := parseDevice(key)
		if !ok {
			return 0, r.errorAt(int(r.nodes[c].keyStart), notDevice, quoted(key), "")
		}
		if s, _ := r.text(c); s != "0" && s != "false" && s != "NO" && !r.isNull(c) {
			set |= Devices(d)
		}
	}
	return set, nil
}

// deviceNames are the keys of the name of a device in an object.
var deviceNames = []string{"devicetype", "kind", "class", "name", "device", "type"}
