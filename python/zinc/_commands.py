"""The commands: check, compile, verify, diff, convert."""

from __future__ import annotations

import html
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import documents
from ._decode import decode
from ._session import Cancel, ProgressCallback, command, seen
from ._source import ModelLike, path_of

if TYPE_CHECKING:
    from ._model import Model

#: Shapes of a model's inputs by name, for models that leave them open.
Shapes = Mapping[str, Sequence[int]]


def _count(n: int, one: str, more: str) -> str:
    return f"{n} {one if n == 1 else more}"


def _own(default: Any) -> Any:
    return field(default=default, repr=False, metadata={"own": True})


@dataclass(frozen=True, kw_only=True)
class Report(documents.Target):
    """Where the time of a model goes, what to change first, and what runs where and why."""

    #: path of the model's text
    model: str = _own("")
    #: the whole document that ``zinc check --json`` prints
    json: dict[str, Any] = _own(None)
    #: the HTML page of ``zinc check --report html=FILE``
    page: str = _own("")

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" title="zinc: {html.escape(self.model)}" '
            'style="width: 100%; height: 900px; border: 1px solid #8884"></iframe>'
        )

    def __str__(self) -> str:
        share = f"{self.engine_ops} of {self.engine_ops + self.cpu_ops} operations on the engine"
        call = f"{self.call_us:.0f} us a call (estimate), " if self.call_us else ""
        return f"{self.model}, {self.target}: {call}{share}, {_count(self.dispatches, 'dispatch', 'dispatches')}"


@dataclass(frozen=True, kw_only=True)
class Compiled(documents.CompileDocument):
    """A compiled pair: container and descriptor, with the report of the compilation."""

    #: path of the container; the descriptor is beside it
    path: str = _own("")
    json: dict[str, Any] = _own(None)
    _folder: tempfile.TemporaryDirectory[str] | None = _own(None)

    @property
    def descriptor(self) -> str:
        """The path of the descriptor."""
        return os.path.splitext(self.path)[0] + ".e5"

    def load(self, **options: Any) -> Model:
        """Loads the pair; with the options of ``zinc.Model``."""
        from ._model import Model

        return Model(self.path, **options)

    def __str__(self) -> str:
        return f"{self.path}: {self.engine_ops} operations on the engine, {self.cpu_ops} on the CPU, {self.tasks} tasks"


@dataclass(frozen=True, kw_only=True)
class Verification(documents.VerifyDocument):
    """The engine's outputs beside the reference's. It is true if they agree within the bounds."""

    json: dict[str, Any] = _own(None)

    def __bool__(self) -> bool:
        return self.pass_

    def __str__(self) -> str:
        return f"{self.verdict}: " + ", ".join(f"{o.name} {o.verdict}" for o in self.outputs)


@dataclass(frozen=True, kw_only=True)
class Difference(documents.DiffDocument):
    """What differs between two models, compilations or pairs, and what it costs. It is true if something does."""

    json: dict[str, Any] = _own(None)

    def __bool__(self) -> bool:
        return not self.same

    def __str__(self) -> str:
        return "no difference" if self.same else "\n".join(f"{c.level}: {c.subject} {c.kind}" for c in self.changes)


@dataclass(frozen=True, kw_only=True)
class Converted(documents.ConvertDocument):
    """A model in another form, and the files that were written."""

    #: the path that the model was written to
    path: str = _own("")
    json: dict[str, Any] = _own(None)

    def __str__(self) -> str:
        return self.path


def _flags(target: str | None, precision: str | None, function: str | None, shapes: Shapes | None) -> Iterator[str]:
    for flag, value in (("--target", target), ("--precision", precision), ("--func", function)):
        if value is not None:
            yield f"{flag}={value}"
    for name, shape in (shapes or {}).items():
        yield f"--shape={name}={'x'.join(str(int(n)) for n in shape)}"


