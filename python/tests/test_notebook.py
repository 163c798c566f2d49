"""Runs the cells of the example notebook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_the_cells_of_the_notebook_run(digits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = digits.parent / "python"
    notebook = json.loads((folder / "digits.ipynb").read_text())
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    for cell in cells:
        exec(compile(cell, "digits.ipynb", "exec"), names)
    assert cells and "loaded" in names
