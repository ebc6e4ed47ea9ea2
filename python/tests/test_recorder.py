"""The recorder: what it writes down, what it leaves as it is, and what the audit makes of it.

Most tests need numpy alone. Those of the audit need the hop program (HOP_BINARY, or hop on
the PATH), those of slips in a real PPO also torch; without them they are skipped with a word.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import hop_marl as hop

BINARY = os.environ.get("HOP_BINARY") or shutil.which("hop")
needs_hop = pytest.mark.skipif(not BINARY, reason="needs the hop program: set HOP_BINARY")


class Space:
    def __init__(self, n: int):
        self.n = n


class Walk:
    """Agents on a line; who comes to its end is paid and leaves, the others are cut off."""

    def __init__(self, agents: int = 3, length: int = 6, limit: int = 12, masks: str = "infos"):
        self.possible_agents = [f"agent_{i}" for i in range(agents)]
        self.agents: list[str] = []
        self.length, self.limit, self.masks = length, limit, masks
        self.rng = np.random.default_rng(0)
        self.spare = "of the environment itself"

    def action_space(self, agent: str) -> Space:
        return Space(3)

    def reset(self, seed: int | None = None, options: dict | None = None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents, self.t = list(self.possible_agents), 0
        self.at = {a: int(self.rng.integers(0, 3)) for a in self.agents}
        self.luck = self.rng.random(2).astype(np.float32)
        return self._see(self.agents), self._infos(self.agents)

    def step(self, actions: dict):
        was = self.agents
        for a in was:
            self.at[a] = max(0, self.at[a] + actions[a] - 1)
        self.t += 1
        self.luck = self.rng.random(2).astype(np.float32)
        ends = {a: self.at[a] >= self.length for a in was}
        cuts = {a: not ends[a] and self.t == self.limit for a in was}
        self.agents = [a for a in was if not ends[a] and not cuts[a]]
        return self._see(was), {a: float(ends[a]) for a in was}, ends, cuts, self._infos(was)

    def _mask(self, a: str) -> np.ndarray:
        return np.array([self.at[a] > 0, 1, 1], np.int8)

    def _see(self, who: list[str]) -> dict:
        out = {}
        for a in who:
            me = self.possible_agents.index(a)
            x = np.array([self.at[a], self.t, me, *self.luck], np.float32)
            out[a] = {"observation": x, "action_mask": self._mask(a)} if self.masks == "obs" else x
        return out

    def _infos(self, who: list[str]) -> dict:
        return {a: {"action_mask": self._mask(a)} if self.masks == "infos" else {} for a in who}


def play(env, steps: int, seed: int = 0, each=lambda obs, actions: None) -> list[tuple]:
    """Plays at random and returns what was done and seen; each is called before every step."""
    rng = np.random.default_rng(seed)
    obs, infos = env.reset(seed=seed)
    log = []
    for _ in range(steps):
        actions = {a: int(rng.integers(1, 3)) for a in env.agents}
        each(obs, actions)
        was = obs
        out = env.step(actions)
        log.append((was, actions, out))
        obs, infos = out[0], out[4]
        if not env.agents:
            obs, infos = env.reset()
    return log


def audit(path) -> dict:
    """The audit's answer."""
    out = subprocess.run(
        [BINARY, "audit", "--trajectories", str(path), "--json", "--out", os.path.dirname(path)],
        capture_output=True, text=True, timeout=120)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


def found(report: dict) -> list[str]:
    return [f"{f['status']} {f['module']} {f['check']}: {f['says']}" for f in report["findings"]
            if f["status"] in ("suspect", "fault")]


def status(report: dict, check: str) -> dict:
    return next(f for f in report["findings"] if check in f["check"])


# What is written down -------------------------------------------------------------------


def test_what_passes_through_is_not_changed(tmp_path):
    plain = play(Walk(), 300)
    with hop.Recorder(tmp_path / "run.npz") as rec:
        wrapped = play(rec.wrap(Walk()), 300)
    assert len(plain) == len(wrapped)
    for (obs, act, out), (obs2, act2, out2) in zip(plain, wrapped):
        assert act == act2 and out[1:4] == out2[1:4]
        for a in obs:
            np.testing.assert_array_equal(obs[a], obs2[a])
    inner = Walk()
    env = hop.Recorder(tmp_path / "b.npz").wrap(inner)
    assert env.spare == inner.spare
    assert env.action_space("agent_0").n == 3
    out = env.reset(seed=1)
    assert out[0]["agent_0"] is not None
    answer = inner.step
    kept = []
    inner.step = lambda actions: kept.append(answer(actions)) or kept[0]
    assert env.step({a: 1 for a in env.agents}) is kept[0], "the very tuple of the environment"


