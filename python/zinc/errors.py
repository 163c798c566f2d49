"""What zinc reports when something is wrong."""

from __future__ import annotations

import json
from typing import Any

from . import documents
from ._decode import decode


class ZincError(Exception):
    """An error of zinc: what is wrong, where, and what to do.

    ``diagnostics`` has each error and warning with its place (file, line, column), message and hint. ``status`` is the
    exit status that the command would have.
    """

    def __init__(self, diagnostics: tuple[documents.Diagnostic, ...], status: int, text: str = "") -> None:
        self.diagnostics = diagnostics
        self.status = status
        super().__init__("\n".join(map(_line, diagnostics)) or text or f"zinc ended with status {status}")

    @property
    def _first(self) -> documents.Diagnostic | None:
        errors = [d for d in self.diagnostics if d.severity == "error"]
        return next(iter(errors or self.diagnostics), None)

    @property
    def file(self) -> str | None:
        """The file of the first error."""
        return self._first.file if self._first else None

    @property
    def line(self) -> int | None:
        """The line of the first error, from 1."""
        return self._first.line if self._first else None

    @property
    def column(self) -> int | None:
        """The column of the first error, from 1."""
        return self._first.column if self._first else None

    @property
    def hint(self) -> str | None:
        """What to do about the first error."""
        return self._first.hint if self._first else None


class ModelError(ZincError):
    """The input is wrong: the model, a pair, or an array."""


class UsageError(ZincError, ValueError):
    """The arguments are wrong."""


class InternalError(ZincError):
    """A bug in zinc."""


class Cancelled(ZincError):
    """The work was cancelled; no file was written."""


class SessionError(ZincError):
    """The process of zinc could not be started, or ended."""

    def __init__(self, text: str) -> None:
        super().__init__((), -1, text)


_CLASSES: dict[int, type[ZincError]] = {1: ModelError, 2: UsageError, 3: InternalError, 130: Cancelled}


def _line(d: documents.Diagnostic) -> str:
    place = ":".join(str(p) for p in (d.file, d.line, d.column) if p)
    text = f"{place}: {d.message}" if place else d.message
    return f"{text}\nhint: {d.hint}" if d.hint else text


def error_of(status: int, stderr: bytes) -> ZincError:
    """Returns the exception for what a command printed to standard error."""
    text = stderr.decode("utf-8", "replace").strip()
    found: list[documents.Diagnostic] = []
    other = text
    start = text.find("{")
    while start >= 0:  # notes and several documents may precede the last one
        try:
            value: Any
            value, end = json.JSONDecoder().raw_decode(text, start)
            found += decode(documents.ErrorDocument, value).diagnostics
            other, start = "", text.find("{", end)
        except (ValueError, TypeError, AttributeError):
            start = text.find("{", start + 1)
    return _CLASSES.get(status, ZincError)(tuple(found), status, other)
