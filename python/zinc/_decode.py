"""Makes data classes of JSON."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from typing import Any, TypeVar

T = TypeVar("T")


def decode(cls: type[T], value: dict[str, Any], **more: Any) -> T:
    """Returns an instance of a data class from a JSON object.

    Keys that the class does not know are left out, because a later zinc may add some; an attribute without a default
    is None if its key is absent.
    """
    return cls(**_arguments(cls, value), **more)


def _arguments(cls: type, value: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, kind, required in _attributes(cls):
        key = name.rstrip("_")
        if key in value:
            out[name] = _convert(kind, value[key])
        elif required:
            out[name] = None
    return out


@functools.lru_cache(maxsize=None)
def _attributes(cls: Any) -> list[tuple[str, Any, bool]]:
    hints = typing.get_type_hints(cls)
    missing = dataclasses.MISSING
    return [
        (f.name, hints[f.name], f.default is missing and f.default_factory is missing)
        for f in dataclasses.fields(cls)
        if f.init and not f.metadata.get("own")
    ]


def _convert(kind: Any, value: Any) -> Any:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        kinds = [a for a in args if a is not type(None)]
        return None if value is None else _convert(kinds[0], value)
    if origin is tuple:
        return tuple(_convert(args[0], v) for v in value or ())
    if origin is dict:
        return {k: _convert(args[1], v) for k, v in (value or {}).items()}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and isinstance(value, dict):
        return decode(kind, value)
    if kind is float and isinstance(value, int):
        return float(value)
    return value