def check(
    model: ModelLike,
    *,
    target: str | None = None,
    precision: str | None = None,
    function: str | None = None,
    shapes: Shapes | None = None,
    flags: Sequence[str] = (),
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Report:
    """Shows where the time of a model goes, what to change, and what is on the CPU, as ``zinc check`` does.

    ``flags`` are further flags of the command, such as ``--max-estimate-us=5000``; budgets that the model exceeds are
    ``report.failures``.
    """
    with path_of(model) as path, tempfile.TemporaryDirectory(prefix="zinc-") as folder:
        page = os.path.join(folder, "report.html")
        args = ["check", path, f"--report=html={page}", *_flags(target, precision, function, shapes), *flags]
        # Status 1 with a result: no container has room for the model. Status 4: it exceeds a budget.
        _, value = command(args, results=(0, 1, 4), progress=progress, cancel=cancel)
        with open(page, encoding="utf-8") as f:
            text = f.read()
    return decode(Report, value["targets"][0], model=value["model"], json=value, page=text)


def compile(
    model: ModelLike,
    output: str | os.PathLike[str] | None = None,
    *,
    target: str | None = None,
    precision: str | None = None,
    function: str | None = None,
    shapes: Shapes | None = None,
    flags: Sequence[str] = (),
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Compiled:
    """Compiles a model to a pair: ``output``, a path that ends in ``.hwx``, and the descriptor beside it.

    Without ``output`` the pair is in a temporary folder, which lives as long as the result.
    """
    folder = None
    if output is None:
        folder = tempfile.TemporaryDirectory(prefix="zinc-")
        output = os.path.join(folder.name, "model.hwx")
    with path_of(model) as path:
        args = [path, f"--output={seen(output)}", *_flags(target, precision, function, shapes), *flags]
        _, value = command(args, results=(0, 4), progress=progress, cancel=cancel)
    return decode(Compiled, value, path=os.fspath(output), json=value, _folder=folder)


def verify(
    model: ModelLike,
    *,
    target: str | None = None,
    precision: str | None = None,
    function: str | None = None,
    shapes: Shapes | None = None,
    seed: int | None = None,
    flags: Sequence[str] = (),
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Verification:
    """Compares the engine with the reference interpreter on the same inputs, as ``zinc verify`` does."""
    seeds = [] if seed is None else [f"--seed={seed}"]
    with path_of(model) as path:
        args = ["verify", path, *seeds, *_flags(target, precision, function, shapes), *flags]
        _, value = command(args, results=(0, 4, 5, 6), progress=progress, cancel=cancel)
    return decode(Verification, value, json=value)


def diff(
    a: ModelLike,
    b: ModelLike | None = None,
    *,
    target: str | None = None,
    flags_a: str | None = None,
    flags_b: str | None = None,
    outputs: bool = False,
    flags: Sequence[str] = (),
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Difference:
    """Shows how two models, compilations or pairs differ, as ``zinc diff`` does.

    With ``a`` alone, one model is compared with itself under the flags ``flags_a`` and ``flags_b``. With ``outputs``
    both sides also run on the same inputs.
    """
    own = [f"--flags-{side}={f}" for side, f in (("a", flags_a), ("b", flags_b)) if f is not None]
    own += ["--outputs"] if outputs else []
    with path_of(a) as first:
        if b is None:
            args = ["diff", first, *own, *_flags(target, None, None, None), *flags]
            _, value = command(args, results=(0, 1), progress=progress, cancel=cancel)
        else:
            with path_of(b) as second:
                args = ["diff", first, second, *own, *_flags(target, None, None, None), *flags]
                _, value = command(args, results=(0, 1), progress=progress, cancel=cancel)
    return decode(Difference, value, json=value)


def convert(
    model: ModelLike,
    output: str | os.PathLike[str],
    *,
    flags: Sequence[str] = (),
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Converted:
    """Writes an ML program in the form that ``output`` ends in: ``.mlpackage``, ``.mlmodelc`` or ``.mil``."""
    with path_of(model) as path:
        args = ["convert", path, seen(output), *flags]
        _, value = command(args, progress=progress, cancel=cancel)
    return decode(Converted, value, path=os.fspath(output), json=value)
