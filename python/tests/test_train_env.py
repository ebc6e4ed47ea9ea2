"""hop on environments in Python: every mind that can, the same bytes, resuming, faults, ends."""

import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from hop_marl._binary import binary

HERE = pathlib.Path(__file__).parent
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals are of Unix")
SMALL = [
    "--set=train.envs=6",
    "--set=train.window=14",
    "--set=train.save=300",
    "--set=eval.episodes=4",
    "--set=game.workers=2",
]


def environment():
    """The environment variables of hop: workers are of this Python, and find this package."""
    import hop_marl as hop

    paths = [str(pathlib.Path(hop.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "HOP_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(paths)}


def hop(*args, fails=False, cwd=HERE, **env):
    """Runs hop where the test's environments can be imported; returns what it said."""
    got = subprocess.run(
        [binary(), *map(str, args)],
        cwd=cwd,
        env={**environment(), **env},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (got.returncode != 0) == fails, got.stdout + got.stderr
    return got.stderr if fails else got.stdout


def train(out, *args, env="odd:line", preset="ppo", steps=700, **more):
    """Trains shortly; returns the run's folder."""
    said = hop(
        "train",
        preset,
        "--env",
        env,
        *SMALL,
        "--steps",
        steps,
        "--out",
        out,
        *args,
        "--json",
        **more,
    )
    return pathlib.Path(json.loads(said)["run"]) / "seed-1"


def same(a, b):
    """The files of two runs that must be equal to the byte."""
    for pattern in ("metrics.csv", "checkpoints/*.safetensors"):
        x, y = sorted(a.glob(pattern)), sorted(b.glob(pattern))
        assert x and [p.name for p in x] == [p.name for p in y]
        for p, q in zip(x, y):
            sums = [hashlib.sha256(f.read_bytes()).hexdigest() for f in (p, q)]
            assert sums[0] == sums[1], f"{p} and {q} differ"


def workers():
    """The processes of workers on this machine, by their number."""
    found = set()
    for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"hop_marl.worker" in line.read_bytes():
                found.add(int(line.parent.name))
        except OSError:
            pass
    return found


def left(before, patience=3.0):
    """Workers of a hop that has ended which are still there after a while."""
    until = time.time() + patience
    while time.time() < until and children(before):
        time.sleep(0.05)
    return children(before)


def children(pid):
    """Workers whose parent is that process, or that have lost theirs."""
    found = []
    for w in workers():
        try:
            stat = pathlib.Path(f"/proc/{w}/stat").read_text()
        except OSError:
            continue
        if int(stat.rsplit(")", 1)[1].split()[1]) == pid:
            found.append(w)
    return found


def test_no_number_depends_on_the_workers(tmp_path):
    """One process or three, one core or two: the same bytes."""
    one = train(tmp_path / "one", "--set=game.workers=1", "--workers=1")
    three = train(tmp_path / "three", "--set=game.workers=3", "--workers=2")
    same(one, three)
    beside = train(tmp_path / "beside", "--seeds=1-2")  # both seeds share the workers
    same(one, beside)
    env = json.loads((one / "env.json").read_text())
    assert env["packages"]["odd"].startswith("sha256 ") and "python" in env["packages"]


@POSIX
@pytest.mark.parametrize("env", ["odd:leaves", "odd:aim"])
def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(tmp_path, env):
    """Ctrl-C saves, leaves no process behind, and the resumed run ends like the whole one."""
    whole = train(tmp_path / "whole", env=env, steps=1500)
    args = [binary(), "train", "ppo", "--env", env, *SMALL, "--steps", "1500"]
    for how in (signal.SIGINT, signal.SIGKILL):
        out = tmp_path / how.name
        p = subprocess.Popen(
            [*args, "--out", str(out)],
            cwd=HERE,
            env=environment(),
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        run = out / "ppo-env-001"
        until = time.time() + 60
        while time.time() < until and not list(run.glob("seed-1/checkpoints/*.safetensors")):
            time.sleep(0.01)
        p.send_signal(how)
        said = p.communicate(timeout=60)[1].decode()
        assert p.returncode == (1 if how == signal.SIGINT else -signal.SIGKILL), said
        assert "--resume" in said or how == signal.SIGKILL
        assert not left(p.pid)
        hop("train", "--resume", run)
        same(whole, run / "seed-1")


def test_another_version_of_the_environment_is_said(tmp_path):
    """A run that goes on with other code says so; one that plays otherwise is refused."""
    code = tmp_path / "code"
    code.mkdir()
    plain = (HERE / "odd.py").read_text()
    (code / "mine.py").write_text(plain)
    paths = {"cwd": code}
    said = hop(
        *[
            "train",
            "ppo",
            "--env",
            "mine:line",
            *SMALL,
            "--steps",
            300,
            "--out",
            tmp_path,
            "--json",
        ],
        **paths,
    )
    run = json.loads(said)["run"]
    (code / "mine.py").write_text(plain + "\n# another version\n")
    got = subprocess.run(
        [binary(), "train", "--resume", run, "--steps", "600"],
        cwd=code,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert got.returncode == 0, got.stderr
    assert "another environment than it began with: mine was sha256" in got.stderr
    (code / "mine.py").write_text(plain.replace("self.draw.integers(9)", "self.draw.integers(8)"))
    said = hop("train", "--resume", run, "--steps", 900, fails=True, **paths)
    assert "played again, comes to another position" in said


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("raises", ["raised KeyError: 'the treasure'", "step 5", "odd.py"]),
        ("dies", ["is gone: exit status 3", "was lost in step 5 of env", "seed"]),
        ("exits", ["raised SystemExit: 4"]),
        ("nan", ["agent walker_1", "NaN", "step 5"]),
        ("infinite", ["agent walker_0", "+Inf", "step 5"]),
        ("shape", ["agent walker_0", "shape (3,)"]),
        ("mask", ["agent walker_0", "action_mask is all 0"]),
        ("stranger", ["walker_7"]),
        ("outside", ["agent walker_1", "step 5", "holds 7.0 at [0], its space has -1", "--lenient"]),
        ("array", ["agent walker_0", "step 5", "array([1.])", "shape (1,)", "--lenient"]),
        ("unknown", ["rewards has walker_9", "step 5"]),
    ],
)
def test_what_goes_wrong_in_python_is_said(tmp_path, fault, words):
    """In a sentence that names the environment, the agent and the step; no stack of Go's."""
    kwargs = json.dumps({"fault": fault})
    said = hop(
        *["train", "ppo", "--env", "odd:odd", "--set", f"game.kwargs={kwargs}", *SMALL],
        *["--steps", 2000, "--out", tmp_path],
        fails=True,
    )
    for word in [*words, "env step"]:
        assert word in said, said
    assert "goroutine" not in said and len(said) < 4000
    log = (tmp_path / "ppo-env-001" / "seed-1" / "log.txt").read_text()
    assert "failed at env step" in log


@pytest.mark.parametrize("fault", ["outside", "array", "unknown"])
def test_lenient_clips_and_counts(tmp_path, fault):
    """What is refused by default is put up with, and said once at the end."""
    args = ["train", "ppo", "--env", "odd:odd", "--lenient", "--set", f'game.kwargs={{"fault": "{fault}"}}', *SMALL]
    done = subprocess.run([binary(), *args, "--steps", "900", "--out", str(tmp_path)], cwd=HERE, env=environment(),
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and re.search(r"note: [1-9]\d* observations, rewards or agents were outside", done.stderr), done.stderr


def test_large_rewards_are_remarked_on(tmp_path):
    """Once, with a scale that suits."""
    done = subprocess.run(
        [binary(), "train", "ppo", "--env", "odd:rich", *SMALL, "--steps", "900", "--out", str(tmp_path)],
        cwd=HERE, env=environment(), capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0 and done.stderr.count("large rewards") == 1, done.stderr
    assert "a reward is 1e+06" in done.stderr and "ppo.reward_scale be about" in done.stderr


def test_what_an_environment_prints_breaks_nothing(tmp_path):
    """Not even what it writes to the file descriptor that the pipe was on."""
    train(tmp_path, "--set", 'game.kwargs={"fault": "prints"}', env="odd:odd", steps=600)


@POSIX
def test_a_worker_that_is_killed_is_said(tmp_path):
    """Within seconds, with the others gone too."""
    p = subprocess.Popen(
        [binary(), "train", "ppo", "--env", "odd:line", *SMALL, "--steps=9000000"]
        + ["--out", str(tmp_path)],
        cwd=HERE,
        env=environment(),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    until = time.time() + 60
    while time.time() < until and not list(tmp_path.glob("*/seed-1/checkpoints/*.safetensors")):
        time.sleep(0.02)
    mine = children(p.pid)
    assert len(mine) == 2
    os.kill(mine[1], signal.SIGKILL)
    said = p.communicate(timeout=5)[1].decode()
    assert p.returncode == 1 and "is gone: signal: killed" in said, said
    at = rf"worker [12] \(pid {mine[1]}\) was lost (?:in|after) (step \d+ of env \d, whose episode has|the reset of env \d with) seed \d+"
    assert re.search(at, said), said
    assert not left(p.pid) and not any(w in workers() for w in mine)


@POSIX
def test_an_environment_that_hangs_can_be_left(tmp_path):
    """A second Ctrl-C ends the program at once, and the worker that hangs with it."""
    p = subprocess.Popen(
        [binary(), "train", "ppo", "--env", "odd:odd", '--set=game.kwargs={"fault": "hangs"}']
        + [*SMALL, "--steps=9000", "--out", str(tmp_path)],
        cwd=HERE,
        env=environment(),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    until = time.time() + 60
    while len(children(p.pid)) < 2 and time.time() < until:
        time.sleep(0.05)
    time.sleep(4)
    mine = children(p.pid)
    assert p.poll() is None and len(mine) == 2
    p.send_signal(signal.SIGINT)
    time.sleep(1.3)
    p.send_signal(signal.SIGINT)
    assert p.wait(5) == 130
    said = p.stderr.read().decode()
    at = r"worker ([12]) \(pid (\d+)\) has not answered for \d+s in step 5 of env \d, whose episode has seed \d+; a second signal"
    assert {int(pid) for _, pid in re.findall(at, said)} == {*mine}, said
    until = time.time() + 3
    while time.time() < until and any(w in workers() for w in mine):
        time.sleep(0.05)
    assert not any(w in workers() for w in mine)


@POSIX
def test_a_signal_that_is_sent_twice_saves(tmp_path):
    """As GNU timeout does: to the program, and then to its group."""
    p = subprocess.Popen(
        [binary(), "train", "ppo", "--env", "odd:line", *SMALL, "--steps=9000000"] + ["--out", str(tmp_path)],
        cwd=HERE, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )
    until = time.time() + 60
    while time.time() < until and not list(tmp_path.glob("*/seed-1/checkpoints/*.safetensors")):
        time.sleep(0.02)
    p.send_signal(signal.SIGTERM)
    time.sleep(0.002)
    p.send_signal(signal.SIGTERM)
    said = p.communicate(timeout=20)[1].decode()
    assert p.returncode == 1 and "hop train --resume" in said and "ended at once" not in said, said


def test_agents_that_are_absent_are_not_zero(tmp_path):
    """Returns are means over the episodes that an agent was in: in metrics, scores and eval."""
    run = train(tmp_path, env="odd:some", steps=900)
    rows = [line.split(",") for line in (run / "metrics.csv").read_text().splitlines()]
    for name, many in (("return", {"0": 12.0, "1": 12.0}), ("return/mean", {"": 12.0})):
        got = {(r[2], float(r[3])) for r in rows if r[1] == name}
        assert got == {*many.items()}, (name, got)
    n = {a: sum(int(r[4]) for r in rows if r[1] == "return" and r[2] == a) for a in "01"}
    assert 0 < n["1"] < n["0"]
    assert json.loads((run / "result.json").read_text())["agents"] == [12.0, 12.0]
    seats = json.loads(hop("eval", "--env", "odd:some", "--team", "random", "--episodes", 20, "--json"))["seats"]
    assert [s["mean"] for s in seats] == [12.0, 12.0]


def test_environments_that_cannot_be_replayed_are_refused(tmp_path):
    """Before there is a folder; or they are trained, and not resumed."""
    for env in ("odd:unseeded", "odd:remembers"):
        said = hop(
            *["train", "ppo", "--env", env, *SMALL, "--out", tmp_path / "no", "--steps=300"],
            fails=True,
        )
        assert "cannot be played again from a seed" in said and "game.replay=false" in said
        assert not (tmp_path / "no").exists()
    run = train(tmp_path, "--set=game.replay=false", env="odd:unseeded", steps=300)
    said = hop("train", "--resume", run.parent, "--steps=600", fails=True)
    assert "cannot go on" in said and "game.replay is false" in said


def test_what_cannot_be_is_refused_before_anything_is_made(tmp_path):
    """By a sentence that says what to do."""
    for args, words in [
        (["--env", "odd:nowhere"], ["has no nowhere"]),
        (["--env", "odd:line", "--set=game.python=/nowhere/python"], ["/nowhere/python"]),
        (["--env", "odd:line", "--set=game.kwargs=[1]"], ["game.kwargs", "JSON object"]),
        (["--env", "odd:line", "--set=actor.net=conv"], ["has no board"]),
        (["--env", "odd:line", "--set=imagine.on=true"], ["imagine.on", "board"]),
        (["--env", "odd:line", "--set=train.team=[learn, ns]"], ["there is no ns"]),
        (["--set=game.name=python"], ["game.env", "MODULE:FUNCTION"]),
    ]:
        said = hop("train", "ppo", *args, "--out", tmp_path / "no", fails=True)
        for word in words:
            assert word in said, said
        assert not (tmp_path / "no").exists()
    said = hop("train", "hop-4x4", "--env", "odd:line", "--out", tmp_path / "no", fails=True)
    assert "search.dynamics is rules, want vectors" in said
    said = hop("eval", "--env", "odd:line", "--team", "plan-infer,random", fails=True)
    assert "no rules to search on" in said
    said = hop("eval", "--env", "odd:line", "--team", "br,random", fails=True)
    assert "no exact best responses are known" in said


def test_messages_use_the_users_words(tmp_path):
    """--env as it was typed; hop_layout where a board is missing; no advice that cannot be followed."""
    said = hop("train", "ppo", "--env", "odd:nowhere", "--out", tmp_path, fails=True)
    assert said.startswith("hop: --env odd:nowhere: odd has no nowhere") and "game.env" not in said
    said = hop("train", "hop+types", "--env", "odd:line", "--out", tmp_path, fails=True)
    assert "hop_layout" in said and "train hop+," in said, said
    fields = {f["path"]: f for f in json.loads(hop("list", "fields", "--env", "odd:line", "--json"))["fields"]}
    assert fields["game.env"]["default"] == "odd:line" and "game.size" not in fields
    said = hop("audit", "ppo", "--env", "odd:line", "--out", tmp_path, "--seeds", "1")
    assert "PASS" in said and "hop ladder" not in said
    run = train(tmp_path, steps=300)
    said = hop("adapt", run, "--vs", "random", "--steps", 60, "--last", 30, "--lives", 1)
    assert "not known" in said and "by random" not in said


def test_an_interpreter_without_the_package_is_said(tmp_path):
    """What to install, and where."""
    said = hop(
        *["eval", "--env", "odd:line", "--team", "random"],
        fails=True,
        PYTHONPATH="",
        HOP_PYTHON=write_python(tmp_path),
    )
    assert "does not have hop's Python package" in said and "pip install hop-marl" in said


def write_python(folder):
    """A Python that finds no installed packages."""
    if os.name != "posix":
        pytest.skip("needs a shell script")
    path = folder / "python"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "sets",
    [
        ["--set=actor.lstm=8"],
        ["--set=mind=lola"],
        ["--set=mind=influence"],
        ["--set=train.brains=[0, 0]"],
        ["--set=train.team=[learn, random]"],
        ["--set=train.standins.who=[past]", "--set=train.standins.share=0.3"],
    ],
)
def test_minds_that_need_no_board(tmp_path, sets):
    """Everything that learns from vectors does so in Python's environments."""
    run = train(tmp_path, *sets, steps=500)
    assert json.loads((run / "result.json").read_text())["env_steps"] >= 500


def test_learning_is_above_random(tmp_path):
    """PPO walks to the right: 4 cells on average, and 8 at most; random play gets 0."""
    run = train(tmp_path, "--set=eval.episodes=100", "--set=train.window=26", steps=6000)
    scored = json.loads(hop("eval", "--env=odd:line", "--team=random", "--episodes=100", "--json"))
    assert abs(scored["mean"]) < 0.5
    assert json.loads((run / "result.json").read_text())["mean"] > 3


def test_hop_plus_plans_on_a_world_of_vectors(tmp_path):
    """It learns how the environment goes on, and looking ahead beats its own network; for any workers, the same."""
    sets = ["--set=eval.episodes=30", "--set=train.window=26", "--set=vectors.hidden=[32]"]
    run = train(tmp_path / "one", *sets, "--workers=1", preset="hop+", steps=500)
    same(run, train(tmp_path / "two", *sets, "--workers=2", preset="hop+", steps=500))
    last = {}
    for row in (run / "metrics.csv").read_text().splitlines()[1:]:
        last[row.split(",")[1]] = float(row.split(",")[3])
    assert min(last["vectors/next"], last["vectors/reward"]) > 0.7, last
    alone = train(tmp_path / "alone", *sets, "--set=search.kind=none", preset="hop+", steps=500)
    means = [json.loads((r / "result.json").read_text())["mean"] for r in (run, alone)]
    assert means[0] > means[1] + 0.5, means
    assert "pictures" in hop("train", "hop+", "--env", "odd:eye", "--out", tmp_path, fails=True)
    assert "Box" in hop("train", "hop+", "--env", "odd:aim", "--out", tmp_path, fails=True)


AIM = ["--set=train.envs=16", "--set=train.window=32", "--set=ppo.entropy=0", "--set=ppo.entropy_end=-1"]


def test_vectors_are_learnt(tmp_path):
    """A Gaussian policy hits: a random one earns about -13 and -4 an episode, and a sure one 0."""
    run = train(tmp_path, *AIM, env="odd:aim", steps=16_000)
    scores = json.loads((run / "result.json").read_text())
    assert scores["greedy_mean"] > -1, scores
    random = json.loads(hop("eval", "--env", "odd:aim", "--team", "random", "--episodes", 100, "--json"))
    assert random["mean"] < -5, random


def test_pictures_are_learnt(tmp_path):
    """Convolutions are chosen, and see which half of a picture is bright: 5 an episode; by chance 2.5."""
    run = train(tmp_path, "--set=train.envs=8", "--set=train.window=32", "--set=ppo.epochs=4", env="odd:eye", steps=1500)
    assert "net: picture" in (run / "spec.yaml").read_text()
    assert json.loads((run / "result.json").read_text())["greedy_mean"] > 4.5
    large = ["--set", 'game.kwargs={"size": 84, "vectors": true}', "--set=train.window=4", "--set=ppo.epochs=1"]
    run = train(tmp_path / "large", *large, env="odd:eye", steps=24)
    from safetensors.numpy import load_file

    weights = load_file(max(run.glob("checkpoints/*.safetensors")))
    assert any(w.shape == (8 * 8 * 3, 32) for w in weights.values()) and any(k.endswith("logstd") for k in weights)


def test_what_knows_no_vectors_says_so(tmp_path):
    for args in (
        ["audit", "ppo", "--env", "odd:aim"],
        ["train", "ppo", "--env", "odd:aim", "--set", "mind=influence", "--out", tmp_path],
        ["collect", "--env", "odd:aim", "--mix", "random,random", "--rows", 10, "--out", tmp_path / "rows"],
    ):
        assert "vectors (Box)" in hop(*args, fails=True), args


def test_a_declared_board(tmp_path):
    """hop_layout makes a board of it: frames around oneself, imagination, dealt seats."""
    pytest.importorskip("pettingzoo")
    run = train(tmp_path / "a", "--set=actor.frame=egof", env="hunt:make", steps=600)
    spec = (run / "spec.yaml").read_text()
    assert "frame: egof" in spec
    train(
        tmp_path / "b",
        *["--set=imagine.on=true", "--set=imagine.trust=0", "--set=imagine.steps=2"],
        *["--set=imagine.batch=32", "--set=imagine.refresh=1"],
        env="hunt:make",
        steps=600,
    )
    train(
        tmp_path / "c",
        "--set=actor.net=conv",
        "--set=actor.frame=board",
        env="hunt:make",
        steps=300,
    )


def test_hop_plus_on_a_learnt_world(tmp_path):
    """Every part of hop+types is learnt from episodes of an environment in Python; nothing scripted."""
    pytest.importorskip("pettingzoo")
    data = "{data}"
    stages = [
        ("response", "pretrain response", {"steps": 3000, "episodes": 4}),
        ("data", "collect", {"population": "{response}", "rows": 1500, "seed": 7}),
        ("vae", "pretrain vae", {"data": data, "model": {"loss": "b"}, "epochs": 1}),
        ("cvae", "pretrain cvae", {"data": data, "vae": "{vae}", "epochs": 1}),
        (
            "moa",
            "pretrain moa",
            {
                "data": data,
                "condition": "kind",
                "cvae": "{cvae}",
                "model": {"hidden": [64, 64], "distances": False},
                "learning": {"augment": "none", "decay": 0},
            },
        ),
        ("world", "pretrain world", {"data": [data], "epochs": 1, "probe": 100, "plays": 10}),
    ]
    prepare = json.dumps([{"name": n, command: fields} for n, command, fields in stages])
    run = train(
        tmp_path,
        *["--set", f"prepare={prepare}", "--set=train.strangers.every=0"],
        preset="hop+types",
        env="hunt:make",
        steps=200,
    )
    assert json.loads((run / "result.json").read_text())["env_steps"] >= 200


def test_other_commands(tmp_path):
    """Teams are scored, agents meet others, data are written, and an audit finds nothing wrong."""
    run = train(tmp_path, steps=900)
    scored = json.loads(hop("eval", "--env=odd:line", "--team=random", "--episodes=40", "--json"))
    assert len(scored["seats"]) == 2
    hop("crossplay", run.parent, "random", "--episodes=4", "--out", tmp_path / "cross")
    hop("adapt", run.parent, "--vs=random", "--lives=2", "--steps=40", "--last=20")
    said = hop("adapt", run.parent, "--vs=random", "--agent=1", fails=True)
    assert "learnt its own place" in said
    hop("collect", "--env=odd:line", "--team=random", "--rows=100", "--out", tmp_path / "data")
    hop("collect", "--agents", run, "--rows=100", "--out", tmp_path / "own")
    said = hop(
        *["audit", "ppo", "--env=odd:leaves", *SMALL, "--updates=8", "--episodes=40"],
        *["--out", tmp_path, "--json"],
    )
    found = json.loads(said)
    wrong = [f for f in found["findings"] if f["status"] not in ("pass", "not asked")]
    assert not wrong, wrong


def test_our_own_game_there_and_back(tmp_path):
    """A game of hop's, served to Python and played by hop as an environment, is the same game."""
    pytest.importorskip("pettingzoo")
    import served

    ask = ["--team=random", "--episodes=300", "--json"]
    params = [f"--set=game.{k}={v}" for k, v in served.GAME.items()]
    own = json.loads(hop("eval", *params, *ask))
    back = json.loads(hop("eval", "--env=served:hunt", "--set=game.workers=2", *ask))
    assert abs(own["mean"] - back["mean"]) < 4 * (own["se"] ** 2 + back["se"] ** 2) ** 0.5
    assert abs(own["steps"] - back["steps"]) < 1
    run = train(tmp_path, "--set=actor.frame=egof", env="served:hunt", steps=400)
    assert "frame: egof" in (run / "spec.yaml").read_text()