@pytest.mark.parametrize("masks", ["infos", "obs", "none"])
def test_the_file_holds_what_was_played(tmp_path, masks):
    path = tmp_path / "run.npz"
    with hop.Recorder(path, horizon=12) as rec:
        log = play(rec.wrap(Walk(masks=masks)), 100)
    z = np.load(path)
    assert z["rewards"].shape == (100, 3) and int(z["horizon"]) == 12
    assert bytes(z["names"]).decode() == "agent_0,agent_1,agent_2"
    assert ("legal" in z) == (masks != "none")
    for t, (obs, actions, (after, rewards, ends, cuts, _)) in enumerate(log):
        for a, name in enumerate(["agent_0", "agent_1", "agent_2"]):
            assert z["alive"][t, a] == (name in actions)
            if name not in actions:
                assert z["actions"][t, a] == -1 and z["rewards"][t, a] == 0
                continue
            plain = obs[name]["observation"] if masks == "obs" else obs[name]
            then = after[name]["observation"] if masks == "obs" else after[name]
            np.testing.assert_array_equal(z["obs"][t, a], plain)
            np.testing.assert_array_equal(z["next_obs"][t, a], then)
            assert z["actions"][t, a] == actions[name]
            assert z["rewards"][t, a] == rewards[name]
            assert z["dones"][t, a] == ends[name]
            if not z["open"][t]:
                assert z["truncated"][t, a] == cuts[name]
            if masks != "none":
                np.testing.assert_array_equal(z["legal"][t, a], [plain[0] > 0, True, True])


def test_observations_are_copied(tmp_path):
    """An environment may go on to write into the array that it handed out."""

    class Reused(Walk):
        def _see(self, who):
            out = super()._see(who)
            if not hasattr(self, "kept"):
                self.kept = {a: x.copy() for a, x in out.items()}
            for a in who:
                self.kept[a][:] = out[a]
            return {a: self.kept[a] for a in who}

    path = tmp_path / "run.npz"
    with hop.Recorder(path) as rec:
        play(rec.wrap(Reused()), 20)
    times = np.load(path)["obs"][:10, 0, 1]
    assert list(times[:3]) == [0, 1, 2]


def test_episodes_of_several_copies_stand_together(tmp_path):
    path = tmp_path / "run.npz"
    with hop.Recorder(path) as rec:
        envs = [rec.wrap(Walk()) for _ in range(3)]
        rng = np.random.default_rng(0)
        for i, env in enumerate(envs):
            env.reset(seed=i)
        for _ in range(60):
            for env in envs:
                env.step({a: int(rng.integers(1, 3)) for a in env.agents})
                if not env.agents:
                    env.reset()
    z = np.load(path)
    assert list(np.unique(z["env"])) == [0, 1, 2] and len(z["episode"]) == 180
    assert (np.diff(z["episode"]) >= 0).all() and (np.diff(z["env"]) >= 0).all()
    first = np.flatnonzero(np.diff(z["episode"], prepend=-1))
    assert (z["obs"][first, 0, 1] == 0).all(), "each episode begins at its beginning"
    assert z["open"].sum() == 3, "the last episode of each copy was not over"


def test_memory_is_bounded_and_the_first_and_newest_steps_are_kept(tmp_path):
    path = tmp_path / "run.npz"
    with hop.Recorder(path, steps=200) as rec:
        env = rec.wrap(Walk())
        rows = []

        def learn(obs, actions):
            rows.append(rec.here()["agent_0"])
            if len(rows) == 50:
                rec.rows("agent_0", rows)
                rows.clear()

        play(env, 5000, each=learn)
        assert len(rec._played.index) < 2000 and len(rec._played.where) <= 230
    z = np.load(path)
    assert 150 <= len(z["episode"]) <= 230
    assert z["learn/row"].max() < len(z["episode"]) * 3
    before = np.load(path)["obs"][:20]
    with hop.Recorder(tmp_path / "short.npz") as rec:
        play(rec.wrap(Walk()), 100)
    np.testing.assert_array_equal(before, np.load(tmp_path / "short.npz")["obs"][:20])


