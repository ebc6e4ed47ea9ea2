"""A fast part of the bugs that others made (python/bench/bugs): each is accused, and passes once it is mended.

Needs the hop program, torch and gymnasium, the mutants also stable-baselines3; without them it is skipped with a word.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")
pytestmark = pytest.mark.skipif(not (os.environ.get("HOP_BINARY") or shutil.which("hop")),
                                reason="needs the hop program: set HOP_BINARY")

BUGS = Path(__file__).parent.parent / "bench" / "bugs"
sys.path.insert(0, str(BUGS))

# What each is found by.
CASES = {
    "cleanrl_198": "advantages",
    "rl_games_128": "advantages",
    "sb3_183": "advantages",
    "oprl_5": "advantages",
    "rlinf_1568": "the value loss",
    "pettingzoo_262": "every agent learns from its own rows",
}
MUTANTS = {"": "", "RN": "learnt rewards", "R": "learnt rows were played", "ILF value": "values follow returns"}


@pytest.mark.parametrize("name", CASES)
def test_real_bugs_are_found_and_mended_ones_pass(tmp_path, name):
    from run import audit

    case = importlib.import_module(name)
    for fixed in (False, True):
        case.Case(str(tmp_path / "run.npz"), fixed).go()
        verdict, check, says = audit(str(tmp_path / "run.npz"))
        assert (check == "" if fixed else check == CASES[name]), (fixed, verdict, check, says)


@pytest.mark.parametrize("what", MUTANTS)
def test_mutants_of_stable_baselines_are_found(tmp_path, what):
    pytest.importorskip("stable_baselines3")
    from rlmutation import train
    from run import audit

    train(str(tmp_path / "run.npz"), "PPO", "CartPole-v1", what, 1)
    verdict, check, says = audit(str(tmp_path / "run.npz"))
    assert check == MUTANTS[what], (verdict, check, says)


@pytest.mark.parametrize("wrapped", [True, False])
def test_what_lies_between_may_normalise_and_stack(tmp_path, wrapped):
    """Healthy: observations and rewards are normalised, episodes end by a time limit; and sights may be stacked."""
    sb3 = pytest.importorskip("stable_baselines3")
    import gymnasium as gym
    from hop_marl.sb3 import RecorderCallback
    from run import audit
    from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

    for above in (VecNormalize, lambda env: VecFrameStack(env, 2)):
        recorder = RecorderCallback(tmp_path / "run.npz")
        make = lambda: gym.make("CartPole-v1", max_episode_steps=25)
        env = DummyVecEnv([lambda: recorder.wrap(make()) if wrapped else make()] * 4)
        env.seed(1)
        sb3.PPO("MlpPolicy", above(env), n_steps=64, batch_size=64, n_epochs=3, device="cpu", seed=1).learn(
            2048, callback=recorder)
        assert audit(str(tmp_path / "run.npz")) == ("pass", "", "")


def test_no_case_is_long():
    for path in BUGS.glob("*.py"):
        if path.stem not in ("small", "run", "rlmutation", "page"):
            text = path.read_text()
            assert len(text.splitlines()) <= 80 and "SOURCE = " in text, path
