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

// layouts says, for each kind, the bytes a field takes in its table and the
// bytes of one element of its vector (0: not a vector).
var layouts = [...]struct{ size, elem int }{
	kUint8: {1, 0}, kInt32: {4, 0}, kUint32: {4, 0}, kUint64: {8, 0},
	kString: {4, 1}, kBytes: {4, 1}, kTable: {4, 0}, kUnion: {4, 0},
	kStrings: {4, 4}, kTables: {4, 4}, kUint32s: {4, 4}, kUint64s: {4, 8}, kInt32s: {4, 4}, kFloat32s: {4, 4},
}

// field is one field of a table, its slot being its place in the list (a union
// takes two slots, and must come last).
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
		{"key", kString, nil, required}, {"value", kString, nil, required}}}
	buildInfoTable = &table{"BuildInfo", []field{{"entries", kTables, buildInfoEntryTable, false}}}
	sectionTable   = &table{"Section", []field{
		{"name", kString, nil, required}, {"kind", kInt32, nil, false}, {"data", kBytes, nil, required}}}
	programTable = &table{"E5Program", []field{
		{"symbol_names", kStrings, nil, false}, {"build_info", kTable, buildInfoTable, false},
		{"sections", kTables, sectionTable, false}, {"format_version", kInt32, nil, false}}}

	descriptorTable = &table{"TensorDescriptor", []field{
		{"dim", kUint64s, nil, required}, {"stride", kUint64s, nil, required},
		{"width", kUint64, nil, false}, {"height", kUint64, nil, false}, {"channels", kUint64, nil, false},
		{"batch_number", kUint64, nil, false}, {"sequence_length", kUint64, nil, false},
		{"stride_width", kUint64, nil, false}, {"stride_height", kUint64, nil, false},
		{"stride_channels", kUint64, nil, false}, {"stride_batch_number", kUint64, nil, false},
		{"stride_sequence_length", kUint64, nil, false},
		{"storage_type", kInt32, nil, false}, {"component_pack", kInt32, nil, false}}}
	ioPortTable = &table{"IOPort", []field{
		{"name", kString, nil, required}, {"byte_size", kUint64, nil, false}, {"aperture_va", kUint64, nil, false}}}
	operandTable = &table{"Operand", []field{
		{"descriptor", kTable, descriptorTable, required}, {"name", kString, nil, required},
		{"aperture", kUint8, nil, false}, {"port", kTable, ioPortTable, required}}}
	argFrameTable = &table{"ArgFrame", []field{
		{"inputs", kTables, operandTable, false}, {"outputs", kTables, operandTable, false}}}

	operationTable = &table{"Operation", []field{
		{"name", kString, nil, required}, {"op_type", kUint8, nil, false},
		{"inputs", kUint32s, nil, false}, {"outputs", kUint32s, nil, false},
		{"arg_frame", kString, nil, false}, {"attrs_section", kString, nil, false}}}
	blockTable = &table{"Block", []field{
		{"name", kString, nil, required}, {"operations", kTables, operationTable, false}}}
	functionTable = &table{"Function", []field{
		{"name", kString, nil, required}, {"anehash_path", kString, nil, false},
		{"blocks", kTables, blockTable, false}, {"operands", kTables, operandTable, false},
		{"inputs", kUint32s, nil, false}, {"outputs", kUint32s, nil, false}, {"states", kUint32s, nil, false}}}
	aliasTable = &table{"AliasSymbol", []field{
		{"name", kString, nil, required}, {"symbol_index", kUint32, nil, false}, {"addr_offset", kUint32, nil, false}}}

	cpuConstantTable = &table{"CpuConstant", []field{
		{"name", kString, nil, required}, {"section", kString, nil, required}}}

	// The union has no table of its own: what the tag says is in attrTables.
	opAttrsRecordTable = &table{"OpAttrsRecord", []field{{"attrs", kUnion, nil, required}}}
)

// attrTables are the members of the union OpAttrs, by OpType; the tag of a
// member is its OpType plus one.
var attrTables = [...]*table{
	Cast: {"CastAttrs", []field{
		{"src_dtype", kInt32, nil, false}, {"dst_dtype", kInt32, nil, false}, {"component_pack", kInt32, nil, false}}},
	AneInference: {"AneInferenceAttrs", []field{
		{"procedure_name", kString, nil, required}, {"anehash", kString, nil, required},
		{"program_symbol", kString, nil, false}, {"intermediate_buffer_handle", kUint32, nil, false},
		{"compiler_options", kString, nil, false}}},
	EirInference: {"EirInferenceAttrs", []field{
		{"program_name", kString, nil, false}, {"program", kBytes, nil, false}}},
	CpuInference: {"CpuInferenceAttrs", []field{
		{"entry", kString, nil, false}, {"program", kString, nil, false}, {"constants", kTables, cpuConstantTable, false}}},
	BnnsCpuInference: {"BnnsCpuInferenceAttrs", []field{
		{"function_name", kString, nil, false}, {"bundle_path", kString, nil, false}}},
	MlcCpuInference: {"MlcCpuInferenceAttrs", []field{
		{"graph_name", kString, nil, false}, {"graph", kBytes, nil, false}}},
	MpsGraphInference: {"MpsGraphInferenceAttrs", []field{
		{"package_path", kString, nil, false}, {"entry_point", kString, nil, false}}},
	E5MinimalCpu: {"E5MinimalCpuAttrs", []field{
		{"kernel_name", kString, nil, false}, {"parameters", kBytes, nil, false}}},
	Quant: {"QuantAttrs", []field{
		{"src_dtype", kInt32, nil, false}, {"dst_dtype", kInt32, nil, false}, {"axis", kInt32, nil, false},
		{"scales", kFloat32s, nil, false}, {"zero_points", kInt32s, nil, false}}},
	Dequant: {"DequantAttrs", []field{
		{"src_dtype", kInt32, nil, false}, {"dst_dtype", kInt32, nil, false}, {"axis", kInt32, nil, false},
		{"scales", kFloat32s, nil, false}, {"zero_points", kInt32s, nil, false}}},
	Barrier: {"BarrierAttrs", []field{{"events", kUint32s, nil, false}}},
	JitCall: {"JitCallAttrs", []field{
		{"symbol", kString, nil, false}, {"library", kString, nil, false}}},
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

// sectionRoots is, for each kind of section that holds a nested FlatBuffer, the
// table at its root.
var sectionRoots = map[int32]*table{
	kindFunction: functionTable, kindBlock: blockTable, kindOperation: operationTable,
	kindArgFrame: argFrameTable, kindOpAttrs: opAttrsRecordTable, kindAlias: aliasTable,
}
