"""What hop export writes for other trackers is read by their own packages, as is what TensorBoard gets."""

import os
import struct
import subprocess

import pytest

from hop_marl._binary import binary


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short training with an exported copy for each tracker."""
    at = tmp_path_factory.mktemp("trackers")
    short = ["--set", "train.steps=4000", "--set", "train.envs=8", "--set", "eval.episodes=20"]
    subprocess.run([binary(), "train", "ppo-4x4", "--workers", "1", *short], cwd=at, check=True, capture_output=True)
    for form in ("--wandb", "--mlflow"):
        subprocess.run([binary(), "export", "runs/ppo-4x4-001", form], cwd=at, check=True, capture_output=True)
    return at


def means(run):
    """return/mean by step, of metrics.csv."""
    rows = [line.split(",") for line in (run / "runs/ppo-4x4-001/seed-1/metrics.csv").read_text().splitlines()]
    return {int(r[0]): float(r[3]) for r in rows if r[1] == "return/mean"}


def test_wandb_reads_its_records(run):
    proto = pytest.importorskip("wandb.proto.wandb_internal_pb2")
    (log,) = run.glob("wandb/offline-run-*/run-*.wandb")
    b, at, part, got, config = log.read_bytes(), 7, b"", {}, {}
    while at < len(b):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        _, n, kind = struct.unpack("<IHB", b[at : at + 7])
        part += b[at + 7 : at + 7 + n]
        at += 7 + n
        if kind in (1, 4):
            record = proto.Record.FromString(part)
            part = b""
            for item in record.history.item:
                if item.nested_key == ["return/mean"]:
                    got[record.history.step.num] = float(item.value_json)
            config |= {c.key: c.value_json for c in record.run.config.update}
    assert got == means(run)
    assert config["train.steps"] == "4000" and config["seed"] == "1" and config["name"] == '"ppo-4x4"'
    said = subprocess.run(["wandb", "sync", "--dry-run", "--yes"], cwd=run, capture_output=True, text=True, check=True)
    assert log.name in said.stdout + said.stderr


def test_mlflow_reads_its_store(run, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = mlflow.MlflowClient("file://" + os.fspath(run / "mlruns"))
    (about,) = [e for e in client.search_experiments() if e.name == "ppo-4x4-001"]
    (one,) = client.search_runs([about.experiment_id])
    assert one.info.run_name == "seed-1" and one.info.status == "FINISHED" and one.data.params["train.steps"] == "4000"
    assert {m.step: m.value for m in client.get_metric_history(one.info.run_id, "return/mean")} == means(run)
    assert "result/mean" in one.data.metrics and [f.path for f in client.list_artifacts(one.info.run_id)] == ["spec.yaml"]


def test_tensorboard_shows_the_spec_and_episodes(run):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    seed = run / "runs/ppo-4x4-001/seed-1"
    own, films = (accumulator.EventAccumulator(os.fspath(at)).Reload() for at in (seed, seed.parent / "report" / "films" / seed.name))
    (text,) = own.Tensors("spec")
    assert text.tensor_proto.string_val[0].decode().strip("`\n").removeprefix("yaml\n") == (seed / "spec.yaml").read_text().strip()
    tags = films.Tags()["images"]
    assert "episode/median" in tags
    (film,) = films.Images("episode/median")
    assert film.encoded_image_string[:4] == b"GIF8" and film.width > 100 and film.height > 100
