package protocol

// row returns the row of an identifier. Unless marks say otherwise, the host sends the command, its wire identifier
// follows from its place in the family, only its name is known, and the driver serves it itself (chapter 30).
func row(id ID, name, subsystem string, wire uint16, marks ...func(*Row)) Row {
	r := Row{ID: id, Name: name, Way: ToFirmware, Subsystem: subsystem, Wire: wire, WireSource: WirePlace,
		Request: opaque, Disposition: HostServed, Source: "chapter 30"}
	for _, mark := range marks {
		mark(&r)
	}
	return r
}

// with is the mark of a body that is known.
func with(body *Layout) func(*Row) { return func(r *Row) { r.Request = body } }

func handled(r *Row)  { r.Disposition = Handled }
func bringUp(r *Row)  { r.Disposition, r.Source = Handled, "chapter 29, bring-up" }
func emitted(r *Row)  { r.Way, r.Disposition, r.Source = ToHost, Emitted, "table C.15" }
func bothWays(r *Row) { r.Way = Both }
func stated(r *Row)   { r.WireSource = WireStated }
func left(r *Row)     { r.WireSource = WireLeft }

// Rows lists the dispatched identifiers 0x00 to 0x5c in order. Identifier, name, direction and subsystem are from table
// C.15; the wire identifier, the body and the disposition have their own sources.
var Rows = [...]Row{
	row(0x00, "STOP", "lifecycle", 0x0002, with(empty)),
	row(0x01, "RESET", "lifecycle", 0x0003, with(resetBody)),
	row(0x02, "CONFIG_GET", "property", 0x0004, with(configGet)),
	row(0x03, "PRINT_ENABLE", "stats", 0x0005, with(enable), bringUp),
	row(0x04, "REG_FILE_LOAD", "lifecycle", 0x0006),
	row(0x05, "BUILDINFO", "lifecycle", 0x0007, with(empty)),
	row(0x06, "TIMEPROFILE_START", "stats", 0x0008),
	row(0x07, "TIMEPROFILE_STOP", "stats", 0x0009),
	row(0x08, "TIMEPROFILE_SHOW", "stats", 0x000a),
	row(0x09, "FW_RUN_MODE", "lifecycle", 0x000b),
	row(0x0a, "POWER_DOWN", "power", 0x000c),
	row(0x0b, "SET_SNE_PMU_BASE", "power", 0x000d, with(pmuBase), bringUp),
	row(0x0c, "SET_SNE_RPC_CHECK_CMD", "property", 0x000e),
	row(0x0d, "RPC_ENABLE", "property", 0x000f),
	row(0x0e, "PLATFORM_INFO", "lifecycle", 0x0010, with(empty)),
	row(0x0f, "BOOT", "lifecycle", 0x0011),
	row(0x10, "PING", "lifecycle", 0x0012, with(empty)),
	row(0x11, "CONFIG_GET_EXT", "property", 0x0013),
	row(0x12, "POWER_DEVICE_ON", "power", 0x0014, with(device), bringUp),
	row(0x13, "POWER_DEVICE_OFF", "power", 0x0015, with(device)),
	row(0x14, "IPC_ENDPOINT_SET", "ipc", 0x0016, with(endpointSet), handled),
	row(0x15, "IPC_ENDPOINT_UNSET", "ipc", 0x0017, with(endpointUnset), handled),
	row(0x16, "CH_INFO_GET", "buffer", 0x0018),
	row(0x17, "CH_BUFFER_RECYCLE_MODE_SET", "buffer", 0x0019),
	row(0x18, "CH_BUFFER_RECYCLE_START", "buffer", 0x001a),
	row(0x19, "CH_BUFFER_RECYCLE_STOP", "buffer", 0x001b),
	row(0x1a, "CH_BUFFER_RETURN", "buffer", 0x001c),
	row(0x1b, "CH_BUFFER_POOL_CONFIG_GET", "buffer", 0x001d),
	row(0x1c, "CH_BUFFER_POOL_CONFIG_SET", "buffer", 0x001e),
	row(0x1d, "CH_DATA_FILE_LOAD", "buffer", 0x001f, with(region)),
	row(0x1e, "CH_PROPERTY_WRITE", "property", 0x0020, with(propertyWrite), bringUp),
	row(0x1f, "CH_PROPERTY_READ", "property", 0x0021, with(propertyRead), handled),
	row(0x20, "TRACE_ENABLE", "stats", 0x0022, with(traceEnable)),
	row(0x21, "RESOURCE_INFO_GET", "lifecycle", 0x0023, with(empty), bringUp),
	row(0x22, "STATS_BUFFER_SIZE_GET", "stats", 0x0024, with(empty), bringUp),
	row(0x23, "SUSPEND", "lifecycle", 0x0025, with(empty)),
	row(0x24, "DSID_SET", "cache", 0x0026, with(dsid)),
	row(0x25, "MCACHE_SIZE_GET", "cache", 0x0027, with(empty)),
	row(0x26, "SECURE_MODE_START", "secure", 0x0028),
	row(0x27, "SECURE_MODE_STOP", "secure", 0x0029),
	row(0x28, "SET_SNE_PMU_BASE2", "power", 0x002a, with(pmuBase)),
	row(0x29, "IPC_ENDPOINT_SET2", "ipc", 0x002b, with(endpointSet), handled),
	row(0x2a, "IPC_ENDPOINT_UNSET2", "ipc", 0x002c, with(endpointUnset), handled),
	row(0x2b, "CH_DATA_FILE_LOAD2", "buffer", 0x002d, with(region), handled, stated),
	row(0x2c, "SET_DYNAMIC_POWERGATE", "power", 0x002e),
	row(0x2d, "ANE_DEFAULT_SETTING_SET", "lifecycle", 0x002f, with(defaultSetting), bringUp),
	row(0x2e, "INIT_SHARED_EVENT_INFO", "ipc", 0x0030, with(region), bringUp),
	row(0x2f, "EXCLAVE_MODE_START", "secure", 0x0031),
	row(0x30, "EXCLAVE_MODE_STOP", "secure", 0x0032),
	row(0x31, "QUIESCE_STATE", "lifecycle", 0x0033, with(empty)),
	row(0x32, "CPU_LOAD_GET", "stats", 0x0034, with(empty)),
	row(0x33, "SECURE_MODE_RESUME_TRANSITION", "secure", 0x0100),
	row(0x34, "CH_ERROR_NOTIFICATION", "stats", 0x0101, with(errorNote), emitted),
	row(0x35, "CH_POWER_CONTROL", "power", 0x0102, with(powerControl)),
	row(0x36, "CH_SIGNPOST_NOTIFICATION", "stats", 0x0103, with(signpost), emitted),
	row(0x37, "CH_SIGNPOST_NOTIFICATION_GROUP", "stats", 0x0104, with(signpostGroup), emitted),
	row(0x38, "CH_RESET_NOTIFICATION", "stats", 0x0105, with(resetNote), emitted),
	row(0x39, "CH_SIGNPOST64_NOTIFICATION", "stats", 0x0106, with(signpost64), emitted),
	row(0x3a, "CH_SIGNPOST64_NOTIFICATION_GROUP", "stats", 0x0107, with(signpost64Group), emitted),
	row(0x3b, "CPU_LOAD_NOTIFICATION", "stats", 0x0108, with(cpuLoad), emitted),
	row(0x3c, "TM_SYNC_ERR_NOTIFICATION", "stats", 0x0212, with(errorNote), emitted, left),
	row(0x3d, "LOAD_PROGRAM", "program", 0x0200, with(programRegion), handled),
	row(0x3e, "UNLOAD_PROGRAM", "program", 0x0201, with(empty), handled),
	row(0x3f, "CREATE_PROCESS", "program", 0x0202, with(empty), handled),
	row(0x40, "TERMINATE_PROCESS", "program", 0x0203, with(empty), handled),
	row(0x41, "PROCEDURE_CALL", "execution", 0x0204, with(callLayout), handled, stated),
	row(0x42, "LOAD_AFPP", "program", 0x0205, with(programRegion), handled),
	row(0x43, "UNLOAD_AFPP", "program", 0x0206, with(empty), handled),
	row(0x44, "PROGRAM_INTERFACE_VERSION_CHECK", "program", 0x0207, with(version), handled),
	row(0x45, "PROCEDURE_CALL_CACHE_REQUEST", "cache", 0x0208, with(installLayout), handled),
	row(0x46, "PROCEDURE_CALL_TRIGGER_CACHE_REQUEST", "cache", 0x0209, with(triggerLayout), handled, stated),
	row(0x47, "PROCEDURE_CALL_RECYCLE_OUTPUT_BUFFER", "cache", 0x020a, with(recycleLayout), handled),
	row(0x48, "PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST", "cache", 0x020b, with(invalidateLayout), handled),
	row(0x49, "PROCEDURE_CALL_WITH_CUSTOM_BARS", "execution", 0x020c, with(callLayout), handled, stated),
	row(0x4a, "PREMAP_BUFFER", "cache", 0x020d, with(premapLayout), handled),
	row(0x4b, "PROCEDURE_CALL_CACHE_REQUEST_WITH_CUSTOM_BARS", "cache", 0x020e, with(installLayout), handled),
	row(0x4c, "PROCEDURE_CALL_CACHE_REQUEST_WITH_SHARED_EVENTS", "cache", 0x020f, with(installLayout), handled),
	row(0x4d, "FORCE_DISABLE_CACHE_REQUESTS", "cache", 0x0210, with(forceDisableLayout), handled),
	row(0x4e, "PROCEDURE_CALL_WITH_SIGNAL_EVENTS", "execution", 0x0211, with(callLayout), handled, stated),
	row(0x4f, "SET_ACTIVE_CACHE_REQUEST_IN_GROUP", "cache", 0x0300, with(setActiveLayout), handled),
	row(0x50, "PROGRAM_EVENT", "program", 0x0301, with(programEvent), emitted),
	row(0x51, "USER_EVENT", "stats", 0x0302, with(userEvent), emitted),
	row(0x52, "DBG_EVENT", "stats", 0x0303, with(userEvent), emitted),
	row(0x53, "DATA_CHAINING_EVENT", "cache", 0x0304, with(chainingEvent), emitted),
	row(0x54, "PREFETCH_DSID_EVENT", "cache", 0x0305, with(prefetchEvent), emitted),
	row(0x55, "SECURE_MODE_EVENT", "secure", 0x0400, with(userEvent), emitted),
	row(0x56, "REQUEST_PROGRAM_ID", "program", 0x0401, with(empty), handled),
	row(0x57, "RETURN_PROGRAM_ID", "program", 0x0402, with(empty), handled),
	row(0x58, "REQUEST_PROCESS_ID", "program", 0x0403, with(empty), handled),
	row(0x59, "RETURN_PROCESS_ID", "program", 0x0404, with(empty), handled, stated),
	row(0x5a, "INFERENCE_CALL", "execution", 0x7000, with(inferenceLayout), handled, stated),
	row(0x5b, "BACK_CHANNEL_RPC", "property", 0xff00, with(backChannelLayout), handled, bothWays, stated),
	row(0x5c, "DEBUG_COMMAND_DATA_CHECK", "stats", 0x0000, stated),
}