def test_a_recording_that_stops_is_no_end(tmp_path):
    """A reset in the middle, an episode that is too long, the end of the recording."""
    path = tmp_path / "run.npz"
    with hop.Recorder(path, steps=64) as rec:
        env = rec.wrap(Walk(length=10**6, limit=100))
        for steps in (5, 100):
            env.reset(seed=0)
            for _ in range(steps):
                env.step({a: 1 for a in env.agents})
    z = np.load(path)
    assert list(np.flatnonzero(z["open"])) == [4, 68] and len(z["open"]) == 69
    assert z["truncated"][[4, 68]].all() and z["truncated"].sum() == 6 and not z["dones"].any()


def test_seeds_of_resets_are_written(tmp_path):
    """Which of them it was, -1 where there was none, and no array where there never was one."""
    for name, seeds, want in (("a", (7, None, 10**12, 7), [0, -1, 1, 0]), ("b", (None, None), None)):
        with hop.Recorder(tmp_path / f"{name}.npz") as rec:
            env = rec.wrap(Walk())
            for seed in seeds:
                env.reset(seed=seed)
                env.step({a: 1 for a in env.agents})
        z = np.load(tmp_path / f"{name}.npz")
        assert ("seed" in z) == (want is not None)
        assert want is None or list(z["seed"]) == want


@pytest.mark.parametrize("fixed", [False, True])
def test_one_seed_for_all_episodes_is_suspect(tmp_path, fixed):
    path = tmp_path / "run.npz"
    with hop.Recorder(path) as rec:
        env = rec.wrap(Walk())
        for seed in range(20):
            env.reset(seed=3 if fixed else seed)
            for _ in range(3):
                env.step({a: 1 for a in env.agents})
    said = {f["check"]: f["status"] for f in audit(path)["findings"]}
    assert said["seeds of episodes"] == ("suspect" if fixed else "pass")


def test_steps_are_fewer_where_observations_are_large(tmp_path):
    path = tmp_path / "run.npz"
    with hop.Recorder(path, memory=1 << 16) as rec:
        play(rec.wrap(Walk()), 3000)
    assert len(np.load(path)["episode"]) < 500


def test_a_crash_leaves_a_whole_file_or_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    with pytest.raises(KeyError):
        with hop.Recorder(path) as rec:
            play(rec.wrap(Walk()), 50)
            raise KeyError("in the user's loop")
    assert len(np.load(path)["episode"]) == 50
    old = path.read_bytes()
    rec = hop.Recorder(path)
    play(rec.wrap(Walk()), 20)

    def full(f, **arrays):
        f.write(b"PK")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError):
        rec.close()
    assert path.read_bytes() == old and [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_the_end_of_the_program_writes_the_file_and_a_kill_leaves_nothing(tmp_path):
    program = textwrap.dedent("""
        import os, signal, sys, hop_marl as hop
        from test_recorder import Walk, play
        rec = hop.Recorder(sys.argv[1])
        play(rec.wrap(Walk()), 30)
        if sys.argv[2] == "kill":
            os._exit(9)
    """)
    here = os.path.dirname(os.path.abspath(__file__))
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([os.path.dirname(hop.__path__[0]), here]))
    for how, wanted in (("end", ["run.npz"]), ("kill", [])):
        folder = tmp_path / how
        folder.mkdir()
        subprocess.run([sys.executable, "-c", program, str(folder / "run.npz"), how], env=env)
        assert [p.name for p in folder.iterdir()] == wanted
    assert len(np.load(tmp_path / "end" / "run.npz")["episode"]) == 30


def test_save_writes_what_there_is_and_goes_on(tmp_path):
    path = tmp_path / "run.npz"
    with hop.Recorder(path) as rec:
        env = rec.wrap(Walk())
        play(env, 10)
        rec.save()
        assert len(np.load(path)["episode"]) == 10
        play(env, 25)
    assert len(np.load(path)["episode"]) == 35


