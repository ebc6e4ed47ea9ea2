"""Policies in Python and ONNX files as co-players and as agents."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import types
import urllib.request

import numpy as np
import pytest
from hop_marl import HopError, player
from hop_marl._binary import binary
from test_train_env import POSIX, environment, hop, same

HERE = pathlib.Path(__file__).parent
SHORT = ["--lives", "2", "--steps", "120", "--last", "60"]


def gone(file):
    """Whether the process of a policy, which wrote its number into a file, has ended."""
    pid = int(file.read_text())
    until = time.time() + 3
    while time.time() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_a_policy_is_told_what_it_needs():
    """Observations, masks, seats, steps, rewards, returns; a memory for each life and seat."""
    team = json.loads(hop("eval", "--team", "py:policies:Checks", "--episodes", "60", "--json"))
    assert team["team"] == ["py:policies:Checks"] * 4 and 0.4 < team["mean"] < 0.9
    row = json.loads(hop("adapt", "nh", "--vs", "py:policies:settles", *SHORT, "--json"))
    assert row["in_distribution"] is False and row["vs"] == ["py:policies:settles"] * 3


def test_the_same_seeds_give_the_same_numbers():
    """Whatever the number of workers; what a policy prints is not the result."""
    args = ["adapt", "nh", "--vs", "py:policies:uniform,py:policies:first,ns", *SHORT, "--json"]
    rows = [json.loads(hop(*args, "--workers", str(w))) for w in (1, 2, 2)]
    assert rows[0] == rows[1] == rows[2]
    row = rows[0]
    assert row["vs"] == ["py:policies:uniform", "py:policies:first", "ns"]
    assert {p["name"]: p["known"] for p in row["co_players"]} == {
        "py:policies:uniform": "stranger",
        "py:policies:first": "stranger",
        "ns": "stranger",
    }
    assert row["best_response_by"].startswith("by ")


def test_a_policy_in_cross_play(tmp_path):
    args = ["crossplay", "py:policies:uniform", "nh", "--episodes", "20", "--out", tmp_path, "--json"]
    cells = json.loads(hop(*args))["cells"]
    assert len(cells) == 4 and all(0 < c["own"]["mean"] < 2 for c in cells)


def test_a_policy_in_a_play():
    said = hop("play", "--team", "ns,ns,ns,py:policies:Checks", "--plain", "--episodes", "2")
    assert "py:policies:Checks" in said


FAULTS = {
    "raises": ["it raised ValueError: boom", "policies.py", 'raise ValueError("boom")'],
    "hangs": ["it has not answered for 1s, and was ended", "time.sleep(0.01)  # here it is"],
    "illegal": ["it answered ", ", which is not legal here; want one of ", "(stay)"],
    "beyond": ["it answered 1000000000000000000000000000000, want a whole number from 0 to 6"],
    "nan": ["it answered nan of type float, want a whole number from 0 to 6"],
    "word": ["it answered 'up' of type str, want a whole number from 0 to 6"],
    "truth": ["it answered True, want a whole number from 0 to 6"],
    "nothing": ["it answered None of type NoneType, want a whole number from 0 to 6"],
    "dies": ["is gone: exit status 3"],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_error(fault, tmp_path):
    """It names the policy, the life, the episode and the step; nothing is written or left running."""
    pid, out = tmp_path / "pid", tmp_path / "lives"
    args = ["adapt", "nh", "--vs", f"py:policies:{fault},ns,nh", *SHORT, "--out", out]
    done = subprocess.run(
        [binary(), *map(str, args)],
        cwd=HERE,
        env={**environment(), "POLICY_PID": str(pid)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and done.stdout == "", done.stdout + done.stderr
    place = rf"py:policies:{fault}, life [01], episode 1, step 2: "
    assert len(re.findall(place, done.stderr)) == 1, done.stderr
    for words in FAULTS[fault]:
        assert words in done.stderr
    assert "hop/player.py" not in done.stderr and "hop/_wire.py" not in done.stderr
    assert gone(pid) and not out.exists()


@pytest.mark.parametrize("words", [["eval", "--team"], ["play", "--plain", "--episodes", "5", "--team"]])
def test_a_fault_elsewhere(words):
    said = hop(*words, "py:policies:Forgets", fails=True)
    assert re.search("py:policies:Forgets,( life [0-9]+,)? episode 1, step 0", said) and "it raised KeyError: 'episode'" in said


WRONG = {
    "py:policies:nobody": "policies has no nobody; it has Checks",
    "py:nowhere:act": "there is no Python module nowhere",
    "py:policies": "'policies' names no policy; want MODULE:FUNCTION",
    "py:policies:number": "policies:number is a int, want a function (observation, mask, info)",
    "py:policies:two": "policies:two takes (observation, mask); want a function",
    "py:policies:broken": "making a player raised OSError: no weights",
    "py:policies:makes_a_number": "it made a int; want",
    "py:policies:untimely": "its time_limit is 0, want seconds",
    "none.onnx": "there is no such file",
    "policies.onnx": "it is no network that onnxruntime can run",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_name_is_wrong_usage(name, tmp_path):
    """It is said before anything is played, once, and with exit code 2."""
    for file in ("policies.py", "policies.onnx"):
        (tmp_path / file).write_text((HERE / "policies.py").read_text())
    if "runtime" in WRONG[name]:
        pytest.importorskip("onnxruntime")
    for words in (["adapt", "nh", *SHORT, "--vs"], ["eval", "--team"], ["strangers", "score"]):
        pid = tmp_path / "pid"
        done = subprocess.run(
            [binary(), *words, name],
            cwd=tmp_path,
            env={**environment(), "POLICY_PID": str(pid)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 2 and WRONG[name] in done.stderr, done.stderr
        assert not pid.exists() or gone(pid)


def test_no_python_package(tmp_path):
    """What to install is said."""
    said = hop("eval", "--team", "py:a:b", fails=True, cwd=tmp_path, PYTHONPATH="", HOP_PYTHON=sys.executable)
    if "no Python module a" in said:
        pytest.skip("the package is installed")
    assert "pip install hop-marl" in said and "HOP_PYTHON" in said and "game.python" not in said


@POSIX
@pytest.mark.parametrize("words", [["eval", "--team"], ["adapt", "nh", "--vs"]])
def test_ctrl_c_leaves_nothing_running(words, tmp_path):
    """However long the policy would take for what it has been asked."""
    pid = tmp_path / "pid"
    going = subprocess.Popen(
        [binary(), *words, "py:policies:slow"],
        cwd=HERE,
        env={**environment(), "POLICY_PID": str(pid)},
        stderr=subprocess.PIPE,
    )
    until = time.time() + 20
    while not pid.exists() and time.time() < until:
        time.sleep(0.05)
    time.sleep(0.3)
    going.send_signal(signal.SIGINT)
    assert going.wait(4) == 1
    assert gone(pid)


SCORE = ["--some", "3", *SHORT, "--starts", "4", "--json"]


def test_a_policy_among_strangers_has_a_row_as_others_have():
    """A Python function, beside a bandit and the bot that it acts like."""
    table = json.loads(hop("strangers", "score", "py:policies:uniform", "bandit", "random", *SCORE))
    mine, bandit, _ = table["strangers_by_agent"]
    assert mine["agent"] == "py:policies:uniform" and mine["n"] == 3 and len(mine["rows"]) == 3
    assert set(mine) == set(bandit) and set(mine["rows"][0]) == set(bandit["rows"][0])
    met = [sorted(r["name"] for r in s["rows"]) for s in (mine, bandit)]
    assert met[0] == met[1] and len(met[0]) == 3


def exported(folder, preset="ppo-4x4", *sets):
    """Trains for a moment; returns the run's folder and the file of its first agent."""
    sets = ["train.envs=8", "train.window=16", "train.steps=256", "eval.episodes=4", *sets]
    hop("train", preset, "--out", folder, *[x for s in sets for x in ("--set", s)], cwd=folder)
    run = next(folder.glob("*-001"))
    hop("export", run, "--onnx", "--out", folder / "nets", cwd=folder)
    return run, folder / "nets" / "agent-0.onnx"


