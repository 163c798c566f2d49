package driver

import (
	"strconv"

	"github.com/zinc-compiler/zinc/target"
)

// Kext is a row of table 27.1.
type Kext struct {
	Role, Bundle string
	Class        string   // principal class
	RegisteredAs string   // the name under which it is registered, when it differs
	Provider     []string // provider match
	ProviderRole string   // the required role of the provider, if any
}

// KextBuild is the build at which the three kexts are version-locked.
const KextBuild = "9.511.3"

// Kexts are the three kernel extensions (table 27.1).
var Kexts = []Kext{
	{Role: "interface and hardware driver", Bundle: "AppleH11ANEInterface", Class: "ANEHWDevice",
		RegisteredAs: "H11ANEIn", Provider: []string{"RTBuddyService"}, ProviderRole: "ANE"},
	{Role: "per-die abstraction layer", Bundle: "AppleT8132ANEHAL", Class: "AppleT8132ANEHAL",
		Provider: []string{"IOResources"}},
	{Role: "multi-engine arbiter", Bundle: "AppleANELoadBalancer", Class: "ANEDriver",
		RegisteredAs: "H1xANELoadBalancer", Provider: []string{"IOResources", "IOKit"}},
}

// Properties are the properties that the driver publishes in the registry (table 27.9).
type Properties struct {
	ArchitectureType string
	Version          uint32
	MinorVersion     uint32
	BoardType        uint32
	BoardSubtype     uint32
	NumCores         uint32
	NumEngines       uint32
	CPUSubtype       uint32
	InternalBuild    bool
	// HALApertures are the device-tree reg indices of the ANEHAL apertures; 0 for one that the family does not have
	// (the numbers are modelled).
	HALApertures [3]int
}

// M1 are the properties read on the M1 host.
var M1 = Properties{
	ArchitectureType: target.Host.Name,
	Version:          0x60,
	MinorVersion:     17,
	BoardType:        96,
	BoardSubtype:     0,
	NumCores:         16,
	NumEngines:       1,
	CPUSubtype:       target.Host.Subtype,
	InternalBuild:    false,
	HALApertures:     [3]int{7, 8, 9},
}

// PropertiesOf returns the properties of a machine that runs a target's programs: the M1's but for the architecture and
// the CPU subtype, since no others are published, and for the apertures: another family has six (modelled). Of the M1's
// own subtype it returns M1.
func PropertiesOf(t *target.Table) Properties {
	p := M1
	if t.Subtype != M1.CPUSubtype {
		p.ArchitectureType, p.CPUSubtype = t.Name, t.Subtype
		p.HALApertures[2] = 0
	}
	return p
}

// target returns the oldest target whose programs a machine with these properties runs.
func (p *Properties) target() *target.Table { return target.BySubtype(p.CPUSubtype) }

// Property is a row of the published table.
type Property struct {
	Name, Value, Meaning string
}

// Published lists the properties in the order of table 27.9.
func (p *Properties) Published() []Property {
	return []Property{
		{"architecture type string", p.ArchitectureType, "microarchitecture family, drives per-family codegen"},
		{"version", decimal(p.Version), "major hardware version"},
		{"minor version", decimal(p.MinorVersion), "minor revision"},
		{"board type", decimal(p.BoardType), "board and system-on-chip type id"},
		{"board subtype", decimal(p.BoardSubtype), "board sub-variant"},
		{"number of cores", decimal(p.NumCores), "compute cores in this engine"},
		{"number of engines", decimal(p.NumEngines), "distinct engine units, load balancer is a pass-through"},
		{"CPU subtype", decimal(p.CPUSubtype), "program-ABI gate"},
		{"internal build", yesNo(p.InternalBuild), "release build, gates the debug surfaces"},
	}
}

// RegistryEntry is a node of the registry below the device.
type RegistryEntry struct {
	Class string // of the object; for a user client with its number
	Name  string // the name that it is registered under
}

// Registry lists the device, the load balancer, the permanent hints client, and the open user clients. Without open
// user clients there are only the first three.
func (d *Device) Registry() []RegistryEntry {
	out := []RegistryEntry{{Kexts[0].Class, Kexts[0].RegisteredAs}, {Kexts[2].Class, Kexts[2].RegisteredAs},
		{d.standing.Class(), "standing"}}
	for _, c := range d.openClients() {
		out = append(out, RegistryEntry{c.Class(), "client " + decimal(uint32(c.id))})
	}
	return out
}

func decimal(v uint32) string { return strconv.FormatUint(uint64(v), 10) }

func yesNo(b bool) string {
	if b {
		return "Yes"
	}
	return "No"
}
