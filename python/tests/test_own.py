"""hop's agents act in environments of the user's own: parallel, AEC, and as ONNX files."""

import subprocess

import numpy as np
import pytest

import hop_marl as hop
from hop_marl._binary import binary

pytest.importorskip("pettingzoo")
import hunt

HERE = hunt.__file__.rpartition("/")[0]
SHORT = ["--steps", "600", "--set", "train.envs=4", "--set", "train.window=32", "--set", "eval.episodes=4"]


def train(folder, preset: str, env: str) -> str:
    """Trains for a moment and returns the run's folder."""
    args = [binary(), "train", preset, "--env", env, "--out", str(folder), *SHORT]
    done = subprocess.run(args, capture_output=True, text=True, cwd=HERE)
    assert done.returncode == 0, done.stderr[-2000:]
    return str(next(folder.glob("*-001")))


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> str:
    """A run on the board of hunt.py: Dict observations, masks, time and last actions added."""
    return train(tmp_path_factory.mktemp("own"), "ppo", "hunt:make")


def test_a_run_is_loaded_without_starting_its_environment(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where there is no module hunt
    monkeypatch.setenv("HOP_PYTHON", str(tmp_path / "nobody"))
    agent = hop.load(run)
    assert agent.game == "python" and agent.params["env"] == "hunt:make"


def play(env, agent, seed):
    """An episode of the agents, and what was played."""
    played = []
    observations, infos = env.reset(seed=seed)
    while env.agents:
        actions = agent.act(env, observations=observations, infos=infos)
        assert set(actions) == set(env.agents)
        for a, k in actions.items():
            assert observations[a]["action_mask"][k], f"{a} plays {k}, which its mask forbids"
        played.append(actions)
        observations, *_, infos = env.step(actions)
    return played


def test_agents_act_in_the_users_own_copy(run):
    agent, env = hop.load(run), hunt.make()
    play(env, agent, 3)  # the first episode was not followed from its reset
    first = play(env, agent, 4)
    assert first == play(env, agent, 4), "the same seed plays the same"
    env.reset(seed=9)
    actions = {a: 4 - i for i, a in enumerate(env.agents)}  # not what the agent would choose: stay, and to the right
    env.reset(seed=next(s for s in range(99) if all(env.reset(seed=s)[0][a]["action_mask"][k] for a, k in actions.items())))
    env.step(actions)
    seen = vars(env)["_hop_own"].arrays["obs"][0][:, -2 * 7 :].reshape(2, 2, 7).argmax(-1)
    assert seen.tolist() == [[4, 3], [3, 4]], "the last actions are those that were played, one's own first"
    assert any(play(env, agent, s) != first for s in range(5, 9))


def test_one_agent_of_ours_among_others(run):
    agent, env = hop.load(run + "#0"), hunt.make()
    observations, infos = env.reset(seed=1)
    steps = 0
    while env.agents:
        actions = {a: 4 for a in env.agents}
        if "hunter_1" in env.agents:
            actions["hunter_1"] = agent.act(env, "hunter_1", observations=observations, infos=infos)
            look = agent.look(env, "hunter_1")
            assert look.agent == "hunter_1" and look.policy.argmax() in np.flatnonzero(look.policy)
        observations, *_, infos = env.step(actions)
        steps += 1
    assert steps
    with pytest.raises(ValueError, match="hunter_0 to hunter_1"):
        agent.act(env, "hunter_7")


def test_the_environment_of_a_run_is_made_by_its_name(run, monkeypatch):
    monkeypatch.chdir(HERE)
    agent = hop.load(run)
    env = hop.parallel_env(agent.game, **agent.params)
    env.reset(seed=2)
    env.step({a: 4 for a in env.agents})
    assert set(agent.act(env)) == {"hunter_0", "hunter_1"}  # what reset and step returned is remembered


def test_an_exported_network_chooses_the_same(run, tmp_path):
    pytest.importorskip("onnxruntime")
    subprocess.run([binary(), "export", run, "--onnx", "--out", str(tmp_path)], check=True, capture_output=True, cwd=HERE)
    ours, net, env = hop.load(run, greedy=True), hop.onnx(tmp_path, greedy=True), hunt.make()
    for seed in range(4):
        observations, infos = env.reset(seed=seed)
        while env.agents:
            actions = net.act(env, observations=observations, infos=infos)
            assert actions == ours.act(env)
            observations, *_, infos = env.step(actions)
    drawn = hop.onnx(tmp_path / "agent-1.onnx", seed=3)
    observations, infos = env.reset(seed=9)
    assert observations["hunter_1"]["action_mask"][drawn.act(env, "hunter_1")]
    game = hop.parallel_env("staghunt")
    game.reset(seed=1)
    with pytest.raises(hop.HopError, match="numbers, those of this env have"):
        drawn.act(game)


def test_turns_are_taken_one_after_the_other(tmp_path):
    tictactoe = pytest.importorskip("pettingzoo.classic.tictactoe_v3")
    agent = hop.load(train(tmp_path, "ppo-lstm", "pettingzoo.classic.tictactoe_v3:env"))
    env = tictactoe.env()
    for seed in range(3):
        env.reset(seed=seed)
        for name in env.agent_iter():
            observation, _, end, cut, _ = env.last()
            action = agent.act(env)
            assert (action is None) == (end or cut)
            assert action is None or observation["action_mask"][action]
            env.step(action)


def test_what_cannot_be_followed_says_what_to_do(run):
    agent, env = hop.load(run), hunt.make()
    env.reset(seed=1)
    with pytest.raises(hop.HopError, match="observations=observations, infos=infos"):
        agent.act(env)
    with pytest.raises(TypeError, match="nor a PettingZoo environment"):
        agent.act(object())
    with pytest.raises(hop.HopError, match="hunter_2.* is not what was trained on"):
        other = hunt.make(hunters=3)
        agent.act(other, observations=other.reset(seed=1)[0])
    env = hunt.make()
    observations, infos = env.reset(seed=1)
    agent.act(env, observations=observations, infos=infos)
    with pytest.raises(ValueError, match="hunter_0 played 99, which is not in its action space"):
        env.step({a: 99 for a in env.agents})


def test_agents_whose_actions_are_vectors(tmp_path):
    """They act in the user's copy as they did in training, each within its own space."""
    import odd

    agent, env = hop.load(train(tmp_path, "ppo", "odd:aim"), greedy=True), odd.aim()
    played = []
    for _ in range(2):
        observations, infos = env.reset(seed=4)
        while env.agents:
            actions = agent.act(env, observations=observations, infos=infos)
            assert actions["archer_0"].shape == (2,) and actions["archer_1"].shape == (1,)
            played.append(np.concatenate(list(actions.values())))
            assert actions["archer_1"][0] != actions["archer_0"][0] / 5 - 1, "each has numbers of its own"
            observations, *_, infos = env.step(actions)
    assert len(played) == 20 and np.array_equal(played[:10], played[10:]), "the same seed plays the same"
    assert len(np.unique(np.round(played, 5), axis=0)) == 10, "other aims, other shots"
