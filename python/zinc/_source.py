"""The forms in which models are passed."""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from collections.abc import Iterator
from typing import Any, Union

from ._session import seen

#: A path of a model or a pair, a coremltools MLModel, or a MIL program of coremltools.
ModelLike = Union[str, "os.PathLike[str]", Any]


@contextlib.contextmanager
def path_of(model: ModelLike) -> Iterator[str]:
    """Provides the path of a model, which is saved to a temporary folder if it is an object of coremltools."""
    if isinstance(model, (str, os.PathLike)):
        yield seen(model)
        return
    if _is_program(model):
        model = importlib.import_module("coremltools").convert(model, convert_to="mlprogram", skip_model_load=True)
    if not callable(getattr(model, "save", None)) or not callable(getattr(model, "get_spec", None)):
        raise TypeError(f"want a path, a coremltools MLModel or a MIL program, got {type(model).__name__}")
    with tempfile.TemporaryDirectory(prefix="zinc-") as folder:
        ending = ".mlpackage" if model.get_spec().WhichOneof("Type") == "mlProgram" else ".mlmodel"
        path = os.path.join(folder, "model" + ending)
        model.save(path)
        yield path


def _is_program(model: object) -> bool:
    """Reports whether an object is a MIL program of coremltools, which need not be installed."""
    kinds = type(model).__mro__
    return any(k.__name__ == "Program" and k.__module__.startswith("coremltools.converters.mil") for k in kinds)
