"""`hop export --onnx`: onnxruntime computes what hop's own networks do."""

import json
import os
import subprocess

import numpy as np
import pytest

from hop_marl._binary import binary

onnxruntime = pytest.importorskip("onnxruntime", reason="left out: onnxruntime is not installed")

SHORT = [
    "train.envs=8",
    "train.window=16",
    "train.steps=256",
    "eval.episodes=4",
]

def hop(*args: str, cwd=None) -> dict:
    """Runs a command and returns its JSON."""
    done = subprocess.run([binary(), *args, "--json"], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def train(folder, what: str, *sets: str) -> str:
    """Trains for a moment and returns the run's folder."""
    args = [x for s in sets for x in ("--set", s)]
    hop("train", what, "--out", str(folder), *args)
    return str(next(folder.glob("*-001")))


CASES = {
    "dense": ("ppo-4x4",),
    "ego, tanh": ("ppo-4x4", "actor.frame=ego", "actor.act=tanh"),
    "board, separate": ("ppo-4x4", "actor.frame=board", "actor.separate=true"),
    "conv": ("ppo-4x4", "actor.frame=board", "actor.net=conv"),
    "LSTM": ("ppo-lstm-4x4",),
    "shared": ("ppo-shared-4x4",),
    "features": ("ppo-tag",),
    "mask not observed": ("ppo-ipd",),
}


def check(result: dict) -> dict[str, float]:
    """Runs every file on the rows beside it, and returns the largest differences by output."""
    worst: dict[str, float] = {}
    files = result["runs"][0]["files"]
    for file in files:
        session = onnxruntime.InferenceSession(file["path"], providers=["CPUExecutionProvider"])
        rows = np.load(file["check"])
        got = session.run(None, {i.name: rows[i.name] for i in session.get_inputs()})
        assert [o.name for o in session.get_outputs()] == [p["name"] for p in file["outputs"]]
        for port, value in zip(session.get_outputs(), got):
            assert value.shape == rows[port.name].shape, (file["path"], port.name)
            np.testing.assert_allclose(value, rows[port.name], atol=1e-5, err_msg=file["path"])
            far = float(np.abs(value - rows[port.name]).max())
            worst[port.name] = max(far, worst.get(port.name, 0))
        assert len(np.unique(rows["value" if "value" in rows else "logits"])) >= 5
    return worst


@pytest.mark.parametrize("case", CASES)
def test_ppo_gives_the_same_numbers(case, tmp_path):
    """Dense, conv, LSTM, shared, in every frame."""
    what, *sets = CASES[case]
    run = train(tmp_path, what, *SHORT, *sets)
    result = hop("export", run, "--onnx", "--check", "100")
    print(case, check(result))
    names = [os.path.basename(f["path"]) for f in result["runs"][0]["files"]]
    if case == "shared":
        assert names == ["agents-0-1-2-3.onnx"]
    else:
        assert names[0] == "agent-0.onnx" and len(names) >= 2
    if case == "LSTM":
        file = result["runs"][0]["files"][0]
        assert [p["name"] for p in file["inputs"]] == ["obs", "h", "c"]


def test_planners_give_the_same_numbers(plus, tmp_path):
    """The own network, model of others and response network; what is left out is named."""
    result = hop("export", plus, "--onnx", "--check", "50", "--out", str(tmp_path / "nets"))
    print(check(result))
    kinds = [f["kind"] for f in result["runs"][0]["files"]]
    assert kinds.count("actor") == kinds.count("others") == 4 and kinds.count("response") == 1
    assert "search" in result["runs"][0]["without"]


def test_the_file_is_whole(tmp_path):
    """The metadata say whose it is; any batch goes through; the mask is kept."""
    run = train(tmp_path, "ppo-4x4", *SHORT)
    result = hop("export", run, "--onnx", "--check", "64")
    file = result["runs"][0]["files"][2]
    session = onnxruntime.InferenceSession(file["path"], providers=["CPUExecutionProvider"])
    meta = session.get_modelmeta().custom_metadata_map
    assert meta["agents"] == "2" and meta["actions"].split(",")[:2] == ["up", "down"]
    rows = np.load(file["check"])
    for n in (1, 7, 64):
        (probs,) = session.run(["probs"], {"obs": rows["obs"][:n]})
        assert probs.shape == (n, 7)
        np.testing.assert_allclose(probs.sum(1), 1, atol=1e-6)
    illegal = rows["logits"] < -1e8
    assert illegal.any() and (rows["probs"][illegal] == 0).all()


def test_wrong_usage_is_a_sentence(tmp_path):
    """No format, no run: what was wrong and what to do."""
    args = [binary(), "export", str(tmp_path)]
    done = subprocess.run([*args, "--onnx"], capture_output=True, text=True)
    assert done.returncode == 2 and str(tmp_path) in done.stderr
    done = subprocess.run(args, capture_output=True, text=True)
    assert done.returncode == 2 and "--onnx" in done.stderr
