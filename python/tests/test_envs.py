"""hop.parallel_env: PettingZoo's own tests, SuperSuit, seeds, ends, pictures, copies."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import hop_marl as hop

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test  # noqa: E402
from pettingzoo.utils import parallel_to_aec  # noqa: E402

GAMES = sorted(hop.games())


@pytest.fixture
def make():
    """Makes envs and closes them after the test."""
    made = []

    def build(*args, **kwargs):
        made.append(hop.parallel_env(*args, **kwargs))
        return made[-1]

    yield build
    for env in made:
        env.close()


def legal(obs, rng):
    """A random legal action for every agent that sees something."""
    return {a: int(rng.choice(np.flatnonzero(o["action_mask"]))) for a, o in obs.items()}


def play(env, seed, steps=200):
    """Everything that an episode of random legal actions shows."""
    rng = np.random.default_rng(0)
    obs, infos = env.reset(seed=seed)
    shown = [(obs, infos)]
    while env.agents and len(shown) < steps:
        obs = {a: obs[a] for a in env.agents}
        shown.append(env.step(legal(obs, rng)))
        obs = shown[-1][0]
    return shown


def same(a, b):
    """Whether two nests of dicts, lists and arrays are equal to the byte."""
    return pickle.dumps(a) == pickle.dumps(b)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.filterwarnings("ignore")
def test_pettingzoos_own_tests_pass(game, make):
    parallel_api_test(make(game), 300)
    parallel_seed_test(lambda: make(game), 100)
    api_test(parallel_to_aec(make(game)), 300)
    parallel_api_test(make(game, leave=False), 100)
    api_test(parallel_to_aec(make(game, mask="info")), 100)


@pytest.mark.filterwarnings("ignore")
def test_the_issues_own_example_passes(make):
    env = make("staghunt", size=8, blocks=5)
    parallel_api_test(env, 300)
    parallel_seed_test(lambda: make("staghunt", size=8, blocks=5), 100)
    api_test(parallel_to_aec(make("staghunt", size=8, blocks=5)), 300)
    assert env.spec_of_game["obs"]["height"] == 8
    assert env.spec_of_game["params"]["blocks"] == 5


@pytest.mark.parametrize("game", GAMES)
def test_a_seed_gives_the_same_bytes_again_and_elsewhere(game, make):
    env, other = make(game), make(game)
    first = play(env, 7)
    assert same(first, play(env, 7))
    assert same(first, play(other, 7))
    if game != "matrix":  # in which nothing is drawn
        assert not same(first, play(env, 8))


def test_without_a_seed_episodes_go_on_from_the_last_seed(make):
    env, other = make("staghunt"), make("staghunt")
    env.reset(seed=1)
    other.reset(seed=1)
    second, again = env.reset()[0], other.reset()[0]
    assert same(second, again)
    assert not same(second, env.reset()[0])
    fresh, another = make("staghunt"), make("staghunt")
    assert not same(fresh.reset()[0], another.reset()[0])  # nobody asked for a seed


def test_a_seed_starts_what_hop_play_shows(make):
    env = make("staghunt", render_mode="ansi")
    env.reset(seed=7)
    shown = subprocess.run(
        [sys.executable, "-m", "hop_marl", "play", "--team", "ns", "--seed", "7", "--plain"],
        capture_output=True, text=True, check=True,
    ).stdout
    first = [line[:17] for line in shown.splitlines()[2:6]]
    assert [line[:17] for line in env.render().splitlines()[2:6]] == first


def test_agents_leave_when_they_leave_the_game(make):
    env, rng = make("staghunt"), np.random.default_rng(3)
    staggered = False
    for seed in range(20):
        obs, _ = env.reset(seed=seed)
        gone = set()
        while env.agents:
            before = list(env.agents)
            obs, rewards, terminated, truncated, infos = env.step(
                legal({a: obs[a] for a in before}, rng)
            )
            for part in (obs, rewards, terminated, truncated, infos):
                assert list(part) == before
            gone |= {a for a in before if terminated[a]}
            assert env.agents == [a for a in before if a not in gone]
            assert not any(truncated.values())
            staggered = staggered or 0 < len(env.agents) < 4
        assert env.step({}) == ({}, {}, {}, {}, {})
    assert staggered


def test_exits_terminate_and_limits_truncate(make):
    env = make("cartpole", limit=5)
    env.reset(seed=1)
    for k in range(5):
        _, _, terminated, truncated, _ = env.step({"agent_0": k % 2})
    assert truncated == {"agent_0": True} and terminated == {"agent_0": False}
    env = make("cartpole")
    env.reset(seed=1)
    while env.agents:
        _, _, terminated, truncated, _ = env.step({"agent_0": 0})
    assert terminated == {"agent_0": True} and truncated == {"agent_0": False}


def test_observations_fit_their_spaces_and_may_be_kept(make):
    for game in GAMES:
        env = make(game)
        shown = play(env, 5)
        for step in shown:
            for agent, obs in step[0].items():
                assert env.observation_space(agent).contains(obs), (game, agent)
        kept = pickle.dumps(shown)
        play(env, 6)
        assert pickle.dumps(shown) == kept


def test_the_fixed_view_keeps_everyone_and_pays_the_same(make):
    env, leaving = make("staghunt", leave=False), make("staghunt")
    rng, quiet = np.random.default_rng(1), 0
    for seed in range(10):
        obs, infos = env.reset(seed=seed)
        leaving.reset(seed=seed)
        total, wanted = dict.fromkeys(env.agents, 0.0), dict.fromkeys(env.agents, 0.0)
        while env.agents:
            assert len(env.agents) == 4
            was = {a: infos[a]["alive"] for a in env.agents}
            assert leaving.agents == [a for a in env.agents if was[a]]
            actions = legal(obs, rng)
            for a, r in leaving.step(actions)[1].items():
                wanted[a] += r
            obs, rewards, terminated, truncated, infos = env.step(actions)
            ended = set(terminated.values())
            assert len(ended) == 1 and not any(truncated.values())
            for a in rewards:
                total[a] += rewards[a]
                if not was[a]:
                    quiet += 1
                    assert rewards[a] == 0 and not obs[a]["observation"].any()
                    assert obs[a]["action_mask"].tolist() == [1, 0, 0, 0, 0, 0, 0]
        assert ended == {True} and leaving.agents == [] and total == wanted
    assert quiet > 0


def test_masks_in_infos(make):
    a, b = make("staghunt"), make("staghunt", mask="info")
    obs, _ = a.reset(seed=3)
    plain, infos = b.reset(seed=3)
    for agent in obs:
        assert np.array_equal(obs[agent]["observation"], plain[agent])
        assert np.array_equal(obs[agent]["action_mask"], infos[agent]["action_mask"])
        assert b.observation_space(agent).contains(plain[agent])


def test_supersuit_wraps_it(make):
    ss = pytest.importorskip("supersuit")
    plain = {"mask": "info", "illegal": "replace"}
    env = ss.pad_observations_v0(ss.pad_action_space_v0(make("tag", **plain)))
    env.reset(seed=1)
    assert env.step({a: 0 for a in env.agents})[0].keys() == set(env.possible_agents)
    stacked = ss.frame_stack_v1(ss.flatten_v0(ss.dtype_v0(make("staghunt", **plain), "float32")), 3)
    obs, _ = stacked.reset(seed=1)
    assert obs["agent_0"].size == 3 * make("staghunt").spec_of_game["obs"]["length"]
    # Agents die: SuperSuit's own recipe, and ours.
    for env in (
        ss.black_death_v3(make("staghunt", **plain)),
        make("staghunt", leave=False, **plain),
    ):
        vec = ss.pettingzoo_env_to_vec_env_v1(env)
        vec = ss.concat_vec_envs_v1(vec, 2, num_cpus=0, base_class="gymnasium")
        obs, _ = vec.reset(seed=1)
        assert obs.shape[0] == 8
        for _ in range(60):
            obs, rewards, terminated, truncated, infos = vec.step(np.full(8, 4))
            assert obs.shape[0] == rewards.shape[0] == terminated.shape[0] == 8
        vec.close()


def test_illegal_actions(make):
    def hunt_nothing(env):
        obs, _ = env.reset(seed=1)
        bad = int(np.flatnonzero(obs["agent_2"]["action_mask"] == 0)[0])
        actions = dict.fromkeys(env.agents, 4) | {"agent_2": bad}
        return env.step(actions)

    with pytest.raises(hop.HopError, match=r"agent_2 played \d \(.*\), which is not legal now"):
        hunt_nothing(make("staghunt", illegal="error"))
    env = make("staghunt")
    with pytest.warns(UserWarning, match="agent_2 played .* not legal now.*instead"):
        warned = hunt_nothing(env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(warned, hunt_nothing(env))  # one warning is enough
        assert same(warned, hunt_nothing(make("staghunt", illegal="replace")))
    stayed = make("staghunt")
    stayed.reset(seed=1)
    assert same(warned, stayed.step(dict.fromkeys(stayed.agents, 4)))


def test_what_is_wrong_is_said(make):
    env = make("staghunt")
    with pytest.raises(hop.HopError, match="reset before"):
        env.step({})
    env.reset(seed=0)
    with pytest.raises(ValueError, match="none for agent_1"):
        env.step({"agent_0": 4})
    with pytest.raises(TypeError, match="agent_0's action is 1.5"):
        env.step(dict.fromkeys(env.agents, 1.5))
    with pytest.raises(TypeError, match="want a dict by agent"):
        env.step([4, 4, 4, 4])
    with pytest.raises(ValueError, match="seed -1"):
        env.reset(seed=-1)
    env.step(dict.fromkeys(env.agents, np.int64(4)))  # numpy's numbers are numbers
    for wrong, sentence in {
        "staghnt": 'no game "staghnt"; did you mean staghunt',
        "chess": "There are cartpole",
    }.items():
        with pytest.raises(hop.HopError, match=sentence):
            hop.parallel_env(wrong)
    with pytest.raises(hop.HopError, match='no parameter "blokcs"; did you mean blocks'):
        hop.parallel_env("staghunt", blokcs=5)
    with pytest.raises(hop.HopError, match="size"):
        hop.parallel_env("staghunt", size="large")
    with pytest.raises(hop.HopError, match="-3"):
        hop.parallel_env("staghunt", size=-3)
    with pytest.raises(ValueError, match="mask is"):
        hop.parallel_env("staghunt", mask="none")
    with pytest.raises(ValueError, match="render_mode is"):
        hop.parallel_env("staghunt", render_mode="svg")
    with pytest.raises(ValueError, match="illegal is"):
        hop.parallel_env("staghunt", illegal="ignore")


@pytest.mark.parametrize("how", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_alike_and_apart(how, make):
    env, rng = make("staghunt"), np.random.default_rng(2)
    obs, _ = env.reset(seed=9)
    for _ in range(12):
        obs = {a: obs[a] for a in env.agents}
        obs = env.step(legal(obs, rng))[0]
    twin = how(env)
    assert twin.agents == env.agents
    assert twin._game.peer.pid != env._game.peer.pid
    actions = dict.fromkeys(env.agents, 4)
    assert same(env.step(actions), twin.step(actions))
    assert same(env.reset(), twin.reset())  # their streams go on alike too
    twin.close()
    env.step(dict.fromkeys(env.agents, 4))  # and the one is not the other


def test_pictures(make):
    for game in GAMES:
        env = make(game, render_mode="rgb_array")
        obs, _ = env.reset(seed=1)
        picture = env.render()
        assert picture.dtype == np.uint8 and picture.ndim == 3 and picture.shape[2] == 3
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 10
        env.step(legal(obs, np.random.default_rng(0)))
        assert env.render().shape == picture.shape
    env = make("staghunt", render_mode="ansi")
    env.reset(seed=1)
    assert "agent_3" in env.render() and "stag" in env.render()
    with pytest.raises(hop.HopError, match="render_mode"):
        make("staghunt").render()


def test_a_window(make, monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = make("staghunt", render_mode="human")
    env.metadata["render_fps"] = 1000
    env.reset(seed=1)
    env.step(dict.fromkeys(env.agents, 4))
    assert env.render() is None and pygame.display.get_init()
    env.close()
    assert not pygame.display.get_init()


def test_a_window_without_pygame_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(ImportError, match="pip install pygame"):
        hop.parallel_env("staghunt", render_mode="human")


def test_the_state_is_all_observations(make):
    env = make("staghunt")
    obs, _ = env.reset(seed=4)
    state = env.state()
    assert env.state_space.contains(state)
    assert np.array_equal(state, np.concatenate([obs[a]["observation"] for a in env.agents]))


def test_actions_are_held_to_their_space():
    """One outside of it is refused with agent and step, whatever happens to illegal ones; unknown agents too."""
    env = hop.parallel_env("staghunt")
    env.reset(seed=1)
    stay = dict.fromkeys(env.agents, 4)
    env.step(stay)
    with pytest.raises(hop.HopError, match="agent_2 played 99 in step 2, which is not in its action space: 0 to 6"):
        env.step({**stay, "agent_2": 99})
    with pytest.raises(ValueError, match="actions names walker_9; the env has agent_0"):
        env.step({**stay, "walker_9": 0})
    put_up = hop.parallel_env("staghunt", illegal="replace")
    put_up.reset(seed=1)
    put_up.step({**stay, "agent_2": 99})