def test_wrong_use_is_refused_with_a_word(tmp_path):
    rec = hop.Recorder(tmp_path / "run.npz")
    with pytest.raises(TypeError, match="not a PettingZoo parallel environment"):
        rec.wrap(object())
    aec = Walk()
    aec.agent_iter = None
    with pytest.raises(TypeError, match="aec_to_parallel"):
        rec.wrap(aec)
    smooth = Walk()
    smooth.action_space = lambda agent: "Box(2)"
    with pytest.raises(TypeError, match="only discrete actions"):
        rec.wrap(smooth)
    env = rec.wrap(Walk())
    with pytest.raises(ValueError, match="other wrapped environments have"):
        rec.wrap(Walk(agents=2))
    with pytest.raises(RuntimeError, match="nothing is recorded yet"):
        rec.batch("agent_0", obs=np.zeros((4, 5)))
    env.reset(seed=0)
    for call, match in [
        (lambda: rec.rows("bob", [1]), "no agent 'bob'"),
        (lambda: rec.batch("agent_0", actions=[1]), "hand in obs, or indices"),
        (lambda: rec.batch("agent_0", obs=np.zeros((2, 4))), "no whole number of observations"),
        (lambda: rec.batch("agent_0", obs=np.zeros((2, 5)), actions=[1]), "actions has 1 numbers"),
        (lambda: rec.predictions("moa", "agent_0", probs=[1, 0, 0]), "needs of="),
        (lambda: rec.predictions("dreams", "agent_0"), "want moa or world"),
        (lambda: rec.learner("agent_0", {"w": np.ones(2)}, Sgd({}), part="x"), "part="),
        (lambda: hop.Recorder(tmp_path / "none" / "run.npz"), "no folder"),
    ]:
        with pytest.raises((ValueError, FileNotFoundError), match=match):
            call()
    with pytest.raises(TypeError, match="whole numbers"):
        rec.rows("agent_0", [0.5])
    with pytest.raises(TypeError, match="another process"):
        import copy
        copy.deepcopy(env)


def test_a_step_costs_little(tmp_path):
    """Microseconds a step of four agents with 65 numbers each; printed with -s."""

    class Plain(Walk):
        def _see(self, who):
            return {a: np.zeros(65, np.float32) for a in who}

    def time_of(env) -> float:
        best = 1e9
        for _ in range(5):
            env.reset(seed=1)
            started = time.perf_counter()
            for _ in range(400):
                env.step({a: 1 for a in env.agents})
                if not env.agents:
                    env.reset()
            best = min(best, time.perf_counter() - started)
        return best / 400 * 1e6

    plain = time_of(Plain(4, limit=50))
    rec = hop.Recorder(tmp_path / "run.npz")
    more = time_of(rec.wrap(Plain(4, limit=50))) - plain
    print(f"\na step of four agents: {plain:.1f} us, recorded {more:.1f} us more")
    assert more < 250


# Rows found by their content ------------------------------------------------------------


@pytest.mark.parametrize("order", ["time", "shuffled", "copies beside each other"])
def test_rows_are_found_by_their_content(tmp_path, order):
    rec = hop.Recorder(tmp_path / "run.npz")
    envs = [rec.wrap(Walk()) for _ in range(2)]
    rng = np.random.default_rng(0)
    seen = [env.reset(seed=i)[0] for i, env in enumerate(envs)]
    rows: list[tuple[int, np.ndarray, int]] = []
    for _ in range(80):
        for i, env in enumerate(envs):
            actions = {a: int(rng.integers(1, 3)) for a in env.agents}
            if "agent_1" in actions:
                rows.append((rec.here(env)["agent_1"], seen[i]["agent_1"], actions["agent_1"]))
            seen[i] = env.step(actions)[0]
            if not env.agents:
                seen[i] = env.reset()[0]
    if order == "shuffled":
        rng.shuffle(rows)
    elif order == "time":
        rows.sort(key=lambda r: r[0])
    numbers, obs, acts = (np.array(x) for x in zip(*rows))
    got, kind, sure = rec._played.find([1], obs.astype(np.float32), acts, None)
    np.testing.assert_array_equal(got, numbers)
    assert sure.all() and not kind.any()


def test_rows_that_look_alike_are_told_apart_by_their_neighbours(tmp_path):
    """Half of all observations are equal; what comes before and after decides."""

    class Dim(Walk):
        def _see(self, who):
            out = super()._see(who)
            for x in out.values():
                if x[1] % 2:
                    x[:] = 7
            return out

    rec = hop.Recorder(tmp_path / "run.npz")
    env = rec.wrap(Dim())
    rows = []
    play(env, 60, each=lambda obs, acts: rows.append(
        (rec.here()["agent_0"], obs["agent_0"], acts["agent_0"])) if "agent_0" in acts else None)
    numbers, obs, acts = (np.array(x) for x in zip(*rows))
    got, _, sure = rec._played.find([0], obs.astype(np.float32), acts, None)
    np.testing.assert_array_equal(got[sure], numbers[sure])
    assert sure.mean() > 0.9


def test_rows_after_an_exit_and_rows_of_nothing_are_marked(tmp_path):
    rec = hop.Recorder(tmp_path / "run.npz")
    env = rec.wrap(Walk(length=3))
    log = play(env, 40)
    out = next(o for _, acts, o in log if o[2].get("agent_0"))
    last = out[0]["agent_0"]
    never = np.full(5, 99, np.float32)
    rows = np.stack([last, np.zeros(5, np.float32), never])
    got, kind, _ = rec._played.find([0], rows, None, None)
    assert list(got) == [-1, -1, -1] and list(kind) == [1, 2, 3]


