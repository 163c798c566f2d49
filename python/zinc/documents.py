"""The documents that zinc prints with --json, as data classes.

docs/json.md says what the keys mean. go generate ./docs writes this file from the types of the documents;
DO NOT EDIT it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class CompileDocument:
    """report.Document in docs/json.md."""

    #: path of the model's text
    model: str | None = None
    #: Exceeds says why no container has room for the program, if that is so. The report is then of a plan, or an
    #: estimate of the tasks in several containers
    exceeds: str | None = None
    #: budgets that were exceeded
    violations: tuple[Violation, ...] = ()
    #: what to change, the largest saving first
    advice: tuple[Advice, ...] = ()
    #: how changes were looked for, nil if they were not
    search: Search | None = None
    #: where Core ML itself would run it, nil if not forecast
    coreml: CoreML | None = None
    #: Generations compare the smallest chip of each generation; only where all targets were asked for
    generations: tuple[Generation, ...] = ()
    #: Refused counts the operations on the engine in a form that Apple's compiler refused in records
    refused_in_records: int | None = None
    #: generation that was compiled for, as h13
    target: str
    #: precision of floats: declared or fp16
    precision: str
    #: name of the function, or names, separated by ", "
    function: str
    #: operations on the engine
    engine_ops: int
    #: operations on the CPU
    cpu_ops: int
    #: conversions on the way to or from the engine
    transfer_ops: int
    #: multiply-accumulates on the engine
    engine_macs: int
    #: multiply-accumulates on the CPU
    cpu_macs: int
    #: dispatches of one call
    dispatches: int
    #: calls of programs for the CPU in one call
    cpu_calls: int
    #: tasks of the engine
    tasks: int
    #: tasks of a kind that recorded programs confirm (compile/attest)
    attested_tasks: int
    #: constant section
    weight_bytes: int
    #: of these, padding
    padding_bytes: int
    #: memory for intermediate values that do not fit in L2
    scratch_bytes: int
    #: operations of the compiled program, in order
    ops: tuple[OpReport, ...] = ()
    #: Estimate is the time of one call, or of one call of each function if the pair has several; nil in a plan,
    #: which has no tasks
    estimate: Estimate | None = None
    #: CPU is the estimated time of the operations on the CPU. It is much coarser than Estimate (cost.CPU) and not
    #: included in any Estimate
    cpu_us: int
    #: Call is CallTime, for readers of the JSON; absent in a plan, which has no tasks
    call_us: int | None = None
    #: Band is the interval of times that a call is expected to take by the known error of Call, absent without it
    call_band: Band | None = None
    #: DispatchList has one element per dispatch, in order
    dispatch_list: tuple[Dispatch, ...] = ()
    #: TaskList has one element per task, procedure by procedure; set only in the report of a function
    task_list: tuple[TaskReport, ...] = ()
    #: constants that the model stores compressed
    compressed: tuple[CompressedInfo, ...] = ()
    #: lookup tables in use
    tables: tuple[TableInfo, ...] = ()
    #: times of the stages of the compilation
    timings_seconds: tuple[Timing, ...] = ()
    #: Casts are the layout conversions of one call, absent in a report of a plan, which has no chain
    casts: int | None = None
    #: names of the states
    states: tuple[str, ...] = ()
    #: Flexible are the inputs whose shapes the model leaves open, with the shapes that the report is for
    flexible_inputs: tuple[FlexibleInput, ...] = ()
    #: Functions are the reports of the functions if the pair has several. The report itself then sums them up,
    #: with their operations and steps one function after the other
    functions: tuple[Report, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CheckDocument:
    """check.Result in docs/json.md."""

    #: path of the text
    model: str
    #: placements, in the order of the targets
    targets: tuple[Target, ...] = ()
    #: Generations compare the smallest chip of each generation; only of all targets
    generations: tuple[Generation, ...] = ()


@dataclass(frozen=True, kw_only=True)
class VerifyDocument:
    """cli.verifyResult in docs/json.md."""

    #: budgets that were exceeded
    violations: tuple[Violation, ...] = ()
    #: run on hardware, with --measured
    measured: Measured | None = None
    #: seed of the inputs
    seed: int
    #: arithmetic of the engine: ane, ane-wide, ane-fixed or ieee
    numerics: str
    #: arithmetic of the reference
    reference: str
    #: worst verdict of the outputs
    verdict: str
    #: Verdict is Pass
    pass_: bool
    #: compared
    statements: int
    #: comparisons of the outputs
    outputs: tuple[Output, ...] = ()
    #: size of the compiled program
    model: Model
    #: size of the container
    container_bytes: int
    #: size of the descriptor
    descriptor_bytes: int
    #: report of the compilation
    report: Report | None = None
    #: with Options.Prove, or if bounds alone cannot tell
    proof: Result | None = None
    #: the first statement beyond its bound
    first: Departure | None = None


@dataclass(frozen=True, kw_only=True)
class DiffDocument:
    """compare.Result in docs/json.md."""

    #: first side
    a: Summary
    #: second side
    b: Summary
    #: no difference was found
    same: bool
    #: of a call, of two models
    cost: tuple[Figure, ...] = ()
    #: levels, from the model to the bytes
    levels: tuple[Coverage, ...] = ()
    #: differences that no other change caused
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ConvertDocument:
    """cli.convertJSON in docs/json.md."""

    #: that were written, or would be without --dry-run
    files: tuple[File, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ErrorDocument:
    """diag.Document in docs/json.md."""

    #: number of them
    errors: int
    #: number of them
    warnings: int
    #: of both, those that are counted and not listed
    omitted: int
    #: in the order of their places
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Violation:
    """report.Violation in docs/json.md."""

    #: name of the budget
    budget: str
    #: target for which it was exceeded
    target: str | None = None
    #: if functions are checked separately
    function: str | None = None
    #: value of the program
    value: float
    #: times that the known error of the value allows
    band: Band | None = None
    #: unit of value and base
    unit: str
    #: value of the base, if the budget compares with one
    base: float | None = None
    #: over the base, in per cent or as a difference
    growth: float | None = None
    #: value, or growth, that the budget allows
    limit: float
    #: largest parts of the value, or of its growth
    contributors: tuple[Contributor, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Advice:
    """report.Advice in docs/json.md."""

    #: name of the rewrite
    recipe: str | None = None
    #: to compile in, instead of a rewrite
    precision: str | None = None
    #: to compile with, instead of a rewrite
    place: str | None = None
    #: to change
    what: str
    #: statements that change
    where: str
    #: what they cost now
    why: str
    #: condition under which the change is valid
    note: str | None = None
    #: why the changed model must be trained again
    retrain: str | None = None
    #: of the statements
    function: str | None = None
    #: that change
    statements: tuple[Place, ...] = ()
    #: that makes or shows the change
    command: str | None = None
    #: the change was also run, and agreed with the original
    ran: bool
    #: why it was not run
    not_run: str | None = None
    #: estimated time of a call now
    before_us: int
    #: estimated time of a call after the change
    after_us: int
    #: before and after
    dispatches: tuple[int, ...] = ()
    #: operations on the CPU, before and after
    cpu_ops: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Search:
    """report.Search in docs/json.md."""

    #: every change that fits the model, in the order of the search
    tried: tuple[Tried, ...] = ()
    #: changes for which no work was left
    left: tuple[str, ...] = ()
    #: work that was done
    work: int


@dataclass(frozen=True, kw_only=True)
class CoreML:
    """report.CoreML in docs/json.md."""

    #: name of the rules of the forecast
    rules: str
    #: whose rules they are
    chip: str
    #: version of the system that they were read from
    system: str
    #: compute units that are allowed
    units: str
    #: forecasts, without their operations
    functions: tuple[Function, ...] = ()
    #: operations that zinc has elsewhere, in program order
    differ: tuple[Elsewhere, ...] = ()
    #: command that prints the forecast
    command: str | None = None


@dataclass(frozen=True, kw_only=True)
class Generation:
    """report.Generation in docs/json.md."""

    #: the smallest of its generation
    chip: str
    #: whose programs it runs
    target: str
    #: whether zinc writes programs for the target
    programs: bool
    #: what recorded programs of its descriptor version compute
    recorded_kinds: str | None = None
    #: Written of EngineOps operations are in forms that zinc writes tasks of
    written_ops: int
    #: EngineOps of Ops operations are in forms that the engine accepts by its limits
    engine_ops: int
    #: operations on the engine and on the CPU
    ops: int
    #: share of the operations on the engine
    engine_ops_percent: float
    #: 100 if there are none
    engine_macs_percent: float
    #: estimate of a call, absent without one
    call_us: int | None = None
    #: what a call is expected to be within
    call_band: Band | None = None
    #: how the estimate is known
    estimate_grade: str | None = None
    #: from what, or why there is none
    estimate_known: str
    #: what is on the CPU, most operations first
    cpu: tuple[Fallback, ...] = ()
    #: Attested of Tasks tasks are of kinds that recorded programs of the target confirm
    attested_tasks: int
    #: tasks of the engine, 0 without programs
    tasks: int


@dataclass(frozen=True, kw_only=True)
class OpReport:
    """compile.OpReport in docs/json.md."""

    #: name of the operation
    op: str
    #: of its first result
    name: str
    #: line of the statement, from 1
    line: int | None = None
    #: column of the statement, from 1
    column: int | None = None
    #: where it runs: engine, cpu or transfer
    unit: str
    #: Lowering rule, also of an operation that a legality rule keeps on the CPU
    rule: str | None = None
    #: why it is on the CPU
    reason: str | None = None
    #: first result of the operation it is fused into
    fused_into: str | None = None
    #: multiply-accumulates
    macs: int | None = None
    #: index of the step of the chain that runs it
    step: int
    #: Type is the type of its first result
    type: str | None = None
    #: Scope is the module that the names of its weights suggest, outermost first, as in encoder/layers/0
    scope: str | None = None
    #: Reads are the operations whose results it reads, as indices into the report's operations
    reads: tuple[int, ...] = ()
    #: Tasks is the number of tasks of the operation and of all operations fused into it
    tasks: int | None = None
    #: Weights are the bytes of the constant section that the operation is the first to read; Padding is the part
    #: of them that only fills up rows and parts
    weight_bytes: int | None = None
    #: part of weight_bytes that only fills up rows and parts
    padding_bytes: int | None = None
    #: Shared are the other bytes that it reads: they count for an earlier operation that reads them too
    shared_weight_bytes: int | None = None
    #: Estimate is the estimate of its tasks, nil if it has none
    estimate: Estimate | None = None
    #: CPU is the estimated time on the CPU (cost.CPU), 0 on the engine
    cpu_us: int | None = None
    #: Refusal contains the facts for Reason, nil on the engine
    refusal: RefusalInfo | None = None


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """compile.Estimate in docs/json.md."""

    #: estimated time
    us: int
    #: of the engine; 0 for the time of the dispatch itself
    cycles: int
    #: the largest term, "" where nothing runs on the engine
    binding: str
    #: by the limiting term of each task; adds up to Time
    terms_us: tuple[int, ...] = ()
    #: bytes moved between memory and the engine
    dma_bytes: int
    #: most bytes of L2 in use at once
    l2_peak_bytes: int
    #: what bounds products and DMA
    roofline: Roof | None = None
    #: of each dispatch
    dispatch_stages: tuple[Stage, ...] = ()
    #: target on which the costs were measured
    cost_of: str | None = None
    #: error of the model of cost, as known from measurements
    known_error: str | None = None
    #: Coefficients of products that DMA reads as fp16
    dense_weight_bytes: int | None = None
    #: What the call would take less with these in the compressed forms that the target's hardware reads
    compressed_forms: tuple[FormTime, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Band:
    """cost.Band in docs/json.md."""

    #: least time of a call that the estimate's known error allows
    low_us: int
    #: largest time of a call that it allows
    high_us: int
    #: chip whose published times the error is known from
    chip: str


@dataclass(frozen=True, kw_only=True)
class Dispatch:
    """compile.Dispatch in docs/json.md."""

    #: index of the step of the chain
    step: int
    #: operations of the dispatch
    ops: int
    #: multiply-accumulates of the dispatch
    macs: int
    #: tensors that it reads
    inputs: int
    #: tensors that it writes
    outputs: int
    #: tasks of the dispatch
    tasks: int | None = None
    #: why it is a dispatch of its own
    cause: str
    #: Chained is set if the firmware runs it after the previous dispatch, without the host
    chained: bool | None = None
    #: CutBy are the operations on the CPU that the partition waits for and that themselves wait for the engine, as
    #: indices into Report.Ops. The first is the most relevant: the others may only convert or move data for it
    cut_by: tuple[int, ...] = ()
    #: Estimate is the estimate of the tasks and of the dispatch itself, nil in a plan
    estimate: Estimate | None = None


@dataclass(frozen=True, kw_only=True)
class TaskReport:
    """compile.TaskReport in docs/json.md."""

    #: procedure of the task
    procedure: str
    #: index in the procedure's chain
    task: int
    #: index into Report.DispatchList
    dispatch: int
    #: first result of the operation it works for
    op: str
    #: of that operation in Report.Ops
    op_index: int
    #: lowering rule
    rule: str
    #: what it computes, without sizes (compile/attest)
    kind: str
    #: recorded programs have tasks of the kind
    attested: bool
    #: time of the task
    estimate: Estimate | None = None
    #: Alone has the time of each term alone; Estimate.Time is the longest of them
    alone_us: tuple[int, ...] = ()
    #: Cases are the recorded programs that contain tasks of the kind, with the words that zinc writes
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CompressedInfo:
    """compile.CompressedInfo in docs/json.md."""

    #: name of the constant
    name: str
    #: line of the statement, from 1
    line: int | None = None
    #: how the model stores it
    form: str
    #: in the model: values, tables, masks, scales
    stored_bytes: int
    #: sent to the engine, 0 when the engine does not read it
    streamed_bytes: int
    #: the engine reads it compressed
    streams: bool | None = None
    #: CouldStream says that the target's hardware accepts the form as it is stored
    could_stream: bool
    #: why the engine reads it in this form
    why: str


@dataclass(frozen=True, kw_only=True)
class TableInfo:
    """compile.TableInfo in docs/json.md."""

    #: operation that the table computes
    op: str
    #: name of the table
    name: str
    #: largest absolute error
    worst_absolute: float
    #: largest relative error
    worst_relative: float


@dataclass(frozen=True, kw_only=True)
class Timing:
    """compile.Timing in docs/json.md."""

    #: stage or pass
    stage: str
    #: wall time
    seconds: float


@dataclass(frozen=True, kw_only=True)
class FlexibleInput:
    """compile.FlexibleInput in docs/json.md."""

    #: in one configuration of its shapes
    function: str
    #: name of the input
    input: str
    #: -1 for a dimension that stays unknown
    shape: tuple[int, ...] = ()
    #: Ranges are the least and the most of each dimension, with -1 for no limit; absent where the model lists
    #: shapes or states nothing
    ranges: tuple[tuple[int, ...], ...] = ()
    #: Listed are the other shapes that the model lists
    listed: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Report:
    """compile.Report in docs/json.md."""

    #: generation that was compiled for, as h13
    target: str
    #: precision of floats: declared or fp16
    precision: str
    #: name of the function, or names, separated by ", "
    function: str
    #: operations on the engine
    engine_ops: int
    #: operations on the CPU
    cpu_ops: int
    #: conversions on the way to or from the engine
    transfer_ops: int
    #: multiply-accumulates on the engine
    engine_macs: int
    #: multiply-accumulates on the CPU
    cpu_macs: int
    #: dispatches of one call
    dispatches: int
    #: calls of programs for the CPU in one call
    cpu_calls: int
    #: tasks of the engine
    tasks: int
    #: tasks of a kind that recorded programs confirm (compile/attest)
    attested_tasks: int
    #: constant section
    weight_bytes: int
    #: of these, padding
    padding_bytes: int
    #: memory for intermediate values that do not fit in L2
    scratch_bytes: int
    #: operations of the compiled program, in order
    ops: tuple[OpReport, ...] = ()
    #: Estimate is the time of one call, or of one call of each function if the pair has several; nil in a plan,
    #: which has no tasks
    estimate: Estimate | None = None
    #: CPU is the estimated time of the operations on the CPU. It is much coarser than Estimate (cost.CPU) and not
    #: included in any Estimate
    cpu_us: int
    #: Call is CallTime, for readers of the JSON; absent in a plan, which has no tasks
    call_us: int | None = None
    #: Band is the interval of times that a call is expected to take by the known error of Call, absent without it
    call_band: Band | None = None
    #: DispatchList has one element per dispatch, in order
    dispatch_list: tuple[Dispatch, ...] = ()
    #: TaskList has one element per task, procedure by procedure; set only in the report of a function
    task_list: tuple[TaskReport, ...] = ()
    #: constants that the model stores compressed
    compressed: tuple[CompressedInfo, ...] = ()
    #: lookup tables in use
    tables: tuple[TableInfo, ...] = ()
    #: times of the stages of the compilation
    timings_seconds: tuple[Timing, ...] = ()
    #: Casts are the layout conversions of one call, absent in a report of a plan, which has no chain
    casts: int | None = None
    #: names of the states
    states: tuple[str, ...] = ()
    #: Flexible are the inputs whose shapes the model leaves open, with the shapes that the report is for
    flexible_inputs: tuple[FlexibleInput, ...] = ()
    #: Functions are the reports of the functions if the pair has several. The report itself then sums them up,
    #: with their operations and steps one function after the other
    functions: tuple[Report, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Target:
    """check.Target in docs/json.md."""

    #: share of the operations on the engine
    engine_ops_percent: float
    #: 100 if there are none
    engine_macs_percent: float
    #: Assumed are the weight files that are missing, with what needs them: their values were assumed
    assumed_weights: tuple[str, ...] = ()
    #: Exceeds says why no container has room for the model, if that is so. The times are then of its tasks in
    #: several containers; there are none if its tasks cannot be lowered
    exceeds: str | None = None
    #: what to change, the largest saving first
    advice: tuple[Advice, ...] = ()
    #: how changes were looked for
    search: Search | None = None
    #: where Core ML itself would run the operations
    coreml: CoreML | None = None
    #: of --require-engine and of budgets, as text
    failures: tuple[str, ...] = ()
    #: budgets that were exceeded
    violations: tuple[Violation, ...] = ()
    #: Explain has an element for each operation that the engine refuses
    explain: tuple[Suggestion, ...] = ()
    #: Reported are the public reports about Apple's compiler and runtime that apply
    reported: tuple[Finding, ...] = ()
    #: RefusedInRecords counts the operations on the engine in a form that Apple's compiler refused in records
    refused_in_records: int | None = None
    #: Decoder is what a program with states is worth as a language model
    decoder: Answer | None = None
    #: generation that was compiled for, as h13
    target: str
    #: precision of floats: declared or fp16
    precision: str
    #: name of the function, or names, separated by ", "
    function: str
    #: operations on the engine
    engine_ops: int
    #: operations on the CPU
    cpu_ops: int
    #: conversions on the way to or from the engine
    transfer_ops: int
    #: multiply-accumulates on the engine
    engine_macs: int
    #: multiply-accumulates on the CPU
    cpu_macs: int
    #: dispatches of one call
    dispatches: int
    #: calls of programs for the CPU in one call
    cpu_calls: int
    #: tasks of the engine
    tasks: int
    #: tasks of a kind that recorded programs confirm (compile/attest)
    attested_tasks: int
    #: constant section
    weight_bytes: int
    #: of these, padding
    padding_bytes: int
    #: memory for intermediate values that do not fit in L2
    scratch_bytes: int
    #: operations of the compiled program, in order
    ops: tuple[OpReport, ...] = ()
    #: Estimate is the time of one call, or of one call of each function if the pair has several; nil in a plan,
    #: which has no tasks
    estimate: Estimate | None = None
    #: CPU is the estimated time of the operations on the CPU. It is much coarser than Estimate (cost.CPU) and not
    #: included in any Estimate
    cpu_us: int
    #: Call is CallTime, for readers of the JSON; absent in a plan, which has no tasks
    call_us: int | None = None
    #: Band is the interval of times that a call is expected to take by the known error of Call, absent without it
    call_band: Band | None = None
    #: DispatchList has one element per dispatch, in order
    dispatch_list: tuple[Dispatch, ...] = ()
    #: TaskList has one element per task, procedure by procedure; set only in the report of a function
    task_list: tuple[TaskReport, ...] = ()
    #: constants that the model stores compressed
    compressed: tuple[CompressedInfo, ...] = ()
    #: lookup tables in use
    tables: tuple[TableInfo, ...] = ()
    #: times of the stages of the compilation
    timings_seconds: tuple[Timing, ...] = ()
    #: Casts are the layout conversions of one call, absent in a report of a plan, which has no chain
    casts: int | None = None
    #: names of the states
    states: tuple[str, ...] = ()
    #: Flexible are the inputs whose shapes the model leaves open, with the shapes that the report is for
    flexible_inputs: tuple[FlexibleInput, ...] = ()
    #: Functions are the reports of the functions if the pair has several. The report itself then sums them up,
    #: with their operations and steps one function after the other
    functions: tuple[Report, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Measured:
    """cli.measuredJSON in docs/json.md."""

    #: machine and system, as recorded
    device: str
    #: name and version, as recorded
    driver: str
    #: that were timed
    calls: int
    #: shortest call
    least_us: float
    #: half of the calls were not longer
    median_us: float
    #: longest call
    most_us: float
    #: outputs beside the simulated engine's
    engine: tuple[MeasuredOutput, ...] = ()
    #: of the program that ran
    program_sha256: str


@dataclass(frozen=True, kw_only=True)
class Output:
    """verify.Output in docs/json.md."""

    #: name of the output
    name: str
    #: type of the output
    type: str
    #: largest difference of two elements
    max_abs: float
    #: the same in units in the last place of fp16 at Scale; for integers in 1s
    max_ulp: float
    #: MaxAbs in per cent of Scale
    percent: float
    #: largest magnitude in the reference
    scale: float
    #: By says which bound decides: the bound of the output, end to end; or the bound of the statement whose bound
    #: is widest in per cent of its result's scale. BoundULP and BoundPercent refer to the scale of that result
    by: str
    #: largest difference that the bound allows
    bound: float
    #: as MaxULP
    bound_ulp: float
    #: bound in per cent, as percent
    bound_percent: float
    #: Statement is the statement, of those that the output depends on, whose difference is the largest part of its
    #: bound, Used. It is empty if no statement rounds
    statement: str | None = None
    #: largest part of its bound that a statement uses
    used: float
    #: pass, FAIL or cannot tell
    verdict: str
    #: Verdict is Pass
    pass_: bool
    #: Proved reports that the bound alone cannot tell, and that a proof shows that all that is left is rounding
    proved: bool | None = None
    #: Choice is the first element before an output that is over MaxPercent off which is another index, truth value
    #: or whole number than in the reference
    choice: Choice | None = None
    #: NotFinite counts the elements of the reference that are infinite or NaN, and FirstNotFinite is the first of
    #: them. Infinities must be equal. An output that is NaN in the reference, or depends on a statement that is,
    #: cannot be verified
    not_finite: int | None = None
    #: first of the elements that are not finite, row major
    first_not_finite: int | None = None
    #: where MaxAbs is, or the first element beyond the bound
    worst: Element
    #: why the verdict is not pass
    why: str | None = None
    #: kind of the reason, if the verdict is cannot tell
    cause: str | None = None


@dataclass(frozen=True, kw_only=True)
class Model:
    """verify.Model in docs/json.md."""

    #: operations on the engine
    engine_ops: int
    #: operations on the CPU
    cpu_ops: int
    #: multiply-accumulates on the engine
    engine_macs: int
    #: multiply-accumulates on the CPU
    cpu_macs: int
    #: dispatches of one call
    dispatches: int
    #: tasks of the engine
    tasks: int
    #: constant section
    weight_bytes: int


@dataclass(frozen=True, kw_only=True)
class Result:
    """prove.Result in docs/json.md."""

    #: seed of the random elements
    seed: int
    #: on the bytes
    verdict: str
    #: results by function
    functions: tuple[FunctionResult, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Departure:
    """verify.Departure in docs/json.md."""

    #: function of the statement
    function: str
    #: empty for a value that no task wrote
    procedure: str | None = None
    #: Task is the index, in the procedure's chain, of the task that wrote the element; -1 if none did
    task: int
    #: the lowering rule of the task
    rule: str | None = None
    #: as in Statement
    step: str
    #: name of the operation
    op: str | None = None
    #: the result of the statement
    value: str
    #: for functions with states, counted from 1
    call: int | None = None
    #: type of the value
    type: str
    #: line of the statement, from 1
    line: int | None = None
    #: column of the statement, from 1
    column: int | None = None
    #: file:line:col
    place: str | None = None
    #: the first beyond the bound, row major
    element: int
    #: element of the simulator's result
    got: float
    #: element of the interpreter's result
    want: float
    #: the difference allowed to the element
    bound: float
    #: number of elements beyond the bound
    beyond: int
    #: largest difference of two elements
    max_abs: float


@dataclass(frozen=True, kw_only=True)
class Summary:
    """compare.Summary in docs/json.md."""

    #: path of the side
    name: str
    #: target that was compiled for
    target: str | None = None
    #: of a model, where compilers may differ
    compiler: str | None = None
    #: of a model: flags that are not the default
    settings: tuple[str, ...] = ()
    #: of a model, in one line
    placement: str | None = None
    #: why the side has no pair
    no_pair: str | None = None


@dataclass(frozen=True, kw_only=True)
class Figure:
    """compare.Figure in docs/json.md."""

    #: name of the figure
    name: str
    #: unit of a and b
    unit: str | None = None
    #: figure of the first side
    a: float
    #: figure of the second side
    b: float
    #: times that a's known error allows
    a_band: Band | None = None
    #: times that b's known error allows
    b_band: Band | None = None


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """compare.Coverage in docs/json.md."""

    #: name of the level
    level: str
    #: differences at the level
    differences: int
    #: why it was not compared
    missing: str | None = None
    #: how it was compared, if less precisely than usual
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class Change:
    """compare.Change in docs/json.md."""

    #: level of the difference
    level: str
    #: added, removed, changed or moved
    kind: str
    #: what differs
    subject: str
    #: its place on side A, file:line:col
    a: str | None = None
    #: its place on side B, file:line:col
    b: str | None = None
    #: at level Passes, the first after which the sides differ
    pass_: str | None = None
    #: values on both sides, one a line
    details: tuple[str, ...] = ()
    #: Effects are the differences at lower levels that this change caused
    effects: tuple[Change, ...] = ()


@dataclass(frozen=True, kw_only=True)
class File:
    """cli.fileJSON in docs/json.md."""

    #: of the file
    path: str
    #: size
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """diag.DiagnosticDocument in docs/json.md."""

    #: error or warning
    severity: str
    #: short name of what is wrong
    code: str | None = None
    #: operation that it is about
    op: str | None = None
    #: what is wrong, and what is allowed
    message: str
    #: other places that have to do with it
    notes: tuple[Note, ...] = ()
    #: what to do
    hint: str | None = None
    #: path
    file: str | None = None
    #: first line, from 1
    line: int | None = None
    #: first byte of the line, from 1
    column: int | None = None
    #: line of the first byte after the place
    end_line: int | None = None
    #: column of the first byte after the place
    end_column: int | None = None
    #: bytes before the place
    offset: int | None = None
    #: bytes of the place
    length: int | None = None


@dataclass(frozen=True, kw_only=True)
class Contributor:
    """report.Contributor in docs/json.md."""

    #: operation, output or other kind
    what: str
    #: name of the operation or output
    name: str | None = None
    #: line of the statement, from 1
    line: int | None = None
    #: column of the statement, from 1
    column: int | None = None
    #: part of the violated value
    value: float


@dataclass(frozen=True, kw_only=True)
class Place:
    """report.Place in docs/json.md."""

    #: of its result
    name: str
    #: in the text
    line: int | None = None
    #: that it is in
    function: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tried:
    """report.Tried in docs/json.md."""

    #: of the rewrite, or the precision or placement
    name: str
    #: it is a way to compile, not a rewrite
    option: bool | None = None
    #: statements that the rewrite fits
    places: int | None = None
    #: estimated time of a call, 0 if only what changes was estimated
    after_us: int | None = None
    #: why it is not advised, "" if it is
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class Function:
    """coreml.FunctionJSON in docs/json.md."""

    #: name of the function
    function: str
    #: operations on the engine
    engine_ops: int
    #: operations on the CPU
    cpu_ops: int
    #: operations on the GPU
    gpu_ops: int
    #: operations that the framework adds, not counted above
    added_ops: int
    #: share of the estimated time on the engine, 0 to 1
    engine_weight: float
    #: the chosen way, with the changes of device
    best_us: float
    #: the cheapest way without the engine
    cpu_alone_us: float
    #: Margin is what the best use of the engine saves after the cost of reaching it, negative if it costs more;
    #: null if no operation can run there
    margin_us: float | None = None
    #: cost of reaching the engine and coming back
    visit_us: float
    #: runs of operations on one device, in order
    segments: tuple[Segment, ...] = ()
    #: why operations are not on the engine
    leaves: tuple[Leave, ...] = ()
    #: answers that change within an interval that is not known
    near: tuple[Near, ...] = ()
    #: what would change the answer
    moves: tuple[Move, ...] = ()
    #: what is not known about the program
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """report.Elsewhere in docs/json.md."""

    #: name of the function
    function: str
    #: name of the operation
    op: str
    #: of its first result
    name: str
    #: in the model's text
    line: int | None = None
    #: where zinc runs it
    unit: str
    #: where Core ML is forecast to run it
    device: str
    #: why Core ML's engine refuses it, if it does
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """report.Fallback in docs/json.md."""

    #: rule of placement
    rule: str
    #: whether the hardware cannot, zinc cannot yet, or it is not worth it
    verdict: str
    #: kinds of operations, in order
    ops: tuple[str, ...] = ()
    #: number of operations
    count: int


@dataclass(frozen=True, kw_only=True)
class RefusalInfo:
    """compile.RefusalInfo in docs/json.md."""

    #: the legality rule: ID of a row of target.Rules
    rule: str
    #: property of the operation that the rule limits
    what: str
    #: its value
    value: str
    #: what is allowed
    limit: str
    #: what to write instead
    rewrite: str | None = None
    #: that breaks the rule
    state: str | None = None
    #: Verdict says whether the hardware cannot do it, zinc cannot do it yet, or it is not worth it. Source says
    #: where a limit of the hardware is known from
    verdict: str
    #: where a limit of the hardware is known from
    source: str | None = None
    #: Native says what the target's hardware does with the operation, "" if no published table lists it
    native: str | None = None


@dataclass(frozen=True, kw_only=True)
class Roof:
    """compile.Roof in docs/json.md."""

    #: multiply-accumulates a second, of fp16 with all cores
    macs: float
    #: bytes of DMA a second
    bytes: float


@dataclass(frozen=True, kw_only=True)
class Stage:
    """cost.Stage in docs/json.md."""

    #: name of the stage
    name: str
    #: time of the stage
    us: int


@dataclass(frozen=True, kw_only=True)
class FormTime:
    """compile.FormTime in docs/json.md."""

    #: of cost.Forms
    form: str
    #: less time of a call
    saves_us: int
    #: Written is set if zinc writes weights that the model stores in the form as they are stored
    written: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """check.Suggestion in docs/json.md."""

    #: first result of the operation
    name: str
    #: line of the statement, from 1
    line: int | None = None
    #: command that shows what to write instead
    command: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """reported.Finding in docs/json.md."""

    #: name of the rule
    rule: str
    #: what the reports say happens
    effect: str
    #: statements, in the order of the program
    places: tuple[ReportedPlace, ...] = ()
    #: the reports
    reports: tuple[ReportedReport, ...] = ()
    #: what to write instead, where that is known
    instead: str | None = None
    #: recipe of zinc explain that writes it
    recipe: str | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """decoder.Answer in docs/json.md."""

    #: of each function, in each configuration of its shapes
    rates: tuple[Rate, ...] = ()
    #: by part
    memory: Memory
    #: that the constants need
    programs: Programs
    #: on a system that has not compiled the model before
    first_load: Load


@dataclass(frozen=True, kw_only=True)
class MeasuredOutput:
    """cli.measuredOutput in docs/json.md."""

    #: name of the output
    name: str
    #: number of elements
    elements: int
    #: elements that are not equal
    different: int
    #: largest difference
    max_abs: float


@dataclass(frozen=True, kw_only=True)
class Choice:
    """verify.Choice in docs/json.md."""

    #: the result with the element
    statement: str
    #: name of the operation
    op: str
    #: line of the statement, from 1
    line: int | None = None
    #: row major
    element: int
    #: element of the simulator's result
    got: float
    #: element of the reference's result
    want: float
    #: Numbers are the reference's at the indices Got and Want, if the operation orders numbers
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Element:
    """verify.Element in docs/json.md."""

    #: row major
    index: int
    #: element of the simulator's result
    got: float
    #: element of the reference's result
    want: float


@dataclass(frozen=True, kw_only=True)
class FunctionResult:
    """prove.FunctionResult in docs/json.md."""

    #: name of the function
    name: str
    #: verdict on the bytes
    verdict: str
    #: comparisons of outputs and states
    outputs: tuple[ProveOutput, ...] = ()
    #: tasks that ran
    tasks: int
    #: Reasons say why the proof is inconclusive, by statement
    reasons: tuple[str, ...] = ()
    #: First is the first statement on the engine whose value the tasks compute only in part. If there is none, it
    #: is the first statement for which they compute neither an element nor anything that depends on it
    first: ProveDeparture | None = None
    #: Source is the comparison of the source with the placed program, if the source is known
    source: SourceResult | None = None


@dataclass(frozen=True, kw_only=True)
class Note:
    """diag.NoteDocument in docs/json.md."""

    #: what the note says
    message: str
    #: path
    file: str | None = None
    #: first line, from 1
    line: int | None = None
    #: first byte of the line, from 1
    column: int | None = None
    #: line of the first byte after the place
    end_line: int | None = None
    #: column of the first byte after the place
    end_column: int | None = None
    #: bytes before the place
    offset: int | None = None
    #: bytes of the place
    length: int | None = None


@dataclass(frozen=True, kw_only=True)
class Segment:
    """coreml.SegmentJSON in docs/json.md."""

    #: class of the device
    device: str
    #: of the program
    operations: int
    #: first output of the first operation
    first: str
    #: first output of the last operation
    last: str
    #: what the operations save against the CPU, without the changes
    saved_us: float | None = None
    #: the changes of device around it
    change_us: float | None = None


@dataclass(frozen=True, kw_only=True)
class Leave:
    """coreml.Leave in docs/json.md."""

    #: in the framework's words, or what the engine would save
    reason: str
    #: how many
    operations: int
    #: their kinds without opsets, the most frequent first
    kinds: tuple[str, ...] = ()
    #: where they are in the model's text, at most maxLeaveLines
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Near:
    """coreml.Near in docs/json.md."""

    #: the operations, and the interval
    what: str
    #: operations that would run on another device
    changed_ops: int
    #: operations that would then run on the engine
    engine_ops: int


@dataclass(frozen=True, kw_only=True)
class Move:
    """coreml.Move in docs/json.md."""

    #: such as "without the 2 cumsum operations, line 12"
    what: str
    #: operations that would then run on the engine
    engine_ops: int
    #: estimated time that it saves, without the operations' own
    saves_us: float | None = None


@dataclass(frozen=True, kw_only=True)
class ReportedPlace:
    """reported.Place in docs/json.md."""

    #: function of the statement
    function: str
    #: name of its result, or of the parameter
    statement: str | None = None
    #: name of the operation, "" for a parameter
    op: str | None = None
    #: line of the statement, from 1
    line: int | None = None
    #: column of the statement, from 1
    column: int | None = None
    #: the facts that match
    detail: str


@dataclass(frozen=True, kw_only=True)
class ReportedReport:
    """reported.Report in docs/json.md."""

    #: identifies the report, and names its smallest program in testdata
    id: str
    #: name of the rule that finds what it is about
    rule: str
    #: chips that the report names
    chips: str | None = None
    #: systems that the report names
    systems: str | None = None
    #: what the report says, in one sentence
    says: str
    #: where the report is
    link: str


@dataclass(frozen=True, kw_only=True)
class Rate:
    """decoder.Rate in docs/json.md."""

    #: in one configuration of its shapes
    function: str
    #: Tokens are the positions that a call adds to the states, 0 if zinc does not find them
    tokens_per_call: int | None = None
    #: time of a call, with the dispatches of further programs
    call_us: int
    #: PerSecond are tokens a second if each call is full, or calls a second if their number is not known. Alone
    #: are tokens a second if each call adds one, as generating them does
    per_second: float
    #: with one token a call
    alone_per_second: float


@dataclass(frozen=True, kw_only=True)
class Memory:
    """decoder.Memory in docs/json.md."""

    #: constants as the model stores them
    stored_weight_bytes: int
    #: constants for the engine as zinc writes them
    weight_bytes: int
    #: all states, which functions share
    state_bytes: int
    #: scratch, and tensors between dispatches, of the largest function
    intermediate_bytes: int
    #: inputs and outputs of the largest function
    port_bytes: int
    #: words of all tasks
    task_bytes: int


@dataclass(frozen=True, kw_only=True)
class Programs:
    """decoder.Programs in docs/json.md."""

    #: 0 if the program cannot be cut so
    count: int | None = None
    #: most constants of one program
    ceiling_bytes: int
    #: of the ceiling
    source: str
    #: why it cannot be cut
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class Load:
    """decoder.Load in docs/json.md."""

    #: name of a class
    class_: str
    #: of engine and CPU, that are compiled one by one
    segments: int
    #: of the engine
    tasks: int
    #: of the segment with the most
    largest_tasks: int
    #: what is known of models of the class
    means: str
    #: of the figures
    source: str
    #: how they were carried over
    caveat: str
    #: what helps
    what: str | None = None


@dataclass(frozen=True, kw_only=True)
class ProveOutput:
    """prove.Output in docs/json.md."""

    #: name of the output or state
    name: str
    #: type of the output or state
    type: str
    #: elements that were compared
    elements: int
    #: elements that differ
    wrong: int
    #: Element is the first element that differs, Index its indices, and Where its position in memory
    element: int | None = None
    #: indices of the first element that differs
    index: tuple[int, ...] = ()
    #: place of the first element that differs, in memory
    where: Where | None = None
    #: Missing is how many elements the pair has too few, negative for too many
    missing: int | None = None


@dataclass(frozen=True, kw_only=True)
class ProveDeparture:
    """prove.Departure in docs/json.md."""

    #: first result of the statement
    statement: str
    #: line of the statement, from 1
    line: int | None = None
    #: elements of the value
    elements: int
    #: elements that were looked for, if not all were
    looked_for: int | None = None
    #: the first that no task computes
    element: int
    #: its indices
    index: tuple[int, ...] = ()
    #: elements that no task computes
    missing: int
    #: of the task that computes other elements of it
    procedure: str | None = None
    #: index of this task in the procedure's chain
    task: int


@dataclass(frozen=True, kw_only=True)
class SourceResult:
    """prove.SourceResult in docs/json.md."""

    #: Verdict is the worst of all statements: Proved, Checked or Open
    verdict: str
    #: statements, including Rounded
    proved: int
    #: proved statements that hold up to the rounding of constants that passes computed
    rounded: int
    #: statements that hold on samples
    checked: int
    #: statements without a conclusion
    open: int
    #: Statements are those that are not proved, and those with rounded constants, in source order
    statements: tuple[Statement, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Where:
    """sim.Where in docs/json.md."""

    #: a port
    buffer: str
    #: in bytes, from the start of the buffer
    address: int
    #: of the task that wrote it; empty if none did
    procedure: str | None = None
    #: its index in the chain of the procedure
    task: int


@dataclass(frozen=True, kw_only=True)
class Statement:
    """prove.Statement in docs/json.md."""

    #: first result of the statement
    statement: str
    #: line of the statement, from 1
    line: int | None = None
    #: verdict on the statement
    verdict: str
    #: reason of the verdict
    why: str
    #: Work is Options.Work with which the statement can be compared on samples, if it was too small
    work: int | None = None
