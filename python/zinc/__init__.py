"""Compile Core ML models for the Apple Neural Engine, and run them on a simulator.

    report = zinc.check("model.mlpackage")           # where the time goes, what runs where; a page in a notebook
    pair = zinc.compile("model.mlpackage", "model.hwx")
    out = zinc.Model("model.hwx").predict({"x": x})  # as in coremltools, on the simulated engine
    assert zinc.verify("model.mlpackage")
    print(zinc.diff("old.mlpackage", "model.mlpackage"))

A model is a path, a coremltools MLModel or a MIL program of coremltools. Errors are zinc.ZincError, with place and
hint. One process of zinc answers all calls.
"""

from importlib import metadata as _metadata

from . import documents
from ._commands import (
    Compiled,
    Converted,
    Difference,
    Report,
    Verification,
    check,
    compile,
    convert,
    diff,
    verify,
)
from ._model import Model, Port, State
from ._session import Cancel, Progress, executable
from .errors import Cancelled, InternalError, ModelError, SessionError, UsageError, ZincError

try:
    __version__ = _metadata.version("zinc-compiler")
except _metadata.PackageNotFoundError:  # not installed: a checkout on the path
    __version__ = "0"

__all__ = [
    "Cancel",
    "Cancelled",
    "Compiled",
    "Converted",
    "Difference",
    "InternalError",
    "Model",
    "ModelError",
    "Port",
    "Progress",
    "Report",
    "SessionError",
    "State",
    "UsageError",
    "Verification",
    "ZincError",
    "check",
    "compile",
    "convert",
    "diff",
    "documents",
    "executable",
    "verify",
]