# Optimisers, without torch --------------------------------------------------------------


class Sgd:
    """An optimiser of numpy arrays."""

    def __init__(self, params: dict, lr: float = 0.1):
        self.param_groups = [{"params": list(params.values()), "lr": lr}]

    def step(self) -> str:
        for group in self.param_groups:
            for p in group["params"]:
                p -= group["lr"]
        return "done"


def test_any_optimiser_is_watched_and_left_as_it_was(tmp_path):
    path = tmp_path / "run.npz"
    rec = hop.Recorder(path)
    env = rec.wrap(Walk())
    nets = {a: {"w": np.random.default_rng(i).random((2, 2)), "b": np.zeros(2)}
            for i, a in enumerate(env.possible_agents)}
    nets["agent_2"] = nets["agent_1"]
    opts = {a: Sgd(nets[a]) for a in nets}
    for a in nets:
        rec.learner(a, nets[a], opts[a])
    play(env, 10)
    for _ in range(200):
        assert opts["agent_0"].step() == "done"
    rec.close()
    assert "step" not in vars(opts["agent_0"])
    z = np.load(path)
    about = json.loads(bytes(z["learners"]))
    assert [x["steps"] for x in about] == [200, 0, 0]
    assert [p["name"] for p in about[0]["parameters"]] == ["w", "b"]
    assert about[0]["parameters"][1]["first"] == 0, "numbers that are all alike tell nothing"
    storages = [[p["storage"] for p in x["parameters"]] for x in about]
    assert storages[1] == storages[2] and not set(storages[0]) & set(storages[1])
    assert 64 <= len(z["updates/number"]) < 100, "the first ones, then ever fewer"
    np.testing.assert_allclose(z["updates/change"].reshape(-1, 2)[:, 1], 0.1 * 2**0.5)
    assert not z["updates/outside"].any()


# What the audit makes of it -------------------------------------------------------------


@needs_hop
def test_a_faithful_recording_passes_and_says_what_was_not_asked(tmp_path):
    path = tmp_path / "run.npz"
    with hop.Recorder(path) as rec:
        env = rec.wrap(Walk())
        buffer: dict[str, list] = {a: [] for a in env.possible_agents}

        def learn(obs, actions):
            for a, row in rec.here().items():
                if a in actions:
                    buffer[a].append(row)
            for a, rows in buffer.items():
                if len(rows) == 64:
                    rec.rows(a, rows)
                    rows.clear()

        play(env, 600, each=learn)
    r = audit(path)
    assert r["verdict"] == "pass", found(r)
    assert status(r, "every agent learns from its own rows")["status"] == "pass"
    said = " ".join(f["says"] for f in r["findings"] if f["status"] == "not asked")
    for what in ("rec.learner(", "rec.policy(", "rec.predictions(", "rec.batch(", "gamma"):
        assert what in said, what


@needs_hop
def test_rows_by_number_name_another_agents_rows(tmp_path):
    path = tmp_path / "run.npz"
    with hop.Recorder(path) as rec:
        env = rec.wrap(Walk())
        rows: list[int] = []
        play(env, 300, each=lambda obs, acts: rows.append(rec.here()["agent_0"])
             if "agent_0" in acts else None)
        for a in env.possible_agents:
            rec.rows(a, rows)
    r = audit(path)
    assert (r["verdict"], r["module"]) == ("fault", "buffers")
    assert "agent_1 and agent_2 learn from agent_0's rows" in r["says"]


@needs_hop
def test_predictions_of_others_are_held_against_what_they_do(tmp_path):
    """A model that knows what agent_1 draws passes; one that is an agent off does not."""
    for of, wanted in (("agent_1", "pass"), ("agent_2", "fault")):
        path = tmp_path / f"{of}.npz"
        rng = np.random.default_rng(0)
        with hop.Recorder(path) as rec:
            env = rec.wrap(Walk())

            def predict(obs, actions):
                if {"agent_0", "agent_1", "agent_2"} <= actions.keys():
                    p = np.full(3, 0.1)
                    p[actions["agent_1"] if rng.random() < 0.8 else rng.integers(3)] = 0.8
                    rec.predictions("moa", "agent_0", of=of, probs=p)

            play(env, 600, each=predict)
        f = status(audit(path), "predictions of others")
        assert f["status"] == wanted, f
        assert wanted == "pass" or "agent before in the list" in f["says"]


