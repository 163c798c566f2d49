package e5

import "github.com/zinc-compiler/zinc/emit/e5/internal/fb"

// kind is how a field is stored.
type kind uint8

const (
	kUint8 kind = iota
	kInt32
	kUint32
	kUint64
	kString
	kBytes    // vector of bytes, or a nested FlatBuffer
	kTable    // offset of a table
	kUnion    // tag and offset; takes two slots
	kStrings  // vector of strings
	kTables   // vector of tables
	kUint32s  // vector of 32-bit integers
	kUint64s  // vector of 64-bit integers
	kInt32s   // vector of signed 32-bit integers
	kFloat32s // vector of floats
)

// layouts contains, for each kind, the bytes that a field takes in its table and the bytes of one element of its vector
// (0: not a vector).
var layouts = [...]struct{ size, elem int }{
	kUint8: {1, 0}, kInt32: {4, 0}, kUint32: {4, 0}, kUint64: {8, 0},
	kString: {4, 1}, kBytes: {4, 1}, kTable: {4, 0}, kUnion: {4, 0},
	kStrings: {4, 4}, kTables: {4, 4}, kUint32s: {4, 4}, kUint64s: {4, 8}, kInt32s: {4, 4}, kFloat32s: {4, 4},
}

// field is one field of a table; its slot is its position in the list (a union takes two slots, and must come last).
type field struct {
	name     string
	kind     kind
	of       *table // the table of kTable and kTables
	required bool
}

// table describes one table of e5.fbs. A test compares the two.
type table struct {
	name   string
	fields []field
}

// slots returns the number of vtable entries.
func (t *table) slots() int {
	n := len(t.fields)
	if n > 0 && t.fields[n-1].kind == kUnion {
		n++
	}
	return n
}

const required = true

var (
	buildInfoEntryTable = &table{"BuildInfoEntry", []field{
		{name: "key", kind: kString, required: required}, {name: "value", kind: kString, required: required}}}
	buildInfoTable = &table{"BuildInfo", []field{{name: "entries", kind: kTables, of: buildInfoEntryTable,
		required: false}}}
	sectionTable = &table{"Section", []field{
		{name: "name", kind: kString, required: required}, {name: "kind", kind: kInt32, required: false},
		{name: "data", kind: kBytes, required: required}}}
	programTable = &table{"E5Program", []field{
		{name: "symbol_names", kind: kStrings, required: false}, {name: "build_info", kind: kTable, of: buildInfoTable,
			required: false},
		{name: "sections", kind: kTables, of: sectionTable, required: false}, {name: "format_version", kind: kInt32,
			required: false}}}

	descriptorTable = &table{"TensorDescriptor", []field{
		{name: "dim", kind: kUint64s, required: required}, {name: "stride", kind: kUint64s, required: required},
		{name: "width", kind: kUint64, required: false}, {name: "height", kind: kUint64, required: false},
		{name: "channels", kind: kUint64, required: false},
		{name: "batch_number", kind: kUint64, required: false}, {name: "sequence_length", kind: kUint64,
			required: false},
		{name: "stride_width", kind: kUint64, required: false}, {name: "stride_height", kind: kUint64, required: false},
		{name: "stride_channels", kind: kUint64, required: false}, {name: "stride_batch_number", kind: kUint64,
			required: false},
		{name: "stride_sequence_length", kind: kUint64, required: false},
		{name: "storage_type", kind: kInt32, required: false}, {name: "component_pack", kind: kInt32, required: false}}}
	ioPortTable = &table{"IOPort", []field{
		{name: "name", kind: kString, required: required}, {name: "byte_size", kind: kUint64, required: false},
		{name: "aperture_va", kind: kUint64, required: false}}}
	operandTable = &table{"Operand", []field{
		{name: "descriptor", kind: kTable, of: descriptorTable, required: required}, {name: "name", kind: kString,
			required: required},
		{name: "aperture", kind: kUint8, required: false}, {name: "port", kind: kTable, of: ioPortTable,
			required: required}}}
	argFrameTable = &table{"ArgFrame", []field{
		{name: "inputs", kind: kTables, of: operandTable, required: false}, {name: "outputs", kind: kTables,
			of: operandTable, required: false}}}

	operationTable = &table{"Operation", []field{
		{name: "name", kind: kString, required: required}, {name: "op_type", kind: kUint8, required: false},
		{name: "inputs", kind: kUint32s, required: false}, {name: "outputs", kind: kUint32s, required: false},
		{name: "arg_frame", kind: kString, required: false}, {name: "attrs_section", kind: kString, required: false}}}
	blockTable = &table{"Block", []field{
		{name: "name", kind: kString, required: required}, {name: "operations", kind: kTables, of: operationTable,
			required: false}}}
	functionTable = &table{"Function", []field{
		{name: "name", kind: kString, required: required}, {name: "anehash_path", kind: kString, required: false},
		{name: "blocks", kind: kTables, of: blockTable, required: false}, {name: "operands", kind: kTables,
			of: operandTable, required: false},
		{name: "inputs", kind: kUint32s, required: false}, {name: "outputs", kind: kUint32s, required: false},
		{name: "states", kind: kUint32s, required: false}}}
	aliasTable = &table{"AliasSymbol", []field{
		{name: "name", kind: kString, required: required}, {name: "symbol_index", kind: kUint32, required: false},
		{name: "addr_offset", kind: kUint32, required: false}}}

	cpuConstantTable = &table{"CpuConstant", []field{
		{name: "name", kind: kString, required: required}, {name: "section", kind: kString, required: required}}}

	// The union has no separate table: the table for a tag is in attrTables.
	opAttrsRecordTable = &table{"OpAttrsRecord", []field{{name: "attrs", kind: kUnion, required: required}}}
)

