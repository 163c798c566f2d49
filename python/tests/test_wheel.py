"""Builds the wheel of this machine, and uses it in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent

TEN_LINES = """
import sys, numpy as np, zinc
folder = sys.argv[1]
report = zinc.check(folder + "/digits.mlmodelc")
print(report.call_us, report.engine_ops, report.cpu_ops)
pair = zinc.compile(folder + "/digits.mlmodelc", "digits.hwx")
model = zinc.Model(pair.path)
image = np.load(folder + "/testdata/7.npy")
print(int(np.argmax(model.predict({"image": image})["probs"])))
print(zinc.__version__, zinc.executable())
"""


@pytest.fixture(scope="module")
def backend() -> object:
    if not shutil.which("go"):
        pytest.skip("no Go: no wheel is built")
    sys.path.insert(0, str(HERE))
    import zinc_build

    return zinc_build


def test_a_wheel_runs_where_it_is_installed(backend, digits: Path, tmp_path: Path) -> None:
    name = backend.build_wheel(str(tmp_path))
    with zipfile.ZipFile(tmp_path / name) as z:
        assert z.testzip() is None
        record = z.read(next(n for n in z.namelist() if n.endswith("/RECORD"))).decode()
        assert sorted(line.split(",")[0] for line in record.splitlines()) == sorted(z.namelist())
    first = (tmp_path / name).read_bytes()
    backend.build_wheel(str(tmp_path))
    assert (tmp_path / name).read_bytes() == first, "two builds differ"

    place = tmp_path / "venv"
    venv.create(place, with_pip=True, system_site_packages=True)  # numpy is the system's
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*pip, tmp_path / name], check=True)
    env = {k: v for k, v in os.environ.items() if k not in ("ZINC", "PYTHONPATH")}
    run = subprocess.run(
        [python, "-c", TEN_LINES, digits], cwd=tmp_path, env=env, check=True, capture_output=True, text=True
    )
    estimate, seven, version = run.stdout.splitlines()
    assert estimate.endswith(" 8 0") and seven == "7"
    assert version.startswith(backend._version() + " ") and str(place) in version
    out = subprocess.check_output([python.parent / "zinc", "version"], env=env, text=True)
    assert out.startswith("zinc " + backend._version())


def test_the_source_distribution_builds(backend, tmp_path: Path) -> None:
    name = backend.build_sdist(str(tmp_path))
    first = (tmp_path / name).read_bytes()
    assert backend.build_sdist(str(tmp_path)) == name and (tmp_path / name).read_bytes() == first, "two builds differ"
    shutil.unpack_archive(tmp_path / name, tmp_path)
    source = tmp_path / name.removesuffix(".tar.gz")
    # Building it takes a minute; go list finds a package or an embedded file that is not there.
    build = ["build", "-o", tmp_path / "zinc"] if os.environ.get("ZINC_TESTS") == "long" else ["list", "-deps"]
    subprocess.run(["go", *build, "./cmd/zinc"], cwd=source / "go", check=True, stdout=subprocess.DEVNULL)
    code = "import sys, zinc_build; print(zinc_build.build_sdist(sys.argv[1]))"
    again = tmp_path / "again"
    again.mkdir()
    subprocess.run([sys.executable, "-c", code, again], cwd=source, check=True)
    assert (again / name).read_bytes() == first, "a distribution of the distribution differs"