@pytest.mark.parametrize("preset", ["ppo-4x4", "ppo-lstm-4x4"])
def test_an_onnx_file_plays_as_its_agent(preset, tmp_path):
    """The network that a run exports earns what the run's agent earns, among the same bots."""
    pytest.importorskip("onnxruntime")
    run, net = exported(tmp_path, preset)
    few = ["--lives", "20", "--steps", "900", "--last", "600", "--seeds", "1", "--json"]
    one = json.loads(hop("adapt", run, "--vs", "ns,nh,random", *few, "--learn", "nothing", cwd=tmp_path))
    other = json.loads(hop("adapt", net, "--vs", "ns,nh,random", *few, cwd=tmp_path))
    assert abs(one["score"] - other["score"]) < 0.15, (one["score"], other["score"])
    assert abs(one["score"] - one["random"]) < 3  # it has a score at all
    if preset == "ppo-4x4":  # which remembers nothing: the other has said that it can
        table = json.loads(hop("strangers", "score", net, *SCORE, cwd=tmp_path))
        assert table["strangers"]["n"] == 3


def test_an_onnx_file_that_does_not_fit(tmp_path, plus):
    """Another board, a planner's network, and no onnxruntime: each a sentence."""
    pytest.importorskip("onnxruntime")
    _, net = exported(tmp_path)
    said = hop("eval", "--team", net, "--set", "game.size=6", fails=True)
    assert "it reads observations of" in said and "--set" in said
    hop("export", plus, "--onnx", "--out", tmp_path / "plus")
    said = hop(
        "eval", "--team", tmp_path / "plus" / "agent-0.onnx", "--set", "game.size=5", "--set", "game.blocks=3", fails=True
    )
    assert "it also reads goals, which nobody gives it" in said
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('left out')")
    said = hop("eval", "--team", net, fails=True, cwd=tmp_path)
    assert "needs onnxruntime" in said and "pip install onnxruntime" in said