@needs_hop
def test_predictions_of_the_world_are_held_against_copying(tmp_path):
    for good in (True, False):
        path = tmp_path / f"{good}.npz"
        with hop.Recorder(path) as rec:
            env = rec.wrap(Walk())
            rows, said, paid = [], [], []

            def note(obs, actions):
                if "agent_0" in actions:
                    rows.append(rec.here()["agent_0"])

            for obs, actions, out in play(env, 600, each=note):
                if "agent_0" in actions:
                    said.append(out[0]["agent_0"] if good else obs["agent_0"] + 5)
                    paid.append(out[1]["agent_0"])
            rec.predictions("world", "agent_0", next_obs=said, rewards=paid, rows=rows)
        f = status(audit(path), "predictions of the world")
        assert f["status"] == ("pass" if good else "suspect"), f
        assert good or "no better than copying" in f["says"]


@needs_hop
def test_a_network_that_is_shared_on_purpose_passes(tmp_path):
    path = tmp_path / "run.npz"
    who = ["agent_0", "agent_1", "agent_2"]
    with hop.Recorder(path) as rec:
        env = rec.wrap(Walk())
        net = {"w": np.random.default_rng(0).random(4)}
        opt = Sgd(net)
        rec.learner(who, net, opt)
        obs, acts = [], []

        def learn(seen, actions):
            for a in actions:
                obs.append(seen[a])
                acts.append(actions[a])
            if len(obs) >= 100:
                rec.batch(who, obs=np.stack(obs), actions=acts)
                opt.step()
                obs.clear(), acts.clear()

        play(env, 400, each=learn)
    r = audit(path)
    assert r["verdict"] == "pass", found(r)
    assert status(r, "every agent learns from its own rows")["status"] == "pass"


@needs_hop
def test_observations_that_tell_nothing_are_said_and_not_accused(tmp_path):
    """In a game without state every row looks like every other."""

    class Blind(Walk):
        def _see(self, who):
            return {a: np.zeros(4, np.float32) for a in who}

    path = tmp_path / "run.npz"
    with hop.Recorder(path) as rec:
        env = rec.wrap(Blind())
        acts: list[int] = []

        def learn(seen, actions):
            if "agent_0" in actions:
                acts.append(actions["agent_0"])
            if len(acts) == 100:
                rec.batch("agent_0", obs=np.zeros((100, 4)), actions=acts)
                acts.clear()

        play(env, 600, each=learn)
    r = audit(path)
    assert r["verdict"] == "pass", found(r)
    f = status(r, "every agent learns from its own rows")
    assert f["status"] == "not asked" and "rec.here()" in f["says"]


# Slips in a real PPO --------------------------------------------------------------------


@pytest.fixture(scope="module")
def ppo():
    """The PPO of these tests, if torch is there."""
    pytest.importorskip("torch", reason="needs torch: pip install torch")
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import torch_ppo
    return torch_ppo


def trained(ppo, path, slip: str = "", seed: int = 1) -> dict:
    more = {}
    if slip == "names sorted as strings":  # shows from eleven agents on
        more = {"hunters": 12, "size": 5, "envs": 2, "updates": 4}
    ppo.train(str(path), slip, seed, **more)
    return audit(path)


@needs_hop
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_healthy_ppo_passes(ppo, tmp_path, seed):
    r = trained(ppo, tmp_path / "run.npz", seed=seed)
    assert r["verdict"] == "pass", found(r)
    asked = [f for f in r["findings"] if f["status"] == "pass"]
    assert len(asked) >= 35, "with everything recorded nearly everything is asked"


@needs_hop
def test_a_healthy_ppo_of_twelve_passes(ppo, tmp_path):
    ppo.train(str(tmp_path / "run.npz"), hunters=12, size=5, envs=2, updates=4)
    r = audit(tmp_path / "run.npz")
    assert r["verdict"] == "pass", found(r)


NAMED = {
    "shared network": "share one network",
    "optimizer misses a head": "does not hold critic.weight and critic.bias",
    "agent 0's buffer": "learn from agent_0's rows: 100 %",
    "rows after exit": "learn from rows after an exit",
    "softmax twice": "A softmax is applied twice",
    "rewards a step late": "They come a step late",
    "names sorted as strings": "Names are sorted as strings",
    "time limit as death": "A cut is learnt as an exit",
    "advantages run over ends": "advantages at an exit are not reward less value",
    "masks ignored when learning": "Before the first step the ratio is not 1",
    "gradients never cleared": "are never cleared",
    "one agent stops learning": "agent_2 is last updated",
}


