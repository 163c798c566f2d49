package e5rt

// Phase says how often a call is made (table 2.1).
type Phase uint8

// The phases.
const (
	CompilePhase  Phase = iota // once, ahead of the loop
	DispatchPhase              // once a frame, token or request
)

// String returns the table's word for the phase.
func (p Phase) String() string {
	if p == DispatchPhase {
		return "Dispatch"
	}
	return "Compile"
}

// Call is one call of the runtime.
type Call struct {
	Name  string // of the vendor's call
	Go    string // this package's
	Phase Phase
	Known bool // listed by the seed; the others are modelled
}

// Names of the calls, as errors and traces have them.
const (
	callCompilerCreate   = "e5rt_e5_compiler_create"
	callCompile          = "e5rt_e5_compiler_compile"
	callNewCompile       = "e5rt_e5_compiler_is_new_compile_required"
	callLibraryCreate    = "e5rt_program_library_create"
	callFunctionNames    = "e5rt_program_library_get_function_names"
	callRetainFunction   = "e5rt_program_library_retain_program_function"
	callLoad             = "e5rt_program_function_load_for_execution"
	callFunctionRelease  = "e5rt_program_function_release"
	callOptionsCreate    = "e5rt_precompiled_compute_op_create_options_create_with_program_function"
	callOperationCreate  = "e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options"
	callRetainInput      = "e5rt_execution_stream_operation_retain_input_port"
	callRetainOutput     = "e5rt_execution_stream_operation_retain_output_port"
	callRetainState      = "zinc_execution_stream_operation_retain_state_port" // no call of the vendor is known
	callPrepare          = "e5rt_execution_stream_operation_prepare_op_for_encode"
	callTensorDescriptor = "e5rt_io_port_retain_tensor_desc"
	callBind             = "e5rt_io_port_bind_buffer_object"
	callAlloc            = "e5rt_buffer_object_alloc"
	callStreamCreate     = "e5rt_execution_stream_create"
	callEncode           = "e5rt_execution_stream_encode_operation"
	callExecute          = "e5rt_execution_stream_execute_sync"
	callSubmit           = "e5rt_execution_stream_submit_async"
	callReset            = "e5rt_execution_stream_reset"
	callCompletion       = "completion" // of submit_async: no call, but traced
)

// Calls are the calls of the package in the order in which a program makes them.
var Calls = []Call{
	{callCompilerCreate, "Runtime.NewCompiler", CompilePhase, false},
	{callNewCompile, "Compiler.IsNewCompileRequired", CompilePhase, false},
	{callCompile, "Compiler.Compile", CompilePhase, true},
	{callLibraryCreate, "Runtime.NewProgramLibrary", CompilePhase, false},
	{callFunctionNames, "ProgramLibrary.FunctionNames", CompilePhase, false},
	{callRetainFunction, "ProgramLibrary.RetainProgramFunction", CompilePhase, true},
	{callLoad, "ProgramFunction.LoadForExecution", CompilePhase, true},
	{callOptionsCreate, "CreateWithProgramFunction", CompilePhase, true},
	{callOperationCreate, "CreatePrecompiledComputeOperationWithOptions", CompilePhase, true},
	{callAlloc, "Runtime.BufferObjectAlloc", CompilePhase, true},
	{callRetainInput, "ExecutionStreamOperation.RetainInputPort", CompilePhase, true},
	{callRetainOutput, "ExecutionStreamOperation.RetainOutputPort", CompilePhase, true},
	{callRetainState, "ExecutionStreamOperation.RetainStatePort", CompilePhase, false},
	{callTensorDescriptor, "IOPort.TensorDescriptor", CompilePhase, false},
	{callBind, "IOPort.BindBufferObject", CompilePhase, true},
	{callStreamCreate, "Runtime.NewExecutionStream", CompilePhase, true},
	{callPrepare, "ExecutionStreamOperation.PrepareOpForEncode", DispatchPhase, true},
	{callEncode, "ExecutionStream.EncodeOperation", DispatchPhase, true},
	{callExecute, "ExecutionStream.ExecuteSync", DispatchPhase, true},
	{callSubmit, "ExecutionStream.SubmitAsync", DispatchPhase, false},
	{callCompletion, "Submission.Done", DispatchPhase, false},
	{callReset, "ExecutionStream.Reset", DispatchPhase, true},
	{callFunctionRelease, "ProgramFunction.Release", CompilePhase, false},
}
