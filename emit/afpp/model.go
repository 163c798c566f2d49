package afpp

import "github.com/zinc-compiler/zinc/lower/td"

// Package is a firmware container: what one load passes to the firmware.
type Package struct {
	Version  uint32 // major<<16 | minor; Encode writes [Version] for zero
	Programs []*Program
}

// Program is one compiled program, resolved for one load.
type Program struct {
	Version    uint32           // of the program's header; as Package.Version
	Versions   [NumKinds]uint32 // of each section's header, by Kind-1
	Offsets    [NumKinds]uint64 // of each section's body, from the program's header; the writer places a zero
	Generic    Generic
	Kernel     []byte // coefficients; a multiple of [Align] bytes
	Text       Text
	Operations []Operation
	Procedures []Procedure

	base    uint64        // of the header, in the container that the program was read from
	scanned []SectionInfo // of a program from Scan
}

// At is the position of the program's header in the container that it was read from.
func (g *Program) At() int64 { return int64(g.base) }

// Generic is the section that names a program.
type Generic struct {
	Identity  uint64   // of the program among the programs of a client
	Image     uint32   // version of the register images, [td.V10.Version]
	Base      uint64   // first device address that the program may name; page-aligned
	Size      uint64   // bytes from Base; Base+Size is at most [AddressLimit]
	Container [32]byte // SHA-256 of the hardware container
}

// Text is the section that the engine runs from: the record stream, and a register image for each task.
//
// A record with a slot is resolved exactly if its buffer has an address. The record of a buffer that the call provides
// stays open, with its register without a base, and the firmware closes it ([td.Record.Resolve]) with
// [Text.RegisterBase]. All other records have their registers at one base, which the load sets.
type Text struct {
	Records []td.Record
	Images  [][]byte // one per task, of [td.ImageSize] bytes

	// Other is the rest after the records in a text section that [Scan] read without images of a known version.
	Other []byte
}

// RegisterBase returns where the engine's registers begin in this load's aperture, or false if no record shows it.
func (t *Text) RegisterBase() (uint64, bool) {
	for i := range t.Records {
		if r := &t.Records[i]; r.Slot == 0 || r.Resolved {
			return r.Register - r.Register%td.RegisterWindow, true
		}
	}
	return 0, false
}

// Operation is a range of tasks that do one thing.
type Operation struct {
	Name      string
	Class     uint16 // the operation mode, in [Classes]
	Micro     uint16 // in [MicroOperations]
	FirstTask uint32
	Tasks     uint32 // at least 1
}

// Procedure is what a call names.
type Procedure struct {
	Name           string
	FirstOperation uint32
	Operations     uint32 // at least 1
	Inputs         []Port
	Outputs        []Port
	Bars           []Bar
}

// Port is an input or output of a procedure.
type Port struct {
	Name string
	Bar  uint32 // ID of one of the procedure's bars, of usage input or output
}

// Bar is a buffer-access register: the base and size with which tasks reach a buffer.
type Bar struct {
	ID      uint32 // below [MaxBars], once a procedure
	Usage   Usage
	Address uint64 // inside the window of Generic; a multiple of [Align]; 0: bound by the call
	Size    uint64 // bytes, at least 1
}

// ByCall reports whether each call brings the buffer: an input or an output that
// the load gave no address.
func (b *Bar) ByCall() bool {
	return b.Address == 0 && (b.Usage == UsageInput || b.Usage == UsageOutput)
}

// Usage is what a mapped buffer is for.
type Usage uint32

// The usage codes with which a load maps segments.
const (
	UsageInput        Usage = 1
	UsageOutput       Usage = 2
	UsageIntermediate Usage = 7
	UsageWeights      Usage = 8
	UsageText         Usage = 9
	UsageConstants    Usage = 11
)

var usageNames = map[Usage]string{
	UsageInput: "input", UsageOutput: "output", UsageIntermediate: "intermediate",
	UsageWeights: "weights", UsageText: "text", UsageConstants: "constants",
}

// String returns the name of the usage, "" for an unknown code.
func (u Usage) String() string { return usageNames[u] }

// Warnings lists what the firmware accepts with a warning: headers of another minor
// version (chapter 29: a version-minor mismatch warns and continues).
func (p *Package) Warnings() []string {
	var out []string
	note := func(field string, v uint32) {
		if v != Version && v != 0 {
			out = append(out, field+": "+versionText(v)+" is read as "+versionText(Version))
		}
	}
	note("package.version", p.Version)
	for i, g := range p.Programs {
		f := programField(i)
		note(f+".version", g.Version)
		for k, v := range g.Versions {
			note(f+"."+Kind(k+1).String()+".version", v)
		}
	}
	return out
}