@needs_hop
@pytest.mark.parametrize("slip", NAMED)
def test_slips_in_a_ppo_are_named_in_the_right_place(ppo, tmp_path, slip):
    assert NAMED.keys() == ppo.SLIPS.keys()
    r = trained(ppo, tmp_path / "run.npz", slip)
    assert r["verdict"] in ("suspect", "fault") and r["module"] == ppo.SLIPS[slip], found(r)
    assert NAMED[slip] in r["says"], found(r)


# What was planted after the questions were written. The last one was not found before the terms of
# the loss could be recorded: a sign in front of a hundredth of the entropy is within the noise of six updates.
LATER = {
    "next sight with this action": "They are those of the step before",
    "stale sight after reset": "the first one of the next is never learnt from",
    "value loss of all pairs": "every value against every row's return",
    "acts with an old network": "Before the first step the ratio is not 1",
    "copies seeded alike": "Copies of the environment begin alike",
    "actions not shuffled with rows": "the probability of what had an advantage",
    "columns move up": "columns move up",
    "entropy pushed down": "it is pushed down",
}


@needs_hop
@pytest.mark.parametrize("slip", LATER)
def test_slips_that_were_planted_later(ppo, tmp_path, slip):
    assert LATER.keys() == set(ppo.LATER)
    r = trained(ppo, tmp_path / "run.npz", slip)
    assert LATER[slip] in r["says"], found(r)


@needs_hop
@pytest.mark.parametrize("slip", [
    "the next agent's rewards", "normalised over the dead", "ratio of 1", "entropy pushed down", "value loss of all pairs",
    "one minibatch again and again"])
def test_slips_inside_the_loss_are_found_by_minibatches(ppo, tmp_path, slip):
    check, says = ppo.INSIDE[slip]
    r = trained(ppo, tmp_path / "run.npz", slip)
    f = status(r, check)
    assert f["status"] == "fault" and says in f["says"], found(r)
    if slip == "the next agent's rewards":
        assert "a step late" not in r["says"]


@needs_hop
def test_two_optimisers_of_an_agent_are_not_compared_with_each_other(ppo, tmp_path):
    ppo.train(str(tmp_path / "run.npz"), two=True)
    r = audit(tmp_path / "run.npz")
    assert r["verdict"] == "pass", found(r)


def test_minibatches_are_held_to_their_batch(tmp_path):
    rec = hop.Recorder(str(tmp_path / "run.npz"))
    with pytest.raises(RuntimeError, match="comes before rec.minibatch"):
        rec.minibatch("agent_0", [0])
    env = rec.wrap(Walk())
    seen, _ = env.reset(seed=1)
    rec.batch("agent_0", obs=seen["agent_0"])
    with pytest.raises(ValueError, match="indices go from 0 to 3, the batch has rows 0 to 0"):
        rec.minibatch("agent_0", [0, 3])
    with pytest.raises(ValueError, match="ratios has 2 numbers for 1 rows"):
        rec.minibatch("agent_0", [0], ratios=[1.0, 1.0])


@needs_hop
def test_vectors_and_single_agents_are_recorded(tmp_path):
    """As copies: the same numbers as when each copy is wrapped by itself."""
    gymnasium = pytest.importorskip("gymnasium")
    for name, make in {
        "single": lambda: gymnasium.make("CartPole-v1"),
        "next": lambda: gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="sync"),
        "same": lambda: gymnasium.make_vec(
            "CartPole-v1", 3, vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}),
        "flat": lambda: hop.vec_env("staghunt", 3, flat=True, autoreset="same_step"),
        "flat next": lambda: hop.vec_env("staghunt", 3, flat=True),
    }.items():
        path, draw = tmp_path / f"{name}.npz", np.random.default_rng(0)
        rec = hop.Recorder(str(path))
        env = rec.wrap(make())
        seen, infos = env.reset(seed=1)
        paid = 0.0
        for _ in range(150):
            if name == "single":
                seen, reward, ended, cut, infos = env.step(int(draw.integers(2)))
                if ended or cut:
                    env.reset()
            else:
                acts = env.random_actions() if "flat" in name else draw.integers(0, 2, 3)
                seen, reward, ended, cut, infos = env.step(acts)
            paid += float(np.sum(reward))
        rec.close()
        got = np.load(path)
        assert got["rewards"].sum() == pytest.approx(paid), name
        assert len(np.unique(got["env"])) == (1 if name == "single" else 3)
        assert got["names"].tobytes().decode().split(",")[0] == "agent_0" and got["dones"].any()
        r = audit(path)
        assert r["verdict"] == "pass", (name, found(r))


