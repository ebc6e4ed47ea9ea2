"""hop.vec_env: arrays without copies, autoreset, seeds, threads, and the same without gymnasium."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import hop_marl as hop

GAMES = sorted(hop.games())


@pytest.fixture
def make():
    """Makes envs and closes them after the test."""
    made = []

    def build(*args, **kwargs):
        made.append(hop.vec_env(*args, **kwargs))
        return made[-1]

    yield build
    for env in made:
        env.close()


def played(env, seed, steps=60):
    """Everything that random play shows, copied."""
    obs, infos = env.reset(seed=seed)
    shown = [(obs.copy(), {k: v.copy() for k, v in infos.items()})]
    for _ in range(steps):
        step = env.step(env.random_actions())
        infos = {k: v.copy() for k, v in step[4].items()}
        shown.append((*(a.copy() for a in step[:4]), infos))
    return shown


def column(shown, n):
    """What of it is copy n's."""
    return [
        [a[n] if isinstance(a, np.ndarray) else {k: v[n] for k, v in a.items()} for a in step]
        for step in shown
    ]


def equal(a, b):
    """Whether two nests of lists, dicts and arrays hold the same."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b))
    return np.array_equal(a, b)


@pytest.mark.parametrize("game", GAMES)
def test_a_copy_is_the_same_among_any_number_and_threads(game, make):
    many = played(make(game, 5), 20)
    assert equal(many, played(make(game, 5, threads=3), 20))
    for n in (0, 4):
        assert equal(column(many, n), column(played(make(game, 1), 20 + n), 0))


def test_a_copy_plays_what_the_parallel_env_plays(make):
    pytest.importorskip("pettingzoo")
    vec, env = make("staghunt", 3), hop.parallel_env("staghunt")
    obs, infos = vec.reset(seed=10)
    single, _ = env.reset(seed=12)
    while env.agents:
        for a, agent in enumerate(env.possible_agents):
            if agent in env.agents:
                assert np.array_equal(single[agent]["observation"], obs[2, a])
                assert np.array_equal(single[agent]["action_mask"], infos["action_mask"][2, a])
        actions = vec.random_actions()
        single, rewards, terminated, truncated, _ = env.step(
            {f"agent_{a}": actions[2, a] for a in range(4)}
        )
        obs, paid, ended, cut, infos = vec.step(actions)
        for agent in rewards:
            a = int(agent[-1])
            assert rewards[agent] == paid[2, a] and terminated[agent] == ended[2, a]
    assert infos["over"][2]
    env.close()


def test_arrays_are_views_of_one_memory_unless_copies_are_asked_for(make):
    env = make("staghunt", 4)
    obs, infos = env.reset(seed=1)
    kept = obs.copy()
    again = env.step(env.random_actions())
    assert again[0] is obs and not np.array_equal(kept, obs)
    assert again[4]["alive"] is infos["alive"]
    assert not obs.flags.owndata and obs.flags.writeable and obs.flags.c_contiguous
    env = make("staghunt", 4, copy=True)
    obs, infos = env.reset(seed=1)
    kept = obs.copy()
    again = env.step(env.random_actions())
    assert again[0] is not obs and np.array_equal(kept, obs)
    assert not np.shares_memory(again[4]["alive"], infos["alive"])
    kept = pickle.dumps(again)
    env.step(env.random_actions())
    assert pickle.dumps(again) == kept


def test_the_step_after_the_last_only_resets(make):
    env = make("staghunt", 64)
    _, infos = env.reset(seed=3)
    ends = 0
    for _ in range(150):
        was_over, was_alive = infos["over"].copy(), infos["alive"].copy()
        obs, rewards, terminated, truncated, infos = env.step(env.random_actions())
        assert not rewards[~was_alive].any()
        assert not (terminated | truncated)[~was_alive].any()
        assert infos["alive"][was_over].all() and not infos["steps"][was_over].any()
        assert (infos["over"] == ~infos["alive"].any(axis=1)).all()
        # Who has just left sees the end; who left before sees nothing.
        left = ~infos["alive"] & ~(terminated | truncated)
        assert not obs[left].any() and obs[terminated].any(axis=-1).all()
        ends += int(infos["over"].sum())
    assert ends > 50


def test_returns_are_the_sums_of_rewards(make):
    env = make("staghunt", 16)
    _, infos = env.reset(seed=3)
    total = np.zeros((16, 4))
    for _ in range(120):
        total[infos["over"]] = 0
        _, rewards, _, _, infos = env.step(env.random_actions())
        total += rewards
        assert np.allclose(infos["returns"], total)
    assert total.any()


def test_random_actions_are_legal_uniform_and_seeded(make):
    env = make("staghunt", 256)
    _, infos = env.reset(seed=5)
    first = env.random_actions().copy()
    assert np.take_along_axis(infos["action_mask"], first[:, :, None], 2).all()
    env.reset(seed=5)
    assert np.array_equal(first, env.random_actions())
    counts = np.zeros(7)
    draws = 400
    row = infos["action_mask"][0, 0]
    for _ in range(draws):
        counts[env.random_actions()[0, 0]] += 1
    assert not counts[~row].any()
    want = draws / row.sum()
    assert np.all(np.abs(counts[row] - want) < 5 * np.sqrt(want))  # wrong once in a million


def test_actions_from_anywhere(make):
    env = make("staghunt", 2, illegal="error")
    env.reset(seed=1)
    env.step(np.full((2, 4), 4, np.int64))
    env.step([[4, 4, 4, 4], [4, 4, 4, 4]])
    with pytest.raises(TypeError):
        env.step(np.full((2, 4), 4.0))
    with pytest.raises(ValueError):
        env.step(np.full((3, 4), 4))
    with pytest.raises(hop.HopError, match="agent_0 of env 0 played 77"):
        env.step(np.full((2, 4), 77))
    env.step(np.full((2, 4), 4))  # nothing was played of what was refused
    assert env._game.arrays["steps"].tolist() == [3, 3]
    torch = pytest.importorskip("torch")
    env.step(torch.full((2, 4), 4))


def test_seeds_may_be_a_list(make):
    env = make("staghunt", 3)
    a = env.reset(seed=[4, 9, 2])[0].copy()
    assert np.array_equal(a[1], make("staghunt", 1).reset(seed=9)[0][0])
    with pytest.raises(ValueError, match="2 seeds for 3 envs"):
        env.reset(seed=[1, 2])
    with pytest.raises(hop.HopError, match="reset before"):
        make("staghunt").step([[4, 4, 4, 4]])


def test_copies_go_on_alike(make):
    env = make("snowdrift", 8)
    env.reset(seed=1)
    for _ in range(9):
        env.step(env.random_actions())
    twins = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    for _ in range(40):
        want = env.step(env.random_actions())
        for twin in twins:
            assert equal(want, twin.step(twin.random_actions()))
    for twin in twins:
        twin.close()


def test_it_is_a_gymnasium_vector_env(make):
    gymnasium = pytest.importorskip("gymnasium")
    env = make("staghunt", 4)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    assert env.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.NEXT_STEP
    obs, _ = env.reset(seed=1)
    assert env.observation_space.contains(obs)
    assert env.single_observation_space.contains(obs[0])
    assert env.action_space.contains(env.random_actions().astype(np.int64))


def test_without_gymnasium_and_pettingzoo():
    code = """
import sys
for name in ("gymnasium", "pettingzoo", "pygame", "torch"):
    sys.modules[name] = None
import hop_marl as hop
env = hop.vec_env("staghunt", 8)
obs, infos = env.reset(seed=1)
assert obs.shape == (8, env.num_agents, env.obs_length), obs.shape
for _ in range(50):
    obs, rewards, terminated, truncated, infos = env.step(env.random_actions())
env.close()
try:
    hop.parallel_env("staghunt")
except ImportError as err:
    assert "pip install 'hop-marl[pettingzoo]'" in str(err), err
else:
    raise SystemExit("no error")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