TEAM = ["--set", "train.team=[learn, learn, ns, py:policies:uniform]", "--set", "train.envs=8"]
TEAM += ["--set", "train.window=16", "--set", "train.save=256", "--set", "eval.episodes=4"]


def test_a_replay_in_the_browser_has_the_policy_in_it(tmp_path):
    """A run among a policy is replayed with it, because its user trained it; an address names none."""
    hop("train", "ppo-4x4", *TEAM, "--steps", "256", "--out", tmp_path / "runs")
    server = subprocess.Popen(
        [binary(), "serve", str(tmp_path / "runs"), "--addr", "127.0.0.1:0"], cwd=HERE, env=environment(), stderr=subprocess.PIPE, text=True
    )
    try:
        while "token=" not in (said := server.stderr.readline()):
            assert said, "hop serve has ended"
        root, token = re.search(r"(http://\S+?/)\?token=(\S+)", said).groups()

        def replay(query):
            ask = urllib.request.Request(f"{root}api/theatre/stream?{query}", headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(ask, timeout=60) as got:
                return got.read().decode()

        played = replay("run=0:ppo-4x4-001&seed=3")
        assert "py:policies:uniform" in played and "event: end" in played
        assert "event: end" not in replay("game=staghunt&team=py:policies:uniform,ns,ns,ns&seed=3")
    finally:
        server.terminate()
        server.wait(timeout=30)


def test_training_among_a_policy(tmp_path):
    """The same bytes for any workers, and after a stop; one with a memory is refused first."""

    def train(name, *args):
        said = hop("train", "ppo-4x4", *TEAM, "--out", tmp_path / name, "--json", *args)
        return pathlib.Path(json.loads(said)["run"]) / "seed-1"

    whole = train("whole", "--steps", "1024", "--workers", "1")
    same(whole, train("two", "--steps", "1024", "--workers", "2"))
    part = train("part", "--steps", "512")
    hop("train", "--resume", part.parent, "--steps", "1024")
    same(whole, part)
    row = json.loads(hop("adapt", part.parent, "--vs", "py:policies:uniform", *SHORT, "--json"))
    assert row["co_players"] == [{"name": "py:policies:uniform", "known": "met in training", "where": "its team"}]
    said = hop("adapt", part.parent, "--vs", "py:policies:raises", *SHORT, "--learn", "all", fails=True)
    assert re.search("life [01]: py:policies:raises, episode 1, step 2: it raised ValueError", said), said
    team = [x.replace("uniform", "Checks") for x in TEAM]
    said = hop("train", "ppo-4x4", *team, "--out", tmp_path / "none", fails=True)
    assert "keeps a memory that a checkpoint cannot hold" in said and not (tmp_path / "none").exists()


class Session:
    """A network in onnxruntime's place: what it reads and gives, and what it answers."""

    reads, gives, answer = [("obs", ["batch", 3])], ["probs"], [[0.2, 0.3, 0.5]]

    def __init__(self, *args, **kwargs):
        port = types.SimpleNamespace
        self.ins = [port(name=name, shape=shape) for name, shape in self.reads]
        self.outs = [port(name=name) for name in self.gives]

    def get_inputs(self):
        return self.ins

    def get_outputs(self):
        return self.outs

    def run(self, names, feeds):
        self.fed = feeds
        if self.answer is None:
            raise RuntimeError("out of memory")
        return [np.array(self.answer, np.float32)] + [feeds[n.removesuffix("_next")] + 1 for n in names[1:]]


def network(monkeypatch, **about):
    """A policy of such a network, in a game with 3 numbers and 3 actions."""
    made = type("Made", (Session,), about)
    stub = types.SimpleNamespace(InferenceSession=made, SessionOptions=types.SimpleNamespace)
    monkeypatch.setitem(sys.modules, "onnxruntime", stub)
    return player.Network("net.onnx", 3, 3)


def block(copies):
    """Memory of some copies, in which everything is legal but action 1."""
    shapes = {"obs": (3,), "mask": (3,)}
    kinds = {"obs": "f4", "reward": "f4", "earned": "f8", "seed": "i8", "calls": "i8", "op": "u1", "mask": "u1"}
    names = ["op", "mask", "obs", "reward", "earned", "seed", "seat", "episode", "step", "action", "at", "calls"]
    b = player.Block({n: np.zeros((copies, *shapes.get(n, ())), kinds.get(n, "i4")) for n in names})
    b.mask[:, [0, 2]] = 1
    return b


@pytest.mark.parametrize(
    "about, want",
    [
        ({"reads": [("x", [1, 3])]}, "it reads x and gives probs; want obs"),
        ({"gives": ["q"]}, "it reads obs and gives q; want obs"),
        ({"reads": [("obs", [1, 4])]}, "it reads observations of 4 numbers, those of this game have 3"),
        ({"reads": [("obs", [1, 3]), ("goals", [1, 2])]}, "it also reads goals, which nobody gives it"),
    ],
)
def test_a_network_that_cannot_play_is_refused(monkeypatch, about, want):
    with pytest.raises(HopError, match=want):
        network(monkeypatch, **about)


@pytest.mark.parametrize(
    "answer, want",
    [
        ([[np.nan, 0, 1]], "it gave .*nan.*, want numbers that are finite"),
        ([[0, 1, 0]], "which leaves no legal action"),
        ([[1, 0]], r"it gave probs of shape \[1, 2\], want \[1, 3\]"),
        (None, "onnxruntime raised RuntimeError: out of memory"),
    ],
)
def test_what_a_network_gives_is_looked_at(monkeypatch, answer, want):
    with pytest.raises(HopError, match=want):
        network(monkeypatch, answer=answer).decide(block(1), [0], [True])


@pytest.mark.parametrize("gives", ["probs", "logits"])
def test_actions_of_a_network_are_drawn_among_the_legal(monkeypatch, gives):
    """By the seed, as often as it says, and never an illegal one."""
    row = [0.25, 9.0, 0.75] if gives == "probs" else [np.log(0.25), 9.0, np.log(0.75)]
    many = 4000
    net, b = network(monkeypatch, gives=[gives], answer=[row] * many), block(many)
    b.seed[:] = np.random.default_rng(1).integers(0, 2**63, many)
    net.decide(b, list(range(many)), [True] * many)
    assert set(b.action) == {0, 2} and abs((b.action == 2).mean() - 0.75) < 0.03
    for seed, want in ((0, 0), (2**63 - 1, 2)):
        assert player.draw(np.array([0.5, 0.0, 0.5]), np.array([True, False, True]), False, seed) == want


def test_a_network_carries_its_state_through_an_episode(monkeypatch):
    reads = [("obs", [1, 3]), ("legal", [1, 3]), ("h", ["batch", 2])]
    net, b = network(monkeypatch, reads=reads, gives=["probs", "h_next"], answer=[[1, 0, 0]]), block(2)
    assert net.remembers
    for begin, want in ((True, 0), (False, 1), (False, 2), (True, 0)):
        net.decide(b, [1], [begin])
        assert (net.net.fed["h"] == want).all() and net.net.fed["legal"].tolist() == [[1, 0, 1]]
    assert (b.state["h"][0] == 0).all()  # another copy's
    b.forget()
    net.decide(b, [1], [False])
    assert (net.net.fed["h"] == 0).all()
