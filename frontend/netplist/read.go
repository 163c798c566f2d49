package netplist

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zinc-compiler/zinc/ir"
)

// Versions are the versions that are read; Version is the one written.
var Versions = []string{"1.0.9", Version}

// Version is the version of the format that Write writes.
const Version = "1.0.10"

// Limits of a description, beyond the limits of a property list.
const (
	maxName = 256     // bytes of a name
	maxDim  = 1 << 20 // elements along an axis; the engine's own limits are far lower
	maxSize = 1 << 40 // elements of a tensor
)

// elementFloat16 is the element type of every tensor that is read.
const elementFloat16 = "Float16"

// outputMark ends the name of an output in a description.
const outputMark = "@output"

// A reader is the state of one Read.
type reader struct {
	name  string // of the property list, for errors
	files *weightFiles
	err   error // the first
}

// Read returns the program of the description src, whose name in errors is name. weights is the folder of the weight
// files, nil for none. The program keeps no file open. Errors are *Error.
func Read(name string, src []byte, weights *os.Root) (*ir.Program, error) {
	top, err := decode(src)
	if err != nil {
		return nil, &Error{
			File: name,
			Rule: "the property list cannot be read: " + err.Error(),
			Hint: "use an XML or binary property list",
		}
	}
	r := &reader{name: name, files: &weightFiles{root: weights, open: map[string]*weightFile{}}}
	d := r.dict("", "", "", top)
	if d.need("Version", "versions "+strings.Join(Versions, " and ")+" are supported") {
		d.word("Version", "write the description with a supported version", Versions...)
	}
	out := &ir.Program{Version: "1.3", Files: []string{name}}
	var nets []string
	if d.need("Networks", "list the names of the networks") {
		nets = d.names("Networks")
	}
	if len(nets) == 0 {
		d.fail("Networks", "must name a network", "an empty array", "list the names of the networks")
	}
	seen := map[string]bool{}
	for i, n := range nets {
		key := fmt.Sprintf("Networks[%d]", i)
		r.checkName(d, key, n)
		if seen[n] || n == "Networks" || n == "Version" {
			d.fail(key, "must name each network once, and no key of the list", shown(n), "")
		}
		seen[n] = true
		if r.err != nil {
			break
		}
		if d.need(n, "Networks names it: add its dictionary") {
			sub := d.sub(n)
			if r.err == nil {
				if f := r.network(n, sub.m); f != nil {
					out.Funcs = append(out.Funcs, f)
				}
			}
		}
	}
	if r.err == nil {
		d.done()
	}
	if r.err != nil {
		return nil, r.err
	}
	return out, nil
}

// checkName refuses names that cannot be shown or stored.
func (r *reader) checkName(d *dict, key, name string) {
	bad := name == "" || len(name) > maxName || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) })
	if bad {
		d.fail(key, fmt.Sprintf("a name has 1 to %d bytes of printable text", maxName), shown(name), "")
	}
}

// A tensor is a value with its unit, which is "" for an input.
type tensor struct {
	v    *ir.Value
	unit string
}

// A network is a network that is being read.
type network struct {
	r       *reader
	d       *dict
	name    string
	deep    bool // depth is the first axis
	weights []string
	fn      *ir.Func
	tensors map[string]*tensor
	names   nameSet
	uses    map[string]int // of units and inputs, by units and outputs
	ports   map[string]bool
	given   map[*ir.Value]bool // to an output
}

