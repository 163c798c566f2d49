"""Models that run on the simulator."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._commands import Shapes, _flags
from ._session import Cancel, ProgressCallback, Session, shared
from ._source import ModelLike, path_of
from .errors import SessionError, error_of


@dataclass(frozen=True)
class Port:
    """An input, an output or a state of a model."""

    name: str
    #: the numpy type of its values
    dtype: np.dtype[Any]
    #: sizes, -1 for a dimension that is not fixed
    shape: tuple[int, ...]
    #: its type in MIL
    type: str


class State:
    """The states of one sequence of calls: zeros at first, then what the last call left.

    ``state["name"]`` is the value of a state, which can be set.
    """

    def __init__(self, ports: Sequence[Port]) -> None:
        self._ports = {p.name: p for p in ports}
        self._values: dict[str, npt.NDArray[Any]] = {p.name: np.zeros(p.shape, p.dtype) for p in ports}

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._values[name]

    def __setitem__(self, name: str, value: npt.ArrayLike) -> None:
        self._values[name] = _array(self._ports[name], "state", value)

    def keys(self) -> list[str]:
        """The names of the states."""
        return list(self._values)


class Model:
    """A model or a pair that is loaded into the process of zinc, which runs it.

    ``engine`` is ``sim``, the simulator of the whole stack, ``direct``, the engine alone, which gives the same numbers,
    or ``interp``, the reference interpreter. ``numerics`` is the arithmetic on the engine, as in ``zinc run``.
    """

    def __init__(
        self,
        model: ModelLike,
        *,
        target: str | None = None,
        precision: str | None = None,
        function: str | None = None,
        shapes: Shapes | None = None,
        engine: str | None = None,
        numerics: str | None = None,
        flags: Sequence[str] = (),
        progress: ProgressCallback | None = None,
        cancel: Cancel | None = None,
    ) -> None:
        self._session = shared()
        own = [f"--{k}={v}" for k, v in (("engine", engine), ("numerics", numerics)) if v is not None]
        # The load may map files that are in a temporary folder, which therefore lives as long as the model.
        self._source = path_of(model)
        path = self._source.__enter__()
        try:
            args = [path, *own, *_flags(target, precision, function, shapes), *flags, "--diagnostics=json"]
            answer = self._session.ask("load", args=args, progress=progress, cancel=cancel)
            if answer.status != 0:
                raise error_of(answer.status, answer.stderr)
        except BaseException:
            self._source.__exit__(None, None, None)
            raise
        self._number: int = answer.header["id"]
        ports = answer.header["function"]
        #: the inputs, outputs and states of the function that runs
        self.inputs, self.outputs, self.states = (_ports(ports[k]) for k in ("inputs", "outputs", "states"))
        self._finalizer = weakref.finalize(self, _unload, self._session, self._number, self._source)
        self._finalizer.atexit = False  # the session ends then, with all models

    def predict(
        self,
        inputs: Mapping[str, npt.ArrayLike] | None = None,
        state: State | None = None,
        *,
        progress: ProgressCallback | None = None,
        cancel: Cancel | None = None,
    ) -> dict[str, npt.NDArray[Any]]:
        """Runs the model once and returns its outputs by name.

        Floats are rounded to the type of their input. A model with states requires one of ``make_state()``, which the
        call changes.
        """
        if not self._finalizer.alive:
            raise SessionError("the model is closed")
        if self.states and state is None:
            names = ", ".join(p.name for p in self.states)
            raise ValueError(f"the model has the states {names}; pass state=model.make_state()")
        known = {p.name: p for p in self.inputs}
        given = dict(inputs or {})
        for name in given:
            if name not in known:
                raise ValueError(f"unknown input {name!r}; the inputs are {', '.join(known) or 'none'}")
        for name in known:
            if name not in given:
                raise ValueError(f"missing input {name!r} of type {known[name].type}")
        arrays = {name: _array(known[name], "input", value) for name, value in given.items()}
        before = {name: state[name] for name in state.keys()} if state is not None else {}
        answer = self._session.ask(
            "predict",
            model=self._number,
            inputs=_described(arrays),
            states=_described(before),
            body=[_bytes(a) for a in (*arrays.values(), *before.values())],
            progress=progress,
            cancel=cancel,
        )
        if answer.status != 0:
            raise error_of(answer.status, answer.stderr)
        out, rest = _arrays(answer.header.get("outputs", ()), answer.body)
        after, _ = _arrays(answer.header.get("states", ()), rest)
        if state is not None:
            state._values.update(after)
        return out

    def make_state(self) -> State:
        """Returns states for a sequence of calls of ``predict``, zeros at first."""
        return State(self.states)

    def close(self) -> None:
        """Releases the model."""
        self._finalizer()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _unload(session: Session, number: int, source: Any) -> None:
    if not session.ended:
        # A finalizer may run in any thread, also in one that must not wait.
        threading.Thread(target=_ask_unload, args=(session, number, source), daemon=True).start()
    else:
        source.__exit__(None, None, None)


def _ask_unload(session: Session, number: int, source: Any) -> None:
    try:
        session.ask("unload", model=number)
    except SessionError:
        pass  # it has ended, with all models
    source.__exit__(None, None, None)


def _ports(values: Sequence[Mapping[str, Any]]) -> tuple[Port, ...]:
    return tuple(Port(v["name"], _dtype(v["type"]), tuple(v["shape"]), v["mil"]) for v in values)


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype("<" + name)


def _array(port: Port, what: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    """Returns a value as an array of the port's type, if that loses nothing but the rounding of floats."""
    a = np.asarray(value)
    kind = port.dtype.kind
    numbers = a.dtype.kind in ("fiub" if kind == "f" else "iub")
    if not numbers or kind != "f" and not np.array_equal(a.astype(port.dtype), a):
        raise ValueError(f"{what} {port.name!r} of type {port.type} cannot have these values of type {a.dtype}")
    shape = a.shape if a.ndim or not port.shape else (1,) * len(port.shape)
    fits = len(shape) == len(port.shape) and all(p in (-1, n) for n, p in zip(shape, port.shape))
    if not fits:
        raise ValueError(f"the shape of {what} {port.name!r} is {shape}, want the shape of {port.type}")
    with np.errstate(over="ignore"):  # a float beyond the type's largest is infinite, as on the engine
        return np.array(a, dtype=port.dtype, order="C").reshape(shape)


def _bytes(a: npt.NDArray[Any]) -> memoryview:
    return a.reshape(-1).view(np.uint8).data


def _described(arrays: Mapping[str, npt.NDArray[Any]]) -> list[dict[str, Any]]:
    return [{"name": n, "type": a.dtype.str.lstrip("<|="), "shape": list(a.shape)} for n, a in arrays.items()]


def _arrays(described: Sequence[Mapping[str, Any]], body: memoryview) -> tuple[dict[str, npt.NDArray[Any]], memoryview]:
    """Returns the arrays at the start of a body, and what is after them."""
    out = {}
    for d in described:
        dtype, shape = _dtype(d["type"]), tuple(d["shape"])
        n = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        out[d["name"]] = np.frombuffer(body[:n], dtype).reshape(shape)
        body = body[n:]
    return out, body
