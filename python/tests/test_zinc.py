"""Checks, compiles and runs models in one process of zinc."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import zinc
from zinc import _session


def own_output(*args: str) -> str:
    """Returns what the command prints in a process of its own."""
    return subprocess.run([zinc.executable(), *args], stdout=subprocess.PIPE, text=True).stdout


def test_check_is_what_the_command_prints(model: Path) -> None:
    report = zinc.check(model)
    assert report.json == json.loads(own_output("check", str(model), "--json"))
    assert (report.target, report.engine_ops, report.cpu_ops) == ("h13", 8, 0)
    assert report.ops[0].name == "conv1" and report.ops[0].estimate.dma_bytes > 0
    assert report.call_band.low_us < report.call_us < report.call_band.high_us
    assert "8 of 8 operations on the engine, 1 dispatch" in str(report)


def test_report_shows_the_page(model: Path, tmp_path: Path) -> None:
    report = zinc.check(model)
    own_output("check", str(model), f"--report=html={tmp_path / 'page.html'}")
    assert report.page == (tmp_path / "page.html").read_text()
    frames = []

    class Frames(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            frames.append((tag, dict(attrs)["srcdoc"]))

    Frames().feed(report._repr_html_())
    assert frames == [("iframe", report.page)]


def test_check_takes_options(model: Path) -> None:
    report = zinc.check(model, target="h14", precision="fp16", function="main", flags=["--max-estimate-us=1"])
    assert report.target == "h14" and report.precision == "fp16"
    assert report.failures and report.violations[0].limit == 1


def test_compile_writes_a_pair(model: Path, tmp_path: Path) -> None:
    pair = zinc.compile(model, tmp_path / "d.hwx")
    own_output(str(model), "-o", str(tmp_path / "own.hwx"))
    for ending in (".hwx", ".e5"):
        assert (tmp_path / f"d{ending}").read_bytes() == (tmp_path / f"own{ending}").read_bytes()
    assert pair.path == str(tmp_path / "d.hwx") and pair.descriptor == str(tmp_path / "d.e5")
    assert pair.tasks == 10


def test_compile_without_output_keeps_the_pair(model: Path) -> None:
    pair = zinc.compile(model)
    folder = os.path.dirname(pair.path)
    assert pair.load().inputs[0].name == "image"
    del pair
    assert not os.path.exists(folder)


@pytest.mark.parametrize("options", [{}, {"engine": "direct"}, {"engine": "interp"}, {"numerics": "ieee"}])
def test_predict_reads_digits(model: Path, digits: Path, options: dict[str, str]) -> None:
    loaded = zinc.Model(model, **options)
    assert [(p.name, p.dtype, p.shape) for p in loaded.inputs] == [("image", np.float16, (1, 1, 28, 28))]
    assert loaded.outputs[0].type == "tensor<fp16, [1, 10, 1, 1]>"
    for path in sorted((digits / "testdata").glob("?.npy")):
        out = loaded.predict({"image": np.load(path)})
        assert int(np.argmax(out["probs"])) == int(path.stem)


def test_predict_is_what_run_writes(model: Path, digits: Path, tmp_path: Path) -> None:
    image, to = digits / "testdata" / "7.npy", tmp_path / "probs.npy"
    own_output("run", str(model), f"--input=image={image}", f"--output=probs={to}")
    loaded = zinc.Model(model)
    for value in (np.load(image), np.load(image).astype(np.float64), np.load(image).tolist()):
        for _ in range(2):
            out = loaded.predict({"image": value})["probs"]
            assert out.dtype == np.float16 and out.tobytes() == np.load(to).tobytes()


def test_predict_refuses_wrong_values(model: Path) -> None:
    loaded = zinc.Model(model)
    image = np.zeros((1, 1, 28, 28), np.float16)
    for inputs, want in [
        ({}, "missing input 'image' of type tensor<fp16"),
        ({"image": image, "mask": image}, "unknown input 'mask'; the inputs are image"),
        ({"image": image[0]}, r"the shape of input 'image' is \(1, 28, 28\)"),
        ({"image": image.astype(complex)}, "cannot have these values of type complex128"),
        ({"image": np.full((1, 1, 28, 28), "x")}, "cannot have these values of type <U1"),
    ]:
        with pytest.raises(ValueError, match=want):
            loaded.predict(inputs)
    loaded.close()
    with pytest.raises(zinc.SessionError, match="closed"):
        loaded.predict({"image": image})


def test_states_are_the_callers(small: Path) -> None:
    with zinc.Model(small / "state.mil") as loaded:
        one, other = loaded.make_state(), loaded.make_state()
        for n in (1, 2, 3):
            assert (loaded.predict({}, one)["y"] == n).all()
        assert (loaded.predict({}, other)["y"] == 1).all()
        other["total"] = np.full((1, 4), 10.0)
        assert (loaded.predict({}, other)["y"] == 11).all()
        assert (one["total"] == 3).all()
        with pytest.raises(ValueError, match="make_state"):
            loaded.predict({})


def test_verify_and_diff(model: Path) -> None:
    verified = zinc.verify(model, seed=3)
    assert verified and verified.pass_ and verified.seed == 3 and verified.outputs[0].name == "probs"
    same = zinc.diff(model, model)
    assert not same and same.same and str(same) == "no difference"
    other = zinc.diff(model, flags_b="--target h14", outputs=True)
    assert other and other.a.target == "h13" and other.b.target == "h14" and other.changes


def test_convert_keeps_the_model(model: Path, tmp_path: Path) -> None:
    package = zinc.convert(model, tmp_path / "d.mlpackage")
    assert package.path == str(tmp_path / "d.mlpackage") and len(package.files) > 2
    zinc.convert(package.path, tmp_path / "d.mlmodelc")
    assert (tmp_path / "d.mlmodelc" / "weights" / "weight.bin").read_bytes() == (
        model / "weights" / "weight.bin"
    ).read_bytes()
    assert not zinc.diff(model, tmp_path / "d.mlmodelc", flags=["--level=placement,tasks"])
    with pytest.raises(zinc.UsageError, match="ends in .mlpackage"):
        zinc.convert(model, tmp_path / "d.onnx")


def test_errors_have_place_and_hint(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.mil"
    wrong.write_text(
        "program(1.0)\n{\n\tfunc main<ios15>(tensor<fp16, [1]> x) {\n"
        '\t\ttensor<fp16, [1]> y = rel(x = x)[name = string("y")];\n\t} -> (y);\n}\n'
    )
    for call in (zinc.check, zinc.compile, zinc.verify, zinc.Model):
        with pytest.raises(zinc.ModelError) as e:
            call(wrong)
        assert (e.value.file, e.value.line, e.value.column) == (str(wrong), 4, 25)
        assert e.value.hint == "did you mean relu?" and e.value.status == 1
        assert str(e.value) == f"{wrong}:4:25: unknown operation rel\nhint: did you mean relu?"
    with pytest.raises(zinc.UsageError, match="h99") as e:
        zinc.check(wrong, target="h99")
    assert isinstance(e.value, ValueError)
    with pytest.raises(zinc.ZincError, match="absent.mil: no such file"):
        zinc.diff(tmp_path / "absent.mil", wrong)
    with pytest.raises(TypeError, match="got int"):
        zinc.check(5)


def endless(model: Path, **options: object) -> None:
    """Runs a model for days, unless it is cancelled."""
    args = ["run", str(model), "--random", "--steps=1000000000"]
    _session.command(args, **options)  # type: ignore[arg-type]


def test_progress_and_its_exceptions(model: Path) -> None:
    seen: list[zinc.Progress] = []
    zinc.verify(model, progress=seen.append)
    assert any(p.total and p.done == p.total for p in seen)

    def stop(p: zinc.Progress) -> None:
        if p.stage == "run":
            raise LookupError(p.stage)

    with pytest.raises(LookupError, match="run"):
        endless(model, progress=stop)


def test_cancel_from_another_thread(model: Path) -> None:
    cancel = zinc.Cancel()
    begun = threading.Event()
    threading.Thread(target=lambda: (begun.wait(), cancel.cancel())).start()
    with pytest.raises(zinc.Cancelled, match="interrupted; nothing was written") as e:
        endless(model, cancel=cancel, progress=lambda p: begun.set())
    assert e.value.status == 130
    with pytest.raises(zinc.Cancelled):
        endless(model, cancel=cancel)
    assert zinc.verify(model)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT of a process")
def test_interrupt_cancels(model: Path) -> None:
    # Shells start what runs in the background with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            endless(model, progress=lambda p: os.kill(os.getpid(), signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    assert zinc.verify(model)


def test_threads_share_the_session(model: Path) -> None:
    loaded, results = zinc.Model(model), []
    image = np.zeros((1, 1, 28, 28))

    def work() -> None:
        results.extend(loaded.predict({"image": image})["probs"].tobytes() for _ in range(5))
        results.append(zinc.check(model).engine_ops)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 48 and len(set(results)) == 2


def test_a_session_that_was_killed_is_replaced(model: Path) -> None:
    loaded, session = zinc.Model(model), _session.shared()
    session._process.kill()
    session._reader.join()
    with pytest.raises(zinc.SessionError, match="has ended"):
        loaded.predict({"image": np.zeros((1, 1, 28, 28))})
    assert zinc.verify(model) and _session.shared() is not session


def test_without_an_executable(model: Path) -> None:
    code = "import zinc, sys\ntry: zinc.check(sys.argv[1])\nexcept zinc.SessionError as e: print(e)"
    env = dict(os.environ, ZINC="/no/such/zinc", PYTHONPATH=str(Path(zinc.__file__).parents[1]))
    out = subprocess.run([sys.executable, "-c", code, model], env=env, capture_output=True, text=True)
    assert out.stdout == "/no/such/zinc: No such file or directory\n", out.stderr
