"""Takes models of coremltools: real ones where a converter is there, and one with its methods elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import zinc


class Saved:
    """Has the methods of an MLModel that zinc calls."""

    def __init__(self, package: Path) -> None:
        self.package = package

    def get_spec(self) -> SimpleNamespace:
        return SimpleNamespace(WhichOneof=lambda _: "mlProgram")

    def save(self, path: str) -> None:
        assert path.endswith(".mlpackage")
        shutil.copytree(self.package, path)


def test_an_object_with_the_methods_of_a_model(shared: Path) -> None:
    package = shared / "converted" / "mlp-fp16.mlpackage"
    assert zinc.check(Saved(package)).ops == zinc.check(package).ops
    model = zinc.Model(Saved(package))
    inputs = {p.name: np.ones(p.shape) for p in model.inputs}
    want = zinc.Model(package).predict(inputs)
    for name, value in model.predict(inputs).items():
        assert value.tobytes() == want[name].tobytes()


@pytest.fixture(scope="module")
def ct():
    """coremltools: installed, or the checkout that COREMLTOOLS names."""
    pytest.importorskip("torch", reason="no torch: the real converter is not run")
    if folder := os.environ.get("COREMLTOOLS"):
        sys.path.insert(0, folder)
    return pytest.importorskip("coremltools", reason="no coremltools (COREMLTOOLS names a checkout of it)")


def test_a_converted_model(ct, tmp_path: Path) -> None:
    import torch

    torch.manual_seed(1)
    layers = [torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(512, 10)]
    net = torch.nn.Sequential(*layers).eval()
    x = torch.rand(1, 3, 8, 8)
    kwargs = dict(inputs=[ct.TensorType(name="x", shape=x.shape)], outputs=[ct.TensorType(name="y")])
    traced = torch.jit.trace(net, x)
    converted = ct.convert(traced, skip_model_load=True, convert_to="mlprogram", **kwargs)
    report = zinc.check(converted)
    assert report.engine_ops > 0
    assert zinc.verify(converted)
    got = zinc.Model(converted).predict({"x": x.numpy()})["y"]
    np.testing.assert_allclose(got, net(x).detach().numpy(), atol=5e-3)

    net[1] = torch.nn.Tanh()
    edited = ct.convert(torch.jit.trace(net, x), skip_model_load=True, convert_to="mlprogram", **kwargs)
    difference = zinc.diff(converted, edited)
    assert difference and any("relu" in str(c) and "tanh" in str(c) for c in difference.changes)

    program = ct.convert(traced, convert_to="milinternal", **kwargs)
    assert zinc.check(program).engine_ops == report.engine_ops
