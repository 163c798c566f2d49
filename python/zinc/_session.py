"""The process of zinc that answers requests (docs/session.md)."""

from __future__ import annotations

import atexit
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import SessionError, error_of


@dataclass(frozen=True)
class Progress:
    """How far work is: ``done`` of ``total`` units of a stage; ``total`` is 0 if it is unknown."""

    stage: str
    done: int
    total: int


ProgressCallback = Callable[[Progress], None]


class Cancel:
    """Cancels calls from another thread: pass it to them, and call ``cancel()``. They raise ``zinc.Cancelled``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[Callable[[], None]] = []
        self.cancelled = False

    def cancel(self) -> None:
        """Cancels all calls that have this object, those under way and later ones."""
        with self._lock:
            self.cancelled = True
            calls = list(self._calls)
        for call in calls:
            call()

    def _add(self, call: Callable[[], None]) -> None:
        with self._lock:
            self._calls.append(call)
            now = self.cancelled
        if now:
            call()

    def _remove(self, call: Callable[[], None]) -> None:
        with self._lock:
            self._calls.remove(call)


@dataclass
class Answer:
    """All that came back about a request."""

    status: int
    header: dict[str, Any]
    body: memoryview
    stdout: bytes = b""
    stderr: bytes = b""


@dataclass
class _Waiting:
    """A request under way."""

    messages: queue.SimpleQueue[tuple[dict[str, Any], memoryview]] = field(default_factory=queue.SimpleQueue)


def executable() -> str:
    """Returns the path of the zinc executable: $ZINC, the one in the package, or the one on the PATH."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "zinc.exe" if os.name == "nt" else "zinc")
    path = os.environ.get("ZINC") or (own if os.path.exists(own) else shutil.which("zinc"))
    if not path:
        raise SessionError(f"no zinc executable: it is neither {own} nor on the PATH; set ZINC to its path")
    return path


class Session:
    """A process of zinc. Any number of threads may use it."""

    def __init__(self) -> None:
        path = executable()
        # An interrupt of the terminal is for this process, which cancels the call under way.
        apart: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        try:
            self._process = subprocess.Popen(
                [path, "session"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=-1, **apart
            )
        except OSError as e:
            raise SessionError(f"{path}: {e.strerror}") from e
        self._writing = threading.Lock()
        self._lock = threading.Lock()
        self._waiting: dict[int, _Waiting] = {}
        self._last = 0
        self.ended = False
        self._folder = os.getcwd()  # of the process
        self._reader = threading.Thread(target=self._read, name="zinc session", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        out = self._process.stdout
        assert out is not None
        try:
            while line := out.readline():
                header = json.loads(line)
                n = header.get("bytes", 0)
                body = memoryview(bytearray(n))
                at = 0
                while at < n and (got := out.readinto(body[at:])):  # type: ignore[attr-defined]
                    at += got
                if at < n:
                    break
                with self._lock:
                    waiting = self._waiting.get(header["id"])
                if waiting:
                    waiting.messages.put((header, body))
        except (OSError, ValueError):
            pass  # as at the end
        with self._lock:
            self.ended = True
            left = list(self._waiting.values())
        for waiting in left:
            waiting.messages.put(({"event": "lost"}, memoryview(b"")))

    def _send(self, header: dict[str, Any], body: Sequence[memoryview | bytes] = ()) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        header["bytes"] = sum(len(b) for b in body)
        with self._writing:
            try:
                pipe.write(json.dumps(header).encode() + b"\n")
                for b in body:
                    pipe.write(b)
                pipe.flush()
            except (OSError, ValueError) as e:
                raise SessionError(f"the process of zinc has ended (status {self._process.poll()})") from e

    def ask(
        self,
        method: str,
        *,
        body: Sequence[memoryview | bytes] = (),
        progress: ProgressCallback | None = None,
        cancel: Cancel | None = None,
        **fields: Any,
    ) -> Answer:
        """Sends a request and returns its answer, whatever the status.

        An interrupt, or an exception of ``progress``, cancels the request and goes on to the caller.
        """
        waiting = _Waiting()
        with self._lock:
            if self.ended:
                raise SessionError("the process of zinc has ended")
            self._last += 1
            number = self._last
            self._waiting[number] = waiting

        def stop() -> None:
            with self._lock:
                self._last += 1
                own = self._last
            self._send({"id": own, "method": "cancel", "request": number})

        try:
            header = {"id": number, "method": method, "progress": True, **fields}
            self._send(header, body)
            if cancel:
                cancel._add(stop)
            try:
                return self._answer(waiting, progress)
            except SessionError:
                raise
            except BaseException:
                stop()
                self._answer(waiting, None)
                raise
            finally:
                if cancel:
                    cancel._remove(stop)
        finally:
            with self._lock:
                del self._waiting[number]

    def _answer(self, waiting: _Waiting, progress: ProgressCallback | None) -> Answer:
        printed: dict[str, list[memoryview]] = {"stdout": [], "stderr": []}
        while True:
            try:
                header, body = waiting.messages.get(timeout=0.5)  # on Windows an interrupt does not end a longer wait
            except queue.Empty:
                continue
            event = header["event"]
            if event == "progress":
                if progress:
                    progress(Progress(header.get("stage", ""), header.get("done", 0), header.get("total", 0)))
            elif event == "end":
                stdout, stderr = (b"".join(printed[name]) for name in ("stdout", "stderr"))
                return Answer(header["status"], header, body, stdout, stderr)
            elif event == "lost":
                raise SessionError(f"the process of zinc has ended (status {self._process.wait()})")
            else:
                printed[event].append(body)

    def close(self) -> None:
        """Ends the process; work under way is cancelled."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe:
                    pipe.close()
            except OSError:
                pass


_shared: Session | None = None
_starting = threading.Lock()


def shared() -> Session:
    """Returns the session of this process, which it starts, again if it has ended."""
    global _shared
    with _starting:
        if _shared is None or _shared.ended:
            _shared = Session()
        return _shared


def seen(path: str | os.PathLike[str]) -> str:
    """Returns a path as the session must get it: absolute, if this process has changed its folder since it began."""
    text = os.fspath(path)
    return text if os.getcwd() == shared()._folder else os.path.abspath(text)


def _forget() -> None:
    """Makes a forked process start a session of its own."""
    global _shared, _starting
    _shared, _starting = None, threading.Lock()


@atexit.register
def _close() -> None:
    if _shared is not None:
        _shared.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def command(
    args: Sequence[str],
    *,
    results: Sequence[int] = (0,),
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> tuple[int, dict[str, Any]]:
    """Runs a command with --json and returns its status and the document that it prints.

    ``results`` are the statuses of commands that print a result; others are errors.
    """
    answer = shared().ask("run", args=[*args, "--json"], progress=progress, cancel=cancel)
    if answer.status not in results or not answer.stdout:
        raise error_of(answer.status, answer.stderr)
    return answer.status, json.loads(answer.stdout)
