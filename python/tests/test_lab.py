"""Experiments from Python and notebooks: train, metrics, plots, adapt, audit, compare, and how they look."""

import os
import pathlib
import re
import subprocess
import time

import numpy as np
import pytest

import hop_marl as hop
from hop_marl._binary import binary

NOTEBOOKS = pathlib.Path(__file__).parents[2] / "examples" / "notebooks"
SHORT = {"train.envs": 8, "train.window": 16, "eval.episodes": 4}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two seeds, trained for a moment."""
    out = tmp_path_factory.mktemp("runs")
    return hop.train("ppo-4x4", seeds=range(1, 3), steps=2000, out=out, set=SHORT, size=5).wait(100)


def test_a_training_is_a_handle(runs):
    assert runs.result.run == runs.run and runs.progress == 1 and not runs.running
    assert [s["seed"] for s in runs.result.seeds] == [1, 2]
    assert hop.load(runs).params["size"] == 5  # a Training is its folder
    shown = runs._repr_html_()
    assert shown.count("<tr>") == 3 and "mean return" in shown
    with pytest.raises(AttributeError, match="returned no 'meen'"):
        runs.result.meen


def test_a_training_is_stopped_and_goes_on(tmp_path):
    straight = hop.train("ppo-4x4", steps=60_000, out=tmp_path / "a", set=SHORT).wait(200)
    runs = hop.train("ppo-4x4", steps=60_000, out=tmp_path / "b", set=SHORT)
    until = time.monotonic() + 60
    while not list(tmp_path.glob("b/*/seed-1/metrics.csv")) and runs.running and time.monotonic() < until:
        time.sleep(0.01)
    assert runs.running and "training" in repr(runs) and runs._repr_html_()
    runs.stop()
    assert runs.result is None and "stopped" in repr(runs), runs.lines
    runs.resume().wait(200)
    assert runs.result["mean"] == straight.result["mean"], "as if nothing had happened"


def test_a_training_that_fails_says_why(tmp_path):
    with pytest.raises(hop.HopError, match="stagz"):
        hop.train("ppo-4x4", out=tmp_path, stagz=2).wait(60)
    with pytest.raises(TimeoutError, match="it goes on"):
        try:
            going = hop.train("ppo-4x4", out=tmp_path)
            going.wait(0.01)
        finally:
            going.stop()


def test_metrics_are_tidy(runs):
    pandas = pytest.importorskip("pandas")
    got = hop.metrics(runs)
    assert list(got.columns) == ["run", "seed", "step", "name", "agent", "value", "n"]
    assert sorted(got.seed.unique()) == [1, 2] and got.agent.dropna().max() == 3
    raw = pandas.read_csv(os.path.join(runs, "seed-1", "metrics.csv"))
    assert (got[got.seed == 1].value.to_numpy() == raw.value.to_numpy()).all()
    one = hop.metrics(os.path.join(runs, "seed-2"), "return/mean")
    assert set(one.name) == {"return/mean"} and set(one.seed) == {2} and one.agent.isna().all()
    with pytest.raises(KeyError, match="there are .*return/mean"):
        hop.metrics(runs, "retrun")
    with pytest.raises(FileNotFoundError, match="is no run"):
        hop.metrics("nowhere")


def test_plots_have_seeds_and_interval(runs, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    matplotlib.use("Agg")
    ax = hop.plot([runs, os.path.join(runs, "seed-1")], "return/mean")
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [f"{os.path.basename(runs)}, 2 seeds"]
    ax = hop.plot(runs, "return/mean")
    (band,) = ax.collections
    mean = next(x for x in ax.lines if x.get_linewidth() == 2 and len(x.get_xdata()))
    by_seed = [x for _, x in hop.metrics(runs, "return/mean").groupby("seed")]
    want = np.mean([np.interp(mean.get_xdata(), x.step, x.value) for x in by_seed], 0)
    assert len(want) > 3 and mean.get_ydata() == pytest.approx(want)
    wide = np.ptp(band.get_paths()[0].vertices[:, 1])
    assert wide > np.ptp(mean.get_ydata())
    ax.figure.savefig(tmp_path / "plot.png")
    assert hop.plot(runs, "return", agent=2).get_ylabel() == "return of agent 2"


def test_adapt_and_strangers(runs):
    got = hop.adapt(runs, vs=["ns", "nh", "nh"], steps=200, last=100, lives=1)
    assert got.vs == ["ns", "nh", "nh"] and "best response" in got._repr_html_() and len(got.frame()) == 2
    got = hop.strangers("validation", size=5).score(runs, some=2, steps=100, last=50, lives=1, seeds="1")
    assert len(got["table"]) == 2 and got._repr_html_().count("<tr>") == 3
    with pytest.raises(hop.HopError, match="--last"):
        hop.adapt(runs, vs="ns", steps=10, last=20)


def test_compare(tmp_path):
    got = hop.compare("ppo-4x4", "ppo-shared-4x4", seeds=[1, 2], out=tmp_path, set={**SHORT, "train.steps": 500}, workers=1)
    assert [v["name"] for v in got.variants] == ["ppo-4x4", "ppo-shared-4x4"] and got._repr_html_().count("<tr>") == 3


def test_audit_shows_its_findings(tmp_path):
    rec = hop.Recorder(str(tmp_path / "run.npz"))
    env = rec.wrap(pytest.importorskip("pettingzoo") and hop.parallel_env("staghunt", mask="info"))
    for seed in range(6):
        observations, infos = env.reset(seed=seed)
        while env.agents:
            observations, *_, infos = env.step({a: int(np.flatnonzero(infos[a]["action_mask"])[0]) for a in env.agents})
    rec.close()
    got = hop.audit(tmp_path / "run.npz")
    assert got.findings and "hop audit" in got._repr_html_()
    got["findings"][0].update(status="fail", says="<b>wrong</b>")
    assert "&lt;b&gt;wrong" in got._repr_html_() and "#c33" in got._repr_html_()


def test_boards_and_decisions_are_pictures():
    pytest.importorskip("pettingzoo")
    env = hop.parallel_env("staghunt", render_mode="rgb_array")
    assert "<code>" in env._repr_html_()
    env.reset(seed=1)
    assert re.match(r'<img src="data:image/png;base64,iVBOR', env._repr_html_())
    planner = hop.bot("plan-infer")
    planner.act(env, 0)
    shown = planner.look(env, 0)._repr_html_()
    assert "co-player" in shown and "agent_3" in shown and "visits" in shown


def test_bang_in_a_cell_prints_plain_lines(tmp_path):
    """IPython's ! gives commands a terminal, which a notebook does not have."""
    pty = pytest.importorskip("pty")
    args = [binary(), "train", "ppo-4x4", "--out", str(tmp_path), "--steps", "500"]
    args += [w for k, v in SHORT.items() for w in ("--set", f"{k}={v}")]
    said = {}
    for notebook in (True, False):
        env = {k: v for k, v in os.environ.items() if k != "JPY_PARENT_PID"}
        host, guest = pty.openpty()
        env |= {"TERM": "xterm-color", **({"JPY_PARENT_PID": "1"} if notebook else {})}
        process = subprocess.Popen(args, stdin=guest, stdout=guest, stderr=guest, env=env)
        os.close(guest)
        text = b""
        while True:
            try:
                more = os.read(host, 4096)
            except OSError:
                break
            if not more:
                break
            text += more
        assert process.wait() == 0
        said[notebook] = text
    assert b"\x1b" in said[False] and b"\x1b" not in said[True] and b"training ppo-4x4, 1 seed" in said[True]


@pytest.mark.parametrize("name", sorted(p.stem for p in NOTEBOOKS.glob("*.ipynb")))
def test_the_notebooks_run(name, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for library in ("ipykernel", "pandas", "matplotlib", "pettingzoo"):
        pytest.importorskip(library)
    book = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)
    kept = [c for c in book.cells if c.cell_type == "code"]
    assert all(c.outputs or c.source.endswith(";") for c in kept) and all(c.execution_count for c in kept), "keep it executed"
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    wrong = [o for c in book.cells for o in c.get("outputs", []) if o.output_type == "error"]
    assert not wrong, wrong