func (r *reader) network(name string, m map[string]any) *ir.Func {
	d := r.dict(name, "", "", m)
	n := &network{
		r: r, d: d, name: name, tensors: map[string]*tensor{}, names: map[string]bool{}, uses: map[string]int{},
		ports: map[string]bool{}, given: map[*ir.Value]bool{},
		fn: &ir.Func{Name: name, Opset: opset, Body: &ir.Block{}},
	}
	for _, k := range []string{"Inputs", "Outputs", "Units"} {
		d.need(k, "list the names, in an array")
	}
	inputs, outputs, units := d.names("Inputs"), d.names("Outputs"), d.names("Units")
	n.weights = d.names("Weights")
	seen := map[string]string{
		"Inputs":  "a key of the network",
		"Outputs": "a key of the network",
		"Units":   "a key of the network",
		"Weights": "a key of the network",
	}
	for _, l := range []struct {
		key   string
		names []string
	}{{"Inputs", inputs}, {"Outputs", outputs}, {"Units", units}} {
		for i, s := range l.names {
			key := fmt.Sprintf("%s[%d]", l.key, i)
			r.checkName(d, key, s)
			if was, twice := seen[s]; twice {
				d.fail(key, "a name must be unique among inputs, units and outputs", shown(s)+", "+was+" already",
					"rename one")
			}
			seen[s] = "one of " + l.key
			d.need(s, l.key+" names it: add its dictionary")
		}
	}
	if len(outputs) == 0 {
		d.fail("Outputs", "must name an output", "an empty array", "list the names of the outputs")
	}
	if r.err != nil {
		return nil
	}
	for _, s := range slices.Concat(inputs, outputs, units) {
		if d.sub(s); r.err != nil {
			return nil
		}
	}
	d.done()
	n.deep = n.hasDepth(inputs, units)
	for _, s := range inputs {
		n.input(n.entity(s))
	}
	n.reserve(outputs)
	for _, s := range n.sorted(units, outputs) {
		n.unit(n.entity(s))
		if r.err != nil {
			return nil
		}
	}
	for _, s := range outputs {
		n.output(n.entity(s))
	}
	if r.err != nil {
		return nil
	}
	return n.fn
}

// entity returns the dictionary of an input, unit or output.
func (n *network) entity(name string) *dict {
	m, _ := n.d.m[name].(map[string]any)
	return n.r.dict(n.name, name, "", m)
}

// hasDepth reports whether any tensor is deeper than 1: depth comes from an
// input or a Broadcast.
func (n *network) hasDepth(inputs, units []string) bool {
	for _, s := range inputs {
		if v, ok := n.entity(s).m["InputDepth"].(uint64); ok && v > 1 {
			return true
		}
	}
	for _, s := range units {
		for _, v := range n.entity(s).sub("Params").list("BroadcastInfo") {
			m, _ := v.(map[string]any)
			if size, _ := m["Size"].(uint64); m["Dimension"] == "Depth" && size > 1 {
				return true
			}
		}
	}
	return false
}

// sorted returns the units in an order in which each comes after what it reads, the listed order if possible, and
// counts the uses of every tensor.
func (n *network) sorted(units, outputs []string) []string {
	waits := map[string]int{}        // number of units that a unit still depends on
	readers := map[string][]string{} // by unit
	isUnit := map[string]bool{}
	for _, s := range units {
		isUnit[s] = true
	}
	for _, s := range units {
		for _, b := range n.entity(s).names("Bottom") {
			n.uses[b]++
			if isUnit[b] {
				waits[s]++
				readers[b] = append(readers[b], s)
			}
		}
	}
	for _, s := range outputs {
		for _, b := range n.entity(s).names("Bottom") {
			n.uses[b] += 2 // an output's tensor is never folded into a unit
		}
	}
	var out, ready []string
	for _, s := range units {
		if waits[s] == 0 {
			ready = append(ready, s)
		}
	}
	// A list that is already in order is kept.
	if inOrder(units, n) {
		return units
	}
	for len(ready) > 0 {
		s := ready[0]
		ready = ready[1:]
		out = append(out, s)
		for _, t := range readers[s] {
			if waits[t]--; waits[t] == 0 {
				ready = append(ready, t)
			}
		}
	}
	if len(out) < len(units) {
		for _, s := range units {
			if waits[s] > 0 {
				n.entity(s).fail("Bottom", "a unit must not depend on itself", shown(n.entity(s).m["Bottom"]),
					"break the cycle of units")
				break
			}
		}
	}
	return out
}

func inOrder(units []string, n *network) bool {
	at := make(map[string]int, len(units))
	for i, s := range units {
		at[s] = i
	}
	for i, s := range units {
		for _, b := range n.entity(s).names("Bottom") {
			if j, ok := at[b]; ok && j >= i {
				return false
			}
		}
	}
	return true
}

