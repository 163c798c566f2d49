package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// DevicePart is a section of what `zinc device` prints, or what a subcommand of it prints.
type DevicePart struct {
	Name string      // its key in JSON
	Rows []DeviceRow // the kinds of its rows, in the order of the text

	read func(n *partNode, x *probe) // adds the rows of a section
}

// DeviceRow is a kind of row of a part.
type DeviceRow struct {
	// Key is the key of the rows in JSON: "pools[]" is a list of them, "clients[].selectors[]" a list in each of
	// another, and "" adds the values to the part's.
	Key    string
	Format string // see node.Row
}

// partNode describes a part.
type partNode struct {
	*node.Node
	rows  []DeviceRow
	kinds map[string]*node.Node // where the rows of a key are
}

func newPartNode(p *DevicePart) *partNode {
	n := &partNode{node.Object(p.Name), p.Rows, map[string]*node.Node{}}
	for _, r := range p.Rows {
		if strings.Contains(r.Key, ".") {
			continue
		}
		kind := node.Object("")
		if key, list := strings.CutSuffix(r.Key, "[]"); list {
			kind = node.List(key)
		}
		n.kinds[r.Key] = kind
		n.Add(kind)
	}
	return n
}

// row adds a row of a kind of the part.
func (n *partNode) row(key string, values ...any) *node.Node {
	i := slices.IndexFunc(n.rows, func(r DeviceRow) bool { return r.Key == key })
	x := node.Row("", n.rows[i].Format, values...)
	if !strings.HasSuffix(key, "[]") {
		x.Key = key
	}
	kind := n.kinds[key]
	if outer, inner, nested := strings.Cut(key, "."); nested {
		list := n.kinds[outer].Parts
		kind = list[len(list)-1].Part(node.List(strings.TrimSuffix(inner, "[]")))
	}
	kind.Add(x)
	return x
}

// events adds steps of the layers, with the bytes that crossed a boundary if bytes is set.
func (n *partNode) events(key string, events []trace.Event, bytes bool) error {
	for _, e := range events {
		var text strings.Builder
		if err := trace.WriteText(&text, []trace.Event{e}, bytes); err != nil {
			return err
		}
		args := node.Object("args")
		for _, a := range e.Args {
			args.Add(node.Value(a.Key, a.Value))
		}
		phase := [...]string{trace.Instant: "", trace.Begin: "begin", trace.End: "end"}[e.Phase]
		n.row(key, e.Seq, microseconds(e.At), e.Layer, phase, e.Name, args, e.Err,
			fmt.Sprintf("%x", e.Data)).Add(node.Text("%s", text.String()))
	}
	return nil
}

// eventRow is the format of a step.
const eventRow = "{+seq}{+us}{+layer}{+phase}{+name}{+args}{+error}{+data}"

