"""Our agents in Python: they play as in `hop eval`, and show what they think."""

import json
import subprocess

import numpy as np
import pytest

import hop_marl as hop
from hop_marl._binary import binary

PLAN = [
    "train.envs=4",
    "train.window=8",
    "train.steps=64",
    "train.warm.windows=1",
    "eval.episodes=4",
    "moa.hidden=[16,16]",
]


def run(*args: str) -> dict:
    """Runs a command and returns its JSON."""
    done = subprocess.run([binary(), *args, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def train(folder, preset: str, sets: list[str]) -> str:
    """Trains for a moment and returns the run's folder."""
    run("train", preset, "--out", str(folder), *[x for s in sets for x in ("--set", s)])
    return str(next(folder.glob("*-001")))


@pytest.fixture(scope="module")
def ppo(tmp_path_factory) -> str:
    """A PPO run of a second or two, at checkpoints of its way."""
    sets = ["train.steps=60000", "train.envs=64", "train.save=4", "train.keep=9"]
    return train(tmp_path_factory.mktemp("ppo"), "ppo-4x4", [*sets, "eval.episodes=10"])


@pytest.fixture(scope="module")
def planner(tmp_path_factory) -> str:
    """Agents that infer and plan, hardly trained."""
    return train(tmp_path_factory.mktemp("hop"), "hop-4x4", PLAN)


def returns(env, seed, act) -> list[float]:
    """Plays an episode and returns what each agent got."""
    env.reset(seed=seed)
    got = dict.fromkeys(env.possible_agents, 0.0)
    while env.agents:
        _, rewards, _, _, _ = env.step(act(env))
        for agent, r in rewards.items():
            got[agent] += r
    return [got[a] for a in env.possible_agents]


def test_bots_get_exactly_what_hop_eval_says():
    """A mixed team of bots and a planner, seed by seed."""
    team = ["ns", "nh", "plan-infer", "random"]
    players = [hop.bot(name) for name in team]
    env = hop.parallel_env("staghunt")

    def act(env):
        return {a: players[int(a[-1])].act(env, a) for a in env.agents}

    for seed in range(1, 7):
        args = ["--team", ",".join(team), "--episodes", "1", "--fix-seat", "--seed", str(seed)]
        want = [s["mean"] for s in run("eval", *args)["seats"]]
        assert returns(env, seed, act) == pytest.approx(want, abs=1e-5), seed
    env.close()


def test_a_run_gets_what_crossplay_says(ppo, tmp_path):
    """Over many episodes, in a vec_env, sampled and greedy."""
    for greedy in (False, True):
        flags = ["--episodes", "400", "--out", str(tmp_path / f"x{greedy}")]
        table = run("crossplay", ppo, "ns", *flags, *(["--greedy"] if greedy else []))
        want = table["cells"][0]["own"]
        agent = hop.load(ppo, greedy=greedy)
        env = hop.vec_env("staghunt", num_envs=256)
        env.reset(seed=11)
        got: list[float] = []
        for _ in range(220):
            _, _, _, _, infos = env.step(agent.act(env))
            got += infos["returns"][infos["over"]].mean(1).tolist()
        env.close()
        assert len(got) > 1000
        half = (want["ci"][1] - want["ci"][0]) / 2
        se = np.hypot(np.std(got) / np.sqrt(len(got)), half / 1.96)
        print(f"greedy {greedy}: {np.mean(got):.3f} here, {want['mean']:.3f} by hop crossplay")
        assert abs(np.mean(got) - want["mean"]) < 4 * se + 0.01, (np.mean(got), want, se)


def test_the_same_seed_plays_the_same(ppo, planner):
    """In parallel_env, in vec_env, asked at once or agent by agent."""
    for name in (ppo, planner):
        agent = hop.load(name)
        single, many = hop.parallel_env("staghunt"), hop.vec_env("staghunt", 3)
        first = returns(single, 6, agent.act)
        by_name = {a: hop.load(name) for a in single.possible_agents}
        again = returns(single, 6, lambda env: {a: by_name[a].act(env, a) for a in env.agents})
        assert again == first
        many.reset(seed=[5, 6, 7])
        over = False
        while not over:
            _, _, _, _, infos = many.step(agent.act(many))
            over = bool(infos["over"][1])
        np.testing.assert_allclose(infos["returns"][1], first, atol=1e-5)
        single.close(), many.close()


def test_wrapped_envs(ppo):
    """Agents find hop's env below PettingZoo's wrappers and its conversion to turns."""
    pytest.importorskip("pettingzoo")
    from pettingzoo.utils.conversions import parallel_to_aec

    agent = hop.load(ppo)
    env = hop.parallel_env("staghunt")
    want = returns(env, 3, agent.act)
    env.close()
    aec = parallel_to_aec(hop.parallel_env("staghunt"))
    aec.reset(seed=3)
    got = dict.fromkeys(aec.possible_agents, 0.0)
    for name in aec.agent_iter():
        _, reward, terminated, truncated, _ = aec.last()
        got[name] += reward
        aec.step(None if terminated or truncated else agent.act(aec, name))
    assert [got[a] for a in aec.possible_agents] == pytest.approx(want)
    aec.close()


def test_what_a_planner_thinks(planner):
    """Beliefs, goals by name, predictions, the search: arrays that fit each other."""
    agent, other = hop.load(planner), hop.bot("nh")
    env = hop.parallel_env("staghunt")
    env.reset(seed=1)
    with pytest.raises(hop.HopError, match="act first"):
        agent.look(env, "agent_0")
    for _ in range(3):
        acts = other.act(env)
        if "agent_0" in acts:
            acts["agent_0"] = agent.act(env, 0)
            look = agent.look(env, "agent_0")
        env.step(acts)
    k = len(look.actions)
    assert look.agent == "agent_0" and look.actions[:2] == ["up", "down"]
    for name in ("policy", "visits", "q", "prior"):
        assert getattr(look, name).shape == (k,), name
    assert look.policy.sum() == pytest.approx(1, abs=1e-5) and look.policy[look.action] > 0
    assert np.isnan(look.q[look.visits == 0]).all() and np.isfinite(look.q[look.visits > 0]).all()
    assert set(look.others) == {"agent_1", "agent_2", "agent_3"}
    for o in look.others.values():
        assert "stag" in o.goals and "hare" in o.goals
        assert o.beliefs.sum() == pytest.approx(1) and o.posterior.sum() == pytest.approx(1)
        assert o.left == (o.predicted is None)
        if not o.left:
            assert o.predicted.sum() == pytest.approx(1, abs=1e-5)
    assert look.line and look.line[0].action in look.actions
    assert "agent_0 plays" in str(look)
    env.close()


def test_what_hop_plus_thinks(plus):
    """Goals that are points: what was inferred of each co-player, in words and in numbers."""
    agent = hop.load(plus)
    assert agent.info["mind"] == "hop" and agent.params["blocks"] == 3
    env = hop.parallel_env(agent.game, **agent.params)
    env.reset(seed=3)
    first = agent.act(env)
    for name in env.possible_agents:
        look = agent.look(env, name)
        assert look.action == first[name] and np.isfinite(look.value)
        assert look.visits.sum() > 0 and look.prior.sum() == pytest.approx(1, abs=1e-5)
        for o in look.others.values():
            assert o.mean.shape == o.spread.shape and len(o.mean) > 1
            assert o.beliefs.sum() == pytest.approx(1) and len(o.goals) == len(o.beliefs)
    for _ in range(60):
        if not env.agents:
            env.reset()
        env.step(agent.act(env))
    env.close()


def test_what_a_network_and_a_bot_show(ppo):
    """Policy and value of a network; a bot's action alone."""
    env = hop.parallel_env("staghunt")
    env.reset(seed=1)
    agent = hop.load(ppo, greedy=True)
    act = agent.act(env, "agent_3")
    look = agent.look(env, "agent_3")
    assert look.action == act == int(look.policy.argmax()) and np.isfinite(look.value)
    assert look.visits is None and look.others == {}
    bot = hop.bot("ns")
    acts = bot.act(env)
    assert bot.look(env, 1).action == acts["agent_1"] and bot.look(env, 1).policy is None
    env.close()


def test_ways_to_name_a_run(ppo):
    """RUN, its seed, RUN#AGENT, RUN@STEP."""
    info = hop.load(ppo).info
    assert info["game"] == "staghunt" and info["mind"] == "ppo" and info["agents"] == 4
    env = hop.parallel_env(hop.load(ppo).game, **hop.load(ppo).params)
    env.reset(seed=1)
    one = hop.load(ppo + "/seed-1#2")
    assert set(one.act(env)) == set(env.agents)
    by_one, by_team = one.look(env, 2), hop.load(ppo)
    by_team.act(env)
    np.testing.assert_array_equal(by_one.policy, by_team.look(env, 2).policy)
    assert not np.array_equal(one.look(env, 1).policy, by_team.look(env, 1).policy)
    steps = sorted(int(p.stem.split("-")[-1]) for p in _checkpoints(ppo))
    assert len(steps) > 1
    old = hop.load(f"{ppo}@{steps[0]}")
    assert old.info["step"] == steps[0] < info["step"]
    old.act(env, 0)
    assert not np.array_equal(old.look(env, 0).policy, by_team.look(env, 0).policy)
    env.close()


def _checkpoints(run: str):
    import pathlib

    return list(pathlib.Path(run).glob("seed-1/checkpoints/*.safetensors"))


def test_bots_are_listed():
    """Names and words, as hop list bots has them."""
    names = hop.bots("staghunt")
    assert list(names)[:2] == ["random", "ns"] and "stag" in names["ns"]
    with pytest.raises(hop.HopError, match="nogame"):
        hop.bots("nogame")


def test_mistakes_are_sentences(ppo, tmp_path):
    """What was wrong, and what to do."""
    with pytest.raises(FileNotFoundError, match="is no folder"):
        hop.load("runs/nothing")
    with pytest.raises(hop.HopError, match="no run"):
        hop.load(tmp_path)
    with pytest.raises(hop.HopError, match="agents 0 to 3, not 9"):
        hop.load(ppo + "#9")
    with pytest.raises(hop.HopError, match="77"):
        hop.load(ppo + "@77")
    agent, env = hop.load(ppo), hop.parallel_env("staghunt")
    with pytest.raises(hop.HopError, match="reset"):
        agent.act(env)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="agent_0 to agent_3"):
        agent.act(env, "agent_4")
    with pytest.raises(TypeError, match="no env of hop's games"):
        agent.act(object())
    with pytest.raises(hop.HopError, match="no bot"):
        hop.bot("nobody").act(env)
    with pytest.raises(AttributeError, match="not trained"):
        _ = hop.bot("ns").game
    env.close()
    for game, params, words in (
        ("coin", {}, "was trained on staghunt, this env is coin"),
        ("staghunt", {"size": 6}, "cannot play staghunt"),
    ):
        other = hop.parallel_env(game, **params)
        other.reset(seed=1)
        with pytest.raises(hop.HopError, match=words):
            agent.act(other)
        other.close()


def test_agents_outlive_envs(ppo):
    """One agent in several envs, one after another and side by side."""
    agent = hop.load(ppo)
    envs = [hop.parallel_env("staghunt") for _ in range(2)]
    for env in envs:
        env.reset(seed=2)
    assert agent.act(envs[0]) == agent.act(envs[1])
    for env in envs:
        env.close()
    del env, envs
    env = hop.parallel_env("staghunt")
    env.reset(seed=2)
    assert agent.act(env)
    env.close()