@needs_hop
@pytest.mark.parametrize("what", ["PPO", "MaskablePPO"])
def test_stable_baselines_is_recorded_by_a_callback(tmp_path, what):
    """One agent, and the agents of a game of ours with masks."""
    sb3 = pytest.importorskip("stable_baselines3")
    from hop_marl.sb3 import RecorderCallback

    small = dict(n_steps=128, batch_size=64, n_epochs=2, device="cpu", seed=1)
    if what == "PPO":
        from stable_baselines3.common.env_util import make_vec_env

        model = sb3.PPO("MlpPolicy", make_vec_env("CartPole-v1", 4, seed=1), **small)
    else:
        contrib = pytest.importorskip("sb3_contrib")
        model = contrib.MaskablePPO("MlpPolicy", hop.vec_env("staghunt", 4, flat=True, autoreset="same_step").sb3(), **small)
    model.learn(2500, callback=RecorderCallback(tmp_path / "run.npz"))
    r = audit(tmp_path / "run.npz")
    asked = {f["check"] for f in r["findings"] if f["status"] == "pass"}
    assert {"learnt actions", "learnt rewards", "gradients are cleared"} <= asked, found(r)
    if what == "PPO":
        assert r["verdict"] == "pass", found(r)
    else:  # whoever has left is learnt from here: that is what a flat view costs, and it is said
        assert "after an exit" in r["says"], found(r)


@needs_hop
def test_three_lines_record_cleanrls_loop(tmp_path):
    """CleanRL's ppo.py, shortened; the three lines are marked."""
    torch = pytest.importorskip("torch")
    gymnasium = pytest.importorskip("gymnasium")
    torch.manual_seed(1)
    gamma, lam, steps, many = 0.99, 0.95, 64, 4
    envs = gymnasium.make_vec("CartPole-v1", many, vectorization_mode="sync",
                              vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP})
    actor, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
    agent = torch.nn.ModuleList([actor, critic])
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    rec = hop.Recorder(tmp_path / "run.npz"); envs = rec.wrap(envs)  # 1
    rec.learner("agent_0", agent, optimizer)  # 2
    obs = torch.zeros(steps, many, 4)
    actions, logprobs, rewards, dones, values = (torch.zeros(steps, many) for _ in range(5))
    next_obs, next_done = torch.Tensor(envs.reset(seed=1)[0]), torch.zeros(many)
    for _ in range(6):
        for t in range(steps):
            obs[t], dones[t] = next_obs, next_done
            with torch.no_grad():
                dist = torch.distributions.Categorical(logits=actor(next_obs))
                action = dist.sample()
                values[t] = critic(next_obs).flatten()
            actions[t], logprobs[t] = action, dist.log_prob(action)
            seen, reward, ended, cut, infos = envs.step(action.numpy())
            rewards[t], next_obs, next_done = torch.tensor(reward), torch.Tensor(seen), torch.Tensor(ended | cut)
        with torch.no_grad():
            advantages, last, after = torch.zeros_like(rewards), 0, critic(next_obs).flatten()
            for t in reversed(range(steps)):
                going = 1 - (next_done if t == steps - 1 else dones[t + 1])
                value = after if t == steps - 1 else values[t + 1]
                last = rewards[t] + gamma * value * going - values[t] + gamma * lam * going * last
                advantages[t] = last
        returns = advantages + values
        rec.batch("agent_0", obs=obs, actions=actions, rewards=rewards, dones=dones, values=values, logprobs=logprobs,
                  advantages=advantages, returns=returns, gamma=gamma, lam=lam)  # 3
        b_obs, b_act, b_old, b_adv = obs.reshape(-1, 4), actions.flatten(), logprobs.flatten(), advantages.flatten()
        for mb in torch.randperm(steps * many).chunk(4):
            dist = torch.distributions.Categorical(logits=actor(b_obs[mb]))
            ratio = (dist.log_prob(b_act[mb]) - b_old[mb]).exp()
            loss = -(b_adv[mb] * ratio).mean() + 0.5 * ((critic(b_obs[mb]).flatten() - returns.flatten()[mb]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    rec.close()
    r = audit(tmp_path / "run.npz")
    asked = {f["check"] for f in r["findings"] if f["status"] == "pass"}
    assert r["verdict"] == "pass" and {"learnt rewards", "learnt ends", "advantages", "returns"} <= asked, found(r)
