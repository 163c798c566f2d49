"""Builds the wheels and the source distribution with Python's standard library and Go (PEP 517).

``pip install`` calls the hooks at the end; ``python3 zinc_build.py FOLDER [PLATFORM...]`` writes a wheel for each
platform and the source distribution. The same source gives the same bytes.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib  # type: ignore[no-redef]

HERE = Path(__file__).resolve().parent
# The Go module is in the folder go of a source distribution, and around this folder in a checkout.
MODULE = HERE / "go" if (HERE / "go" / "go.mod").exists() else HERE.parent

# The executables are static, so those for Linux run with any C library. macOS 12 is the oldest that Go supports.
PLATFORMS = {
    "linux/amd64": "manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}
EPOCH = (1980, 1, 1, 0, 0, 0)


def _project() -> dict:
    return tomllib.loads((HERE / "pyproject.toml").read_text())["project"]


def _version() -> str:
    """Returns the version of zinc, which the Go source has."""
    found = re.search(r'^const Version = "(.*)"$', (MODULE / "compile" / "compile.go").read_text(), re.M)
    if not found:
        raise SystemExit("compile/compile.go has no Version")
    return found[1]


def _name() -> str:
    return f"{_project()['name'].replace('-', '_')}-{_version()}"


def _metadata() -> str:
    p = _project()
    lines = ["Metadata-Version: 2.1", f"Name: {p['name']}", f"Version: {_version()}", f"Summary: {p['description']}"]
    lines += [f"License: {p['license']['text']}", f"Requires-Python: {p['requires-python']}"]
    lines += [f"Requires-Dist: {d}" for d in p["dependencies"]]
    lines += ["Description-Content-Type: text/markdown", "", (HERE / p["readme"]).read_text()]
    return "\n".join(lines)


def _package() -> dict[str, bytes]:
    """Returns the files of the Python package."""
    files = sorted(p for p in (HERE / "zinc").iterdir() if p.suffix == ".py" or p.name == "py.typed")
    return {f"zinc/{p.name}": p.read_bytes() for p in files}


@functools.cache
def _executable(platform: str) -> bytes:
    goos, goarch = platform.split("/")
    env = dict(os.environ, GOOS=goos, GOARCH=goarch, CGO_ENABLED="0")
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder) / "zinc"
        command = ["go", "build", "-trimpath", "-ldflags=-s -w", "-o", str(to), "./cmd/zinc"]
        try:
            subprocess.run(command, cwd=MODULE, env=env, check=True)
        except FileNotFoundError:
            raise SystemExit("building zinc requires Go; a wheel for your platform does not") from None
        return to.read_bytes()


def _host() -> str:
    return "/".join(subprocess.check_output(["go", "env", "GOHOSTOS", "GOHOSTARCH"], text=True).split())


def _wheel(folder: Path, platform: str) -> Path:
    """Writes the wheel for a platform."""
    info = f"{_name()}.dist-info"
    tags = PLATFORMS[platform]
    scripts = "".join(f"{k} = {v}\n" for k, v in _project()["scripts"].items())
    wheel = "Wheel-Version: 1.0\nGenerator: zinc_build\nRoot-Is-Purelib: false\n"
    wheel += "".join(f"Tag: py3-none-{t}\n" for t in tags.split("."))
    exe = "zinc/bin/zinc" + (".exe" if platform.startswith("windows/") else "")
    files = _package() | {
        exe: _executable(platform),
        f"{info}/METADATA": _metadata().encode(),
        f"{info}/WHEEL": wheel.encode(),
        f"{info}/entry_points.txt": f"[console_scripts]\n{scripts}".encode(),
        f"{info}/LICENSE": (MODULE / "LICENSE").read_bytes(),
    }
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = folder / f"{_name()}-py3-none-{tags}.whl"
    with zipfile.ZipFile(path, "w") as z:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system = 3  # Unix, for the mode
            entry.external_attr = (0o100755 if name == exe else 0o100644) << 16
            z.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return path


def _go_sources() -> list[str]:
    """Returns the files of the Go module that building zinc takes."""
    if MODULE.name == "go" and MODULE.parent == HERE:
        return sorted(str(p.relative_to(MODULE)) for p in MODULE.rglob("*") if p.is_file())
    files = {"go.mod", "go.sum", "LICENSE"}
    for platform in PLATFORMS:
        goos, goarch = platform.split("/")
        env = dict(os.environ, GOOS=goos, GOARCH=goarch, CGO_ENABLED="0")
        form = (
            "{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}"
            "{{range .SFiles}}{{$d}}/{{.}}\n{{end}}{{range .HFiles}}{{$d}}/{{.}}\n{{end}}"
            "{{range .EmbedFiles}}{{$d}}/{{.}}\n{{end}}{{end}}{{end}}"
        )
        out = subprocess.check_output(["go", "list", "-deps", "-f", form, "./cmd/zinc"], cwd=MODULE, env=env, text=True)
        files.update(str(Path(line).relative_to(MODULE)) for line in out.split("\n") if line)
    return sorted(files)


def _sdist(folder: Path) -> Path:
    """Writes the source distribution."""
    own = ("pyproject.toml", "README.md", "zinc_build.py")
    files = {name: (HERE / name).read_bytes() for name in own} | _package()
    files |= {f"go/{name}": (MODULE / name).read_bytes() for name in _go_sources()}
    files["PKG-INFO"] = _metadata().encode()
    path = folder / f"{_name()}.tar.gz"
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as z:
        with tarfile.open(fileobj=z, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, data in sorted(files.items()):
                entry = tarfile.TarInfo(f"{_name()}/{name}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    return path


# The hooks of PEP 517.


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    return _wheel(Path(wheel_directory), _host()).name


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    return _sdist(Path(sdist_directory)).name


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for platform in sys.argv[2:] or PLATFORMS:
        print(_wheel(folder, platform))
    print(_sdist(folder))


if __name__ == "__main__":
    main()
