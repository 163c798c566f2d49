package e5

import "github.com/zinc-compiler/zinc/internal/flattable"

var req, opt = flattable.Req, flattable.Opt

// The tables of e5.fbs. A test compares the two.
var (
	buildInfoEntryTable = flattable.New("BuildInfoEntry",
		req("key", flattable.String),
		req("value", flattable.String))
	buildInfoTable = flattable.New("BuildInfo", opt("entries", flattable.Subs, buildInfoEntryTable))
	sectionTable   = flattable.New("Section",
		req("name", flattable.String),
		flattable.Field{Name: "kind", Kind: flattable.Int32, Names: sectionKindNames},
		flattable.Field{Name: "data", Kind: flattable.Bytes, Required: true, Nested: sectionRoots})
	programTable = flattable.New("E5Program",
		opt("symbol_names", flattable.Texts),
		opt("build_info", flattable.Sub, buildInfoTable),
		opt("sections", flattable.Subs, sectionTable),
		opt("format_version", flattable.Int32))
	descriptorTable = flattable.New("TensorDescriptor",
		req("dim", flattable.Uint64s),
		req("stride", flattable.Uint64s),
		opt("width", flattable.Uint64),
		opt("height", flattable.Uint64),
		opt("channels", flattable.Uint64),
		opt("batch_number", flattable.Uint64),
		opt("sequence_length", flattable.Uint64),
		opt("stride_width", flattable.Uint64),
		opt("stride_height", flattable.Uint64),
		opt("stride_channels", flattable.Uint64),
		opt("stride_batch_number", flattable.Uint64),
		opt("stride_sequence_length", flattable.Uint64),
		opt("storage_type", flattable.Int32),
		opt("component_pack", flattable.Int32))
	ioPortTable = flattable.New("IOPort",
		req("name", flattable.String),
		opt("byte_size", flattable.Uint64),
		opt("aperture_va", flattable.Uint64))
	operandTable = flattable.New("Operand",
		req("descriptor", flattable.Sub, descriptorTable),
		req("name", flattable.String),
		opt("aperture", flattable.Uint8),
		req("port", flattable.Sub, ioPortTable),
		opt("rank", flattable.Uint32))
	argFrameTable = flattable.New("ArgFrame",
		opt("inputs", flattable.Subs, operandTable),
		opt("outputs", flattable.Subs, operandTable))
	operationTable = flattable.New("Operation",
		req("name", flattable.String),
		opt("op_type", flattable.Uint8),
		opt("inputs", flattable.Uint32s),
		opt("outputs", flattable.Uint32s),
		opt("arg_frame", flattable.String),
		opt("attrs_section", flattable.String))
	blockTable = flattable.New("Block",
		req("name", flattable.String),
		opt("operations", flattable.Subs, operationTable))
	functionTable = flattable.New("Function",
		req("name", flattable.String),
		opt("anehash_path", flattable.String),
		opt("blocks", flattable.Subs, blockTable),
		opt("operands", flattable.Subs, operandTable),
		opt("inputs", flattable.Uint32s),
		opt("outputs", flattable.Uint32s),
		opt("states", flattable.Uint32s))
	aliasTable = flattable.New("AliasSymbol",
		req("name", flattable.String),
		opt("symbol_index", flattable.Uint32),
		opt("addr_offset", flattable.Uint32))
	cpuConstantTable = flattable.New("CpuConstant",
		req("name", flattable.String),
		req("section", flattable.String))

	opAttrsRecordTable = flattable.New("OpAttrsRecord", req("attrs", flattable.Union, attrTables[:]...))
)

// attrTables are the members of the union OpAttrs, by OpType; the tag of a
// member is its OpType plus one.
var attrTables = [...]*flattable.Table{
	Cast: flattable.New("CastAttrs",
		opt("src_dtype", flattable.Int32),
		opt("dst_dtype", flattable.Int32),
		opt("component_pack", flattable.Int32)),
	AneInference: flattable.New("AneInferenceAttrs",
		req("procedure_name", flattable.String),
		req("anehash", flattable.String),
		opt("program_symbol", flattable.String),
		opt("intermediate_buffer_handle", flattable.Uint32),
		opt("compiler_options", flattable.String)),
	EirInference: flattable.New("EirInferenceAttrs",
		opt("program_name", flattable.String),
		opt("program", flattable.Bytes)),
	CpuInference: flattable.New("CpuInferenceAttrs",
		opt("entry", flattable.String),
		opt("program", flattable.String),
		opt("constants", flattable.Subs, cpuConstantTable)),
	BnnsCpuInference: flattable.New("BnnsCpuInferenceAttrs",
		opt("function_name", flattable.String),
		opt("bundle_path", flattable.String)),
	MlcCpuInference: flattable.New("MlcCpuInferenceAttrs",
		opt("graph_name", flattable.String),
		opt("graph", flattable.Bytes)),
	MpsGraphInference: flattable.New("MpsGraphInferenceAttrs",
		opt("package_path", flattable.String),
		opt("entry_point", flattable.String)),
	E5MinimalCpu: flattable.New("E5MinimalCpuAttrs",
		opt("kernel_name", flattable.String),
		opt("parameters", flattable.Bytes)),
	Quant: flattable.New("QuantAttrs",
		opt("src_dtype", flattable.Int32),
		opt("dst_dtype", flattable.Int32),
		opt("axis", flattable.Int32),
		opt("scales", flattable.Float32s),
		opt("zero_points", flattable.Int32s)),
	Dequant: flattable.New("DequantAttrs",
		opt("src_dtype", flattable.Int32),
		opt("dst_dtype", flattable.Int32),
		opt("axis", flattable.Int32),
		opt("scales", flattable.Float32s),
		opt("zero_points", flattable.Int32s)),
	Barrier: flattable.New("BarrierAttrs", opt("events", flattable.Uint32s)),
	JitCall: flattable.New("JitCallAttrs",
		opt("symbol", flattable.String),
		opt("library", flattable.String)),
}

// The kinds of a section.
const (
	kindFunction int32 = iota
	kindBlock
	kindOperation
	kindArgFrame
	kindOpAttrs
	kindAlias
	kindConstant
)

// sectionKindNames names the kinds of sections.
var sectionKindNames = map[int32]string{
	kindFunction: "function", kindBlock: "block", kindOperation: "operation", kindArgFrame: "argument frame",
	kindOpAttrs: "attributes", kindAlias: "alias", kindConstant: "constant",
}

// sectionRoots is, for each kind of section that contains a nested FlatBuffer, the table at its root.
var sectionRoots = map[int32]*flattable.Table{
	kindFunction: functionTable, kindBlock: blockTable, kindOperation: operationTable,
	kindArgFrame: argFrameTable, kindOpAttrs: opAttrsRecordTable, kindAlias: aliasTable,
}