// answers adds the lines of an answer: one value's, and others.
func (n *partNode) answers(prefix, text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if name, value, ok := strings.Cut(line, ": "); ok {
			n.row(prefix+"values[]", name, value)
		} else {
			n.row(prefix+"lines[]", line)
		}
	}
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// deviceSections are the sections that `zinc device` prints.
var deviceSections = []DevicePart{
	{"build", []DeviceRow{{"extensions[]", "  {bundle} {build}: {role}, class {class}, " +
		"provider {provider}{+provider_role}{-role_match}\n"}},
		func(n *partNode, x *probe) {
			for _, k := range driver.Kexts {
				role := ""
				if k.ProviderRole != "" {
					role = ", role " + k.ProviderRole
				}
				n.row("extensions[]", k.Bundle, driver.KextBuild, k.Role, k.Class, strings.Join(k.Provider, ", "),
					k.ProviderRole, role)
			}
		}},
	{"registry", []DeviceRow{{"entries[]", "  {class} {name:q}{+open}{-note}\n"}}, func(n *partNode, x *probe) {
		for _, e := range x.stack.Device.Registry() {
			open, note := !slices.Contains(x.rest, e), ""
			if open {
				note = ", while it is open"
			}
			n.row("entries[]", e.Class, e.Name, open, note)
		}
	}},
	{"properties", []DeviceRow{{"properties[]", "  {name}: {value} ({meaning})\n"}}, func(n *partNode, x *probe) {
		p := x.stack.Device.Properties()
		for _, v := range p.Published() {
			n.row("properties[]", v.Name, v.Value, v.Meaning)
		}
	}},
	{"status", []DeviceRow{{"", "  clients {clients}, programs {programs}, waiting {waiting}, recoveries " +
		"{recoveries}\n  execution loop {state}, load {load_percent} %\n"},
		{"residents[]", "  program {program} resides on engine {engine}\n"}}, func(n *partNode, x *probe) {
		d := x.stack.Device
		s := d.Status()
		n.row("", s.Clients, s.Programs, s.Pending, d.Recoveries(), d.Coprocessor().LoopState(), d.Coprocessor().Load())
		for _, r := range d.Residents() {
			n.row("residents[]", r.Program, r.Engine)
		}
	}},
	{"clients", []DeviceRow{{"clients[]", "  {class}: front end {front_end}, process {process}, team {team:q}, " +
		"version {version} {minor_version}, engines {engines}, subtype {cpu_subtype}, " +
		"timeout {+timeout_us}{-timeout}\n" +
		"    privileged {privileged}, data chaining {data_chaining}, real-time {real_time}, system priorities " +
		"{system_priorities}, memory {memory}, data {data}, hints {hints}, coalition hints {coalition_hints}, " +
		"privileged memory {privileged_memory}\n"}},
		func(n *partNode, x *probe) {
			for _, s := range x.Clients() {
				d, i := s.Info(), s.Client().Info()
				n.row("clients[]", s.Client().Class(), s.Front(), i.PID, i.TeamID, d.Version[0], d.Version[1],
					d.Engines, d.CPUSubtype, microseconds(d.Timeout), d.Timeout, i.IsPrivileged, i.AllowDataChaining,
					i.RealtimePriority, i.SystemReservedPriorities, i.MemoryAccess, i.DataAccess, i.SetClientHints,
					i.ShareCoalitionHints, i.PrivilegedVMAccess)
			}
		}},
	{"power", []DeviceRow{{"registers[]", "  {address}: {value}\n"},
		{"", "  error capture {error_capture}\n"}}, func(n *partNode, x *probe) {
		n.row("", node.Hex(x.stack.Device.Coprocessor().Read32(coprocessor.ANEHAL2, coprocessor.RegCapture)))
		for i := range coprocessor.PMUEntries {
			at := uint64(coprocessor.PMUBase) + uint64(i)*coprocessor.PMUStride
			n.row("registers[]", node.Hex(at), node.Hex(x.stack.Device.Coprocessor().PMU(at)))
		}
	}},
	{"fabric", []DeviceRow{{"bits[]", "  bit {bit}, {name}, {value}: {role}\n"}}, func(n *partNode, x *probe) {
		v := x.stack.Device.Coprocessor().Fabric()
		for _, b := range coprocessor.FabricBits {
			n.row("bits[]", b.Bit, b.Name, v>>b.Bit&1, b.Role)
		}
	}},
	{"doorbells", []DeviceRow{{"doorbells[]", "  register {register}, value {value}: {stores} stores\n"}},
		readDoorbells},
	{"channels", []DeviceRow{{"channels[]", "  {index} {name}: {slots} slots, version {version}, ready {ready}\n"},
		{"dirty[]", "  {}\n"}}, func(n *partNode, x *probe) {
		for _, ch := range x.stack.Device.Coprocessor().Channels() {
			n.row("channels[]", ch.Index, ch.Name, ch.Slots, ch.Version, ch.Ready)
		}
		if r := x.stack.Device.Coprocessor().Rings(); r != nil {
			for _, s := range r.RPC().Dirty() {
				n.row("dirty[]", s)
			}
		}
	}},
	{"events", []DeviceRow{{"events[]", "  event {event}: {value}\n"},
		{"", "  a delayed notification arrives at {+delayed_until_us}{-at}\n"}}, func(n *partNode, x *probe) {
		values := x.stack.Device.Coprocessor().Events()
		for _, id := range slices.Sorted(maps.Keys(values)) {
			n.row("events[]", id, values[id])
		}
		if at, ok := x.stack.Device.Coprocessor().HeldUntil(); ok {
			n.row("", microseconds(at), at)
		}
	}},
	{"tasks", []DeviceRow{{"tasks[]", "  {name}: {state}\n"}}, func(n *partNode, x *probe) {
		for _, t := range x.stack.Device.Coprocessor().Tasks() {
			n.row("tasks[]", t.Name, t.State)
		}
	}},
	{"processes", []DeviceRow{{"processes[]", "  process {process} of program {program}: {state}\n"}},
		func(n *partNode, x *probe) {
			for _, p := range x.stack.Device.Coprocessor().Processes() {
				n.row("processes[]", p.Process, p.Program, p.State)
			}
		}},
	{"requests", []DeviceRow{{"requests[]", "  cache request {handler}: {state}, output set {output_set}, " +
		"group {group}, active {active}, last trigger {last_trigger}\n"}}, func(n *partNode, x *probe) {
		r := x.stack.Device.Coprocessor().Rings()
		if r == nil {
			return
		}
		for _, c := range r.Cache().Live() {
			n.row("requests[]", node.Hex(c.Handler), c.State, c.Output, c.Group, c.Active, c.LastTrigger)
		}
	}},
	{"pools", []DeviceRow{{"pools[]", "  {name}: {available} of {total} available\n"}}, func(n *partNode, x *probe) {
		for _, r := range x.stack.Device.Coprocessor().Pools() {
			n.row("pools[]", r.Name, r.Available, r.Total)
		}
		r := x.stack.Device.Clock().Timers()
		n.row("pools[]", r.Name+" of the host", r.Available, r.Total)
	}},
	{"counters", []DeviceRow{{"", "  boots {boots}, calls {calls}, completed {completed}, tasks {tasks}\n" +
		"  messages: ran {ran}, rejected {rejected}, dropped {dropped}, refused {refused}; doorbells {doorbells}, " +
		"retries {retries}\n  faults {faults}, aborts {aborts}, resets {resets}\n" +
		"  translation: {frames_in_use} frames in use, {evicted} mappings evicted, {translation_faults} faults\n" +
		"  performance counters: {counted_tasks} tasks, {counted_ns} ns, {counted_dma} limited by DMA\n"},
		{"translation[]", "    {}\n"},
		{"messages[]", "  {message} {outcome}: {count}\n"},
		{"injected[]", "  injected {fault}: {count}\n"}}, readCounters},
	{"time", []DeviceRow{{"causes[]", "  {cause}: {us} us\n"}}, func(n *partNode, x *probe) {
		spent := x.stack.Device.Clock().Spent()
		for i, d := range spent {
			if d != 0 {
				n.row("causes[]", cost.Cause(i), cost.Time(d))
			}
		}
	}},
	{"statistics", []DeviceRow{{"error", "  {}\n"},
		{"", "  magic {magic}, timing {timing_ns} ns, counter {counter}, words {word0} {word1}, descriptors " +
			"{descriptor_bytes} bytes\n  totals: {valid} records, {log_events} log events, " +
			"{stat_events} statistics events\n"},
		{"engines[]", "  engine {index} type {type}: call {call}, {ns} ns, {tasks} tasks, {calls} calls\n"}},
		readStatistics},
	{"log", []DeviceRow{{"lines[]", "  {}\n"}}, func(n *partNode, x *probe) {
		for _, l := range x.log {
			n.row("lines[]", l)
		}
	}},
	{"faults", []DeviceRow{{"dumps[]", "  at {+at_us}{-at}: {cause}\n"}, {"dumps[].sections[]", "{+name}{+text}"}},
		func(n *partNode, x *probe) {
			for _, d := range x.stack.Device.Dumps() {
				n.row("dumps[]", microseconds(d.At), d.At, d.Cause)
				for _, s := range d.Sections {
					n.row("dumps[].sections[]", s.Name, s.Text).Add(node.Text("    %s: %s\n", s.Name,
						strings.ReplaceAll(s.Text, "\n", "\n      ")))
				}
			}
		}},
}

