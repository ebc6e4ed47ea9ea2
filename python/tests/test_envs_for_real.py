"""Environments that people use, trained for a short while by PPO: above random play, each of them.

How random players do is measured here too. What longer runs come to, beside published
figures and PyTorch, is in docs/environments.md.
"""

import json
import pathlib

import pytest
from test_train_env import HERE, hop

ADAPTERS = HERE / "adapters"

# Where agents compete, those that learn do so among random ones: the seats of `team` that say
# random are random before and after.
REAL = {
    "simple_spread": dict(needs="mpe2", env="mpe2.simple_spread_v3:parallel_env", steps=24_000),
    "simple_tag": dict(
        needs="mpe2",
        env="mpe2.simple_tag_v3:parallel_env",
        steps=8_000,
        team=["random", "random", "random", "learn"],
    ),
    "simple_adversary": dict(
        needs="mpe2",
        env="mpe2.simple_adversary_v3:parallel_env",
        steps=16_000,
        team=["random", "learn", "learn"],
    ),
    "lbforaging": dict(
        needs="lbforaging",
        env="lbf_env:make",
        steps=20_000,
        sets=['game.kwargs={"name": "Foraging-5x5-2p-1f-v3"}'],
    ),
    "tictactoe": dict(
        needs="pettingzoo",
        env="pettingzoo.classic.tictactoe_v3:env",
        steps=16_000,
        team=["random", "learn"],
    ),
    "connect_four": dict(
        needs="pettingzoo",
        env="pettingzoo.classic.connect_four_v3:env",
        steps=24_000,
        team=["learn", "random"],
    ),
    "smax": dict(needs="jaxmarl", env="jaxmarl_env:smax", steps=10_000, workers=1),
    "storm": dict(needs="jaxmarl", env="jaxmarl_env:storm", steps=16_000, workers=1),
}


@pytest.mark.parametrize("name", REAL)
def test_ppo_is_above_random(name, tmp_path):
    """By more than two standard errors of the difference, which is about 1.5 of one figure's."""
    real = REAL[name]
    pytest.importorskip(real["needs"])
    more = [f"--set={s}" for s in [*real.get("sets", []), f"game.workers={real.get('workers', 2)}"]]
    env = ["--env", real["env"], *more]
    said = hop("eval", *env, "--team=random", "--episodes=128", "--json", cwd=ADAPTERS)
    seats = json.loads(said)["seats"]
    team = real.get("team", ["learn"] * len(seats))
    said = hop(
        *["train", "ppo", *env, f"--set=train.team={json.dumps(team)}", "--steps", real["steps"]],
        *["--set=eval.episodes=128", "--out", tmp_path, "--json"],
        cwd=ADAPTERS,
    )
    run = pathlib.Path(json.loads(said)["run"]) / "seed-1"
    agents = json.loads((run / "result.json").read_text())["agents"]
    learnt = [i for i, who in enumerate(team) if who == "learn"]
    trained = sum(agents[i] for i in learnt) / len(learnt)
    random = sum(seats[i]["mean"] for i in learnt) / len(learnt)
    error = max(seats[i]["se"] for i in learnt)
    print(f"{name}: random {random:.3f} ± {error:.3f}, after {real['steps']} steps {trained:.3f}")
    assert trained > random + 3 * error
