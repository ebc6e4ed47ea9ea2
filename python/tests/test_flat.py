"""hop.vec_env(..., flat=True): as gymnasium, Stable-Baselines3 and CleanRL have it."""

import numpy as np
import pytest

import hop_marl as hop

pytest.importorskip("gymnasium")
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers


@pytest.fixture
def make():
    """Makes envs and closes them after the test."""
    made = []

    def build(*args, **kwargs):
        made.append(hop.vec_env(*args, flat=True, **kwargs))
        return made[-1]

    yield build
    for env in made:
        env.close()


def test_it_is_the_same_play_by_agent(make):
    flat, plain = make("staghunt", 3), hop.vec_env("staghunt", 3)
    obs, infos = flat.reset(seed=5)
    want, about = plain.reset(seed=5)
    assert flat.num_envs == 12 and obs.shape == (12, plain.obs_length) and obs in flat.observation_space
    for _ in range(80):
        np.testing.assert_array_equal(obs.reshape(want.shape), want)
        np.testing.assert_array_equal(infos["alive"].reshape(3, 4), about["alive"])
        np.testing.assert_array_equal(infos["action_mask"].reshape(3, 4, -1), about["action_mask"])
        actions = flat.random_actions()
        assert actions.shape == (12,)
        obs, rewards, ended, cut, infos = flat.step(actions)
        want, paid, _, truncated, about = plain.step(plain.random_actions())
        np.testing.assert_array_equal(rewards.reshape(3, 4), paid)
        np.testing.assert_array_equal((ended | cut).reshape(3, 4), np.repeat(about["over"][:, None], 4, 1))
        assert not (cut & ended).any()
    plain.close()


def test_a_limit_from_outside_is_a_truncation(make):
    """A pole that is kept up is cut off at the horizon, and one that falls has ended: never both."""
    env = make("cartpole", 8)
    obs, _ = env.reset(seed=1)
    ends = cuts = 0
    for _ in range(1300):
        keep = (obs[:, 2] + 0.3 * obs[:, 3] + 0.05 * obs[:, 0] + 0.1 * obs[:, 1] > 0).astype(int)
        keep[4:] = 0  # half of them fall
        obs, _, ended, cut, _ = env.step(keep)
        assert not (ended & cut).any()
        ends, cuts = ends + ended[4:].sum(), cuts + cut[:4].sum()
    assert ends > 100 and cuts > 0


def test_both_ways_to_start_the_next_episode_play_the_same(make):
    """The same rewards, observations and ends; with same_step without the steps that only reset."""
    later, at_once = make("staghunt", 1), make("staghunt", 1, autoreset="same_step")
    assert later.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    assert at_once.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    a, _ = later.reset(seed=3)
    b, _ = at_once.reset(seed=3)
    over = 0
    for _ in range(150):
        np.testing.assert_array_equal(a, b)
        a, paid, ended, _, _ = later.step(later.random_actions())
        b, same, done, _, infos = at_once.step(at_once.random_actions())
        np.testing.assert_array_equal(paid, same)
        np.testing.assert_array_equal(ended, done)
        if done.any():
            over += 1
            np.testing.assert_array_equal(infos["final_obs"], a)
            a, paid, ended, *_ = later.step(np.zeros(4, int))  # only starts the next
            assert not paid.any() and not ended.any()
    assert over > 3


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_gymnasiums_wrappers_take_it(make, autoreset):
    env = make("staghunt", 8, autoreset=autoreset)
    counted = wrappers.NormalizeReward(wrappers.RecordEpisodeStatistics(env))
    counted.reset(seed=1)
    returns = []
    for _ in range(120):
        *_, infos = counted.step(env.random_actions())
        if "episode" in infos:
            returns += infos["episode"]["r"][infos["_episode"]].tolist()
    assert len(returns) > 32 and 0 < np.mean(returns) < 3 and max(returns) in (1.0, 5.0)


def test_cleanrls_loop_takes_it_unchanged(make):
    """What CleanRL's ppo.py asks of its envs."""
    torch = pytest.importorskip("torch")
    envs = wrappers.RecordEpisodeStatistics(make("staghunt", 2, autoreset="same_step"))
    net = torch.nn.Linear(int(np.prod(envs.single_observation_space.shape)), envs.single_action_space.n)
    next_obs, _ = envs.reset(seed=1)
    seen = 0
    for _ in range(80):
        with torch.no_grad():
            action = torch.distributions.Categorical(logits=net(torch.Tensor(next_obs))).sample()
        next_obs, reward, terminations, truncations, infos = envs.step(action.cpu().numpy())
        assert torch.tensor(reward).view(-1).shape == (8,) and np.logical_or(terminations, truncations).shape == (8,)
        seen += "episode" in infos
    assert seen


def test_stable_baselines_learns_on_it(make):
    sb3 = pytest.importorskip("stable_baselines3")
    env = make("staghunt", 4, autoreset="same_step", illegal="replace").sb3()
    model = sb3.PPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, device="cpu", seed=1)
    model.learn(1024)
    assert len(model.ep_info_buffer) == 0  # a VecMonitor counts episodes
    from stable_baselines3.common.vec_env import VecMonitor

    watched = VecMonitor(make("staghunt", 4, autoreset="same_step", illegal="replace").sb3())
    model.set_env(watched)
    model.learn(2048)
    assert len(model.ep_info_buffer) > 4
    with pytest.raises(ValueError, match="same_step"):
        make("staghunt", 1).sb3()


def test_maskable_ppo_never_plays_what_is_not_legal(make):
    contrib = pytest.importorskip("sb3_contrib")
    env = make("staghunt", 4, autoreset="same_step", illegal="error").sb3()
    model = contrib.MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, device="cpu", seed=1)
    model.learn(1024)  # illegal="error" refuses the first wrong action