// Names of the axes of a tensor in the format.
const (
	axisBatch   = "Batch"
	axisChannel = "Channel"
	axisDepth   = "Depth"
	axisHeight  = "Height"
	axisWidth   = "Width"
)

var axes = []string{axisChannel, axisBatch, axisDepth, axisHeight, axisWidth} // the default of a concatenation first

// axis returns the index of an axis in the shapes of the network, -1 for the depth of a network without depth.
func (n *network) axis(name string) int {
	order := []string{axisBatch, axisChannel, axisHeight, axisWidth}
	if n.deep {
		order = append([]string{axisDepth}, order...)
	}
	return slices.Index(order, name)
}

// shape returns the shape of a tensor with these extents.
func (n *network) shape(batch, channels, depth, height, width int64) []int64 {
	s := []int64{batch, channels, height, width}
	if n.deep {
		s = append([]int64{depth}, s...)
	}
	return s
}

func (n *network) input(d *dict) {
	d.need("InputType", "state "+elementFloat16)
	element(d, "InputType")
	for _, k := range []string{"InputChannels", "InputHeight", "InputWidth"} {
		d.need(k, "set the extent")
	}
	dim := func(k string) int64 { return d.integer(k, 1, 1, maxDim) }
	t := ir.TensorOf(ir.FP16, n.shape(dim("BatchSize"), dim("InputChannels"), dim("InputDepth"), dim("InputHeight"),
		dim("InputWidth"))...)
	n.size(d, t)
	n.strides(d, "Input", t)
	d.done()
	v := &ir.Value{Name: n.names.unique(d.unit), Type: t}
	n.fn.Body.Params = append(n.fn.Body.Params, v)
	n.ports[v.Name] = true
	n.tensors[d.unit] = &tensor{v, ""}
}

// element checks the element type of a tensor.
func element(d *dict, key string) {
	d.word(key, "zinc supports only tensors of "+elementFloat16+": the description of another type lacks a scale to "+
		"convert the engine's numbers. Declare the tensor as "+elementFloat16+" and convert it outside", elementFloat16)
}

// size refuses tensors that are too large for any machine.
func (n *network) size(d *dict, t ir.Type) bool {
	if e := t.Elems(); e < 0 || e > maxSize {
		d.fail("", fmt.Sprintf("a tensor has at most %d elements", int64(maxSize)), t.String(), "make it smaller")
		return false
	}
	return true
}

// rowAlign is the multiple of bytes to which rows of a tensor are padded.
const rowAlign = 64

// strides checks the byte strides that a tensor's dictionary states. The stride of an axis of one element is never used
// and may be anything.
func (n *network) strides(d *dict, prefix string, t ir.Type) {
	d.word2(prefix+"Interleave", 1, "zinc lays channels out one plane after another")
	if n.r.err != nil {
		return
	}
	st := n.canonical(t)
	for _, a := range []struct{ key, axis string }{
		{"RowStride", axisHeight}, {"PlaneStride", axisChannel}, {"BatchStride", axisBatch}, {"DepthStride", axisDepth},
	} {
		key := prefix + a.key
		got := d.integer(key, 0, 0, 1<<40)
		i := n.axis(a.axis)
		if _, stated := d.m[key]; !stated || i < 0 || t.Shape[i] == 1 {
			continue
		}
		if got != st[i] {
			d.fail(key, fmt.Sprintf("a tensor of shape %s has rows at multiples of %d bytes and no "+
				"other padding, so this must be %d", ir.ShapeString(t.Shape), rowAlign, st[i]), fmt.Sprint(got),
				"omit the key or set that stride")
		}
	}
}

// canonical returns the byte strides of a tensor in memory.
func (n *network) canonical(t ir.Type) []int64 {
	st := make([]int64, len(t.Shape))
	k := len(st) - 1
	st[k] = 2
	step := (2*t.Shape[k] + rowAlign - 1) / rowAlign * rowAlign
	for i := k - 1; i >= 0; i-- {
		st[i] = step
		step *= t.Shape[i]
	}
	return st
}