// attrTables are the members of the union OpAttrs, by OpType; the tag of a
// member is its OpType plus one.
var attrTables = [...]*table{
	Cast: {"CastAttrs", []field{
		{name: "src_dtype", kind: kInt32, required: false}, {name: "dst_dtype", kind: kInt32, required: false},
		{name: "component_pack", kind: kInt32, required: false}}},
	AneInference: {"AneInferenceAttrs", []field{
		{name: "procedure_name", kind: kString, required: required}, {name: "anehash", kind: kString,
			required: required},
		{name: "program_symbol", kind: kString, required: false}, {name: "intermediate_buffer_handle", kind: kUint32,
			required: false},
		{name: "compiler_options", kind: kString, required: false}}},
	EirInference: {"EirInferenceAttrs", []field{
		{name: "program_name", kind: kString, required: false}, {name: "program", kind: kBytes, required: false}}},
	CpuInference: {"CpuInferenceAttrs", []field{
		{name: "entry", kind: kString, required: false}, {name: "program", kind: kString, required: false},
		{name: "constants", kind: kTables, of: cpuConstantTable, required: false}}},
	BnnsCpuInference: {"BnnsCpuInferenceAttrs", []field{
		{name: "function_name", kind: kString, required: false}, {name: "bundle_path", kind: kString,
			required: false}}},
	MlcCpuInference: {"MlcCpuInferenceAttrs", []field{
		{name: "graph_name", kind: kString, required: false}, {name: "graph", kind: kBytes, required: false}}},
	MpsGraphInference: {"MpsGraphInferenceAttrs", []field{
		{name: "package_path", kind: kString, required: false}, {name: "entry_point", kind: kString, required: false}}},
	E5MinimalCpu: {"E5MinimalCpuAttrs", []field{
		{name: "kernel_name", kind: kString, required: false}, {name: "parameters", kind: kBytes, required: false}}},
	Quant: {"QuantAttrs", []field{
		{name: "src_dtype", kind: kInt32, required: false}, {name: "dst_dtype", kind: kInt32, required: false},
		{name: "axis", kind: kInt32, required: false},
		{name: "scales", kind: kFloat32s, required: false}, {name: "zero_points", kind: kInt32s, required: false}}},
	Dequant: {"DequantAttrs", []field{
		{name: "src_dtype", kind: kInt32, required: false}, {name: "dst_dtype", kind: kInt32, required: false},
		{name: "axis", kind: kInt32, required: false},
		{name: "scales", kind: kFloat32s, required: false}, {name: "zero_points", kind: kInt32s, required: false}}},
	Barrier: {"BarrierAttrs", []field{{name: "events", kind: kUint32s, required: false}}},
	JitCall: {"JitCallAttrs", []field{
		{name: "symbol", kind: kString, required: false}, {name: "library", kind: kString, required: false}}},
}

// The kinds of a section.
const (
	kindFunction  = int32(fb.SectionKindfunction)
	kindBlock     = int32(fb.SectionKindblock)
	kindOperation = int32(fb.SectionKindoperation)
	kindArgFrame  = int32(fb.SectionKindarg_frame)
	kindOpAttrs   = int32(fb.SectionKindop_attrs)
	kindAlias     = int32(fb.SectionKindalias)
	kindConstant  = int32(fb.SectionKindconstant)
)

// sectionRoots is, for each kind of section that contains a nested FlatBuffer, the table at its root.
var sectionRoots = map[int32]*table{
	kindFunction: functionTable, kindBlock: blockTable, kindOperation: operationTable,
	kindArgFrame: argFrameTable, kindOpAttrs: opAttrsRecordTable, kindAlias: aliasTable,
}
