package e5rt

// Phase says how often a call is made (table 2.1).
type Phase uint8

// The phases.
const (
	CompilePhase  Phase = iota // once, before the loop
	DispatchPhase              // once a frame, token or request
)

// Call is one call of the runtime.
type Call struct {
	Name  string // the vendor's
	Go    string // this package's
	Phase Phase
	Known bool // in the specification's listings; the others are modelled
}

// Names of the calls in errors and traces.
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
	callRetainState      = "zinc_execution_stream_operation_retain_state_port" // the vendor's call is not known
	callPrepare          = "e5rt_execution_stream_operation_prepare_op_for_encode"
	callTensorDescriptor = "e5rt_io_port_retain_tensor_desc"
	callBind             = "e5rt_io_port_bind_buffer_object"
	callAlloc            = "e5rt_buffer_object_alloc"
	callStreamCreate     = "e5rt_execution_stream_create"
	callEncode           = "e5rt_execution_stream_encode_operation"
	callExecute          = "e5rt_execution_stream_execute_sync"
	callSubmit           = "e5rt_execution_stream_submit_async"
	callReset            = "e5rt_execution_stream_reset"
	callCompletion       = "completion" // of submit_async; traced, although not a call
)

// Calls are the calls of the package in the order in which a program makes them.
var Calls = []Call{
	{Name: callCompilerCreate, Go: "Runtime.NewCompiler", Phase: CompilePhase, Known: false},
	{Name: callNewCompile, Go: "Compiler.IsNewCompileRequired", Phase: CompilePhase, Known: false},
	{Name: callCompile, Go: "Compiler.Compile", Phase: CompilePhase, Known: true},
	{Name: callLibraryCreate, Go: "Runtime.NewProgramLibrary", Phase: CompilePhase, Known: false},
	{Name: callFunctionNames, Go: "ProgramLibrary.FunctionNames", Phase: CompilePhase, Known: false},
	{Name: callRetainFunction, Go: "ProgramLibrary.RetainProgramFunction", Phase: CompilePhase, Known: true},
	{Name: callLoad, Go: "ProgramFunction.LoadForExecution", Phase: CompilePhase, Known: true},
	{Name: callOptionsCreate, Go: "CreateWithProgramFunction", Phase: CompilePhase, Known: true},
	{Name: callOperationCreate, Go: "CreatePrecompiledComputeOperationWithOptions", Phase: CompilePhase, Known: true},
	{Name: callAlloc, Go: "Runtime.BufferObjectAlloc", Phase: CompilePhase, Known: true},
	{Name: callRetainInput, Go: "ExecutionStreamOperation.RetainInputPort", Phase: CompilePhase, Known: true},
	{Name: callRetainOutput, Go: "ExecutionStreamOperation.RetainOutputPort", Phase: CompilePhase, Known: true},
	{Name: callRetainState, Go: "ExecutionStreamOperation.RetainStatePort", Phase: CompilePhase, Known: false},
	{Name: callTensorDescriptor, Go: "IOPort.TensorDescriptor", Phase: CompilePhase, Known: false},
	{Name: callBind, Go: "IOPort.BindBufferObject", Phase: CompilePhase, Known: true},
	{Name: callStreamCreate, Go: "Runtime.NewExecutionStream", Phase: CompilePhase, Known: true},
	{Name: callPrepare, Go: "ExecutionStreamOperation.PrepareOpForEncode", Phase: DispatchPhase, Known: true},
	{Name: callEncode, Go: "ExecutionStream.EncodeOperation", Phase: DispatchPhase, Known: true},
	{Name: callExecute, Go: "ExecutionStream.ExecuteSync", Phase: DispatchPhase, Known: true},
	{Name: callSubmit, Go: "ExecutionStream.SubmitAsync", Phase: DispatchPhase, Known: false},
	{Name: callCompletion, Go: "Submission.Wait", Phase: DispatchPhase, Known: false},
	{Name: callReset, Go: "ExecutionStream.Reset", Phase: DispatchPhase, Known: true},
	{Name: callFunctionRelease, Go: "ProgramFunction.Release", Phase: CompilePhase, Known: false},
}