// word2 checks an integer that must have one value.
func (d *dict) word2(key string, only int64, hint string) {
	if v, ok := d.get(key); ok {
		if n := d.asInteger(key, v, 0, 1<<40); n != only {
			d.fail(key, fmt.Sprintf("must be %d", only), fmt.Sprint(n), hint)
		}
	}
}

// bottom returns the tensors that a unit or output reads: low to high names.
func (n *network) bottom(d *dict, low, high int) []*tensor {
	d.need("Bottom", "name the tensors that it reads")
	names := d.names("Bottom")
	if len(names) < low || len(names) > high {
		want := fmt.Sprint(low)
		if high > low {
			want = fmt.Sprintf("%d to %d", low, high)
		}
		d.fail("Bottom", "must name "+want+" inputs or units", fmt.Sprint(len(names)), "")
		return nil
	}
	var out []*tensor
	for _, s := range names {
		t := n.tensors[s]
		if t == nil {
			d.fail("Bottom", "must name an input or a unit", shown(s), "add it to Inputs or Units")
			return nil
		}
		out = append(out, t)
	}
	return out
}

// unit adds the operations of a unit.
func (n *network) unit(d *dict) {
	typ := d.text("Type")
	u := units[typ]
	if u == nil {
		d.need("Type", "set the type of the unit")
		d.fail("Type", "zinc reads units "+strings.Join(unitNames, ", "), shown(typ),
			"express the unit with those, or convert the original model to MIL")
		return
	}
	if name, ok := d.get("Name"); ok && name != d.unit {
		d.fail("Name", "must be the key of the unit's dictionary", shown(name), "make them equal")
	}
	d.get("UnescapedName")
	d.get("UnescapedBottom")
	element(d, "OutputType")
	in := n.bottom(d, u.low, u.high)
	p := d.sub("Params")
	if n.r.err != nil {
		return
	}
	v := u.read(&unitReader{n, d, p}, in)
	if n.r.err != nil {
		return
	}
	c := v.Type.Shape[n.axis(axisChannel)]
	if got := d.integer("OutputChannels", c, 1, maxDim); got != c {
		d.fail("OutputChannels", fmt.Sprintf("the unit returns %d channels", c), fmt.Sprint(got),
			"set that number or omit the key")
	}
	if n.size(d, v.Type) {
		p.done()
		d.done()
	}
	n.tensors[d.unit] = &tensor{v, d.unit}
}

// reserve prevents units from taking the names of outputs.
func (n *network) reserve(outputs []string) {
	for _, s := range outputs {
		n.names[strings.TrimSuffix(s, outputMark)] = true
	}
}

// output names the tensor that an output reads.
func (n *network) output(d *dict) {
	in := n.bottom(d, 1, 1)
	element(d, "OutputType")
	if n.r.err != nil {
		return
	}
	v := in[0].v
	n.strides(d, "Output", v.Type)
	d.done()
	if v.Def == nil || n.given[v] {
		v = n.add(d, ir.OpIdentity, arg{ir.ParamX, v})
	}
	if n.r.err != nil {
		return
	}
	name := strings.TrimSuffix(d.unit, outputMark)
	if n.ports[name] {
		d.fail("", "inputs and outputs are identified by name, without "+outputMark, shown(name), "rename one")
		return
	}
	v.Name = name
	n.ports[name], n.given[v] = true, true
	n.fn.Body.Outputs = append(n.fn.Body.Outputs, v)
}

// weightRoot opens the folder of weight files.
func weightRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of the weight files: %w", err)
	}
	return root, nil
}

// ReadFile reads the description in the file of that name. weights is the folder
// of its weight files.
func ReadFile(name, weights string) (*ir.Program, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxSize {
		return nil, &Error{
			File:  name,
			Rule:  fmt.Sprintf("a property list is a regular file of at most %d bytes", MaxSize),
			Value: fmt.Sprintf("%s of %d", info.Mode().Type()&fs.ModeType, info.Size()),
		}
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	root, err := weightRoot(weights)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return Read(name, src, root)
}