func readCounters(n *partNode, x *probe) {
	d := x.stack.Device
	s, u, p := d.Coprocessor().Stats(), d.Unit().Stats(), d.Counters()
	n.row("", s.Boots, s.Calls, s.Completed, s.Tasks, s.Ran, s.Rejected, s.Dropped, s.Refused, s.Doorbells, s.Retries,
		s.Faults, s.Aborts, s.Resets, u.FramesInUse, u.EvictedMappings, u.Faults, p[coprocessor.CountTasks],
		p[coprocessor.CountNanoseconds], p[coprocessor.CountDMA])
	for _, f := range d.Unit().Faults() {
		n.row("translation[]", f.Error())
	}
	if r := d.Coprocessor().Rings(); r != nil {
		for _, c := range r.Counts() {
			n.row("messages[]", c.Name, c.Outcome, c.N)
		}
	}
	for k := range inject.Kind(inject.NumKinds) {
		if c := x.inject.Made(k); c > 0 {
			n.row("injected[]", k, c)
		}
	}
}

// readDoorbells adds the doorbells that the firmware has rung, in the order of their first stores.
func readDoorbells(n *partNode, x *probe) {
	type bell struct{ register, value any }
	var bells []bell
	stores := map[bell]int{}
	for _, e := range x.events.Events {
		if e.Name != "ring_doorbell" {
			continue
		}
		var b bell
		for _, a := range e.Args {
			switch a.Key {
			case "DoorBellReg":
				b.register = a.Value
			case "DoorBellBit":
				b.value = a.Value
			}
		}
		if stores[b]++; stores[b] == 1 {
			bells = append(bells, b)
		}
	}
	for _, b := range bells {
		n.row("doorbells[]", node.Hex(b.register.(uint64)), node.Hex(b.value.(uint64)), stores[b])
	}
}

