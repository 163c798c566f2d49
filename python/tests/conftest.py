"""What the tests share: the example model, and the folder of shared test material."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("ZINC_CACHE", "off")  # not the cache of the user who runs this


@pytest.fixture
def digits() -> Path:
    return ROOT / "examples" / "digits"


@pytest.fixture
def model(digits: Path) -> Path:
    return digits / "digits.mlmodelc"


@pytest.fixture
def small() -> Path:
    """The folder of the small models of the simulated runtime."""
    return ROOT / "runtime" / "sim" / "stack" / "e5rt" / "testdata"


@pytest.fixture
def shared() -> Path:
    folder = Path(os.environ.get("ZINC_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent (ZINC_SHARED names another folder)")
    return folder