// readStatistics adds the statistics buffer of the last call.
func readStatistics(n *partNode, x *probe) {
	h, engines, sum, err := x.Stats()
	switch {
	case err != nil:
		n.row("error", err.Error())
	case h == nil:
		n.Add(node.Text("  no call has been made\n"))
	default:
		n.row("", node.Hex(h.Magic), h.Timing, h.Counter, h.Word0, h.Word1, h.Area, sum.Valid,
			sum.LogEvents, sum.StatEvents)
	}
	for _, e := range engines {
		n.row("engines[]", e.Index, e.Type, e.Call, e.Counters[0], e.Counters[1], e.Counters[2])
	}
}

func sectionNames() []string {
	var out []string
	for _, s := range deviceSections {
		out = append(out, s.Name)
	}
	return out
}

// The answers of the subcommands.
var (
	sendPart = DevicePart{Name: "send", Rows: []DeviceRow{
		{"commands[]", "0x{id:02x} 0x{wire:04x} {name:-46s} {way:-16s} {subsystem:-10s} {disposition}\n"},
		{"loop[]", "loop 0x{wire:04x} {meaning:-28s} {vtable:-15s} {does}\n"},
		{"values[]", "{name}: {value}\n"},
		{"lines[]", "{}\n"},
		{"notifications[]", "notification {name}{+args}{-text}\n"},
		{"log[]", "log {}\n"}}}
	selectorPart = DevicePart{Name: "selector", Rows: []DeviceRow{{"clients[]", "{class}: {role}\n"},
		{"clients[].selectors[]", "  {selector:2d} {name:-38s} scalars in {scalars_in} out {scalars_out}, bytes in " +
			"{bytes_in} out {bytes_out}\n"},
		{"events[]", eventRow}}}
	methodPart = DevicePart{Name: "method", Rows: []DeviceRow{
		{"methods[]", "{name:-34s} in {in} out {out}: {role}{+reason}{-unsupported}\n"},
		{"values[]", "{name}: {value}\n"},
		{"lines[]", "{}\n"}}}
	brokerPart = DevicePart{Name: "broker", Rows: []DeviceRow{
		{"entitlements[]", "{key:-67s} {+holders}{+note}{-count:-28s} {capability}\n"},
		{"methods[]", "{name:-26s} {doc}\n"},
		{"methods[].arguments[]", "{-name:-26s}   {argument} needs {key}\n"},
		{"calls[]", "{+method}"},
		{"calls[].events[]", eventRow},
		{"calls[].values[]", "{name}: {value}\n"},
		{"calls[].lines[]", "{}\n"}}}
)

// deviceParts are the parts of all commands.
func deviceParts() []DevicePart {
	return append(slices.Clip(deviceSections), sendPart, selectorPart, methodPart, brokerPart)
}
