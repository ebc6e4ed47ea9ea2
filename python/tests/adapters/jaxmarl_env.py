"""JaxMARL's environments as a PettingZoo parallel environment, for `hop train ppo --env`.

One jitted function computes a whole step, and all copies in a process share it; JAX
runs on the processor. Agents stay until the episode is over, as in SMAC: who has died
has one legal action, and shares in the team's reward.
"""

from __future__ import annotations

import functools
import os
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import jax.numpy as jnp
import jaxmarl
import jaxmarl.environments.smax as smac
import numpy as np
from gymnasium import spaces

# What one process has compiled the next need not.
jax.config.update("jax_compilation_cache_dir", os.path.join(tempfile.gettempdir(), "hop-jax-cache"))


@functools.lru_cache
def _compiled(name: str, scenario: str):
    kwargs = {"scenario": smac.map_name_to_scenario(scenario)} if scenario else {}
    env = jaxmarl.make(name, **kwargs)

    def shown(obs, state):
        parts = [jax.tree.leaves(obs[a]) for a in env.agents]
        seen = [jnp.concatenate([x.reshape(-1).astype("float32") for x in row]) for row in parts]
        masks = env.get_avail_actions(state) if scenario else {}
        return seen, [masks[a] for a in env.agents] if scenario else None

    def start(seed):
        key, first = jax.random.split(jax.random.PRNGKey(seed))
        obs, state = env.reset(first)
        return shown(obs, state), (key, state)

    def move(state, actions):
        key, now = jax.random.split(state[0])
        acts = dict(zip(env.agents, actions)) if scenario else tuple(actions)  # STORM wants a tuple
        obs, after, rewards, dones, _ = env.step_env(now, state[1], acts)
        return shown(obs, after), (key, after), [rewards[a] for a in env.agents], dones["__all__"]

    return env, jax.jit(start), jax.jit(move)


class JaxMARL:
    """One copy of an environment."""

    def __init__(self, name: str, max_cycles: int, scenario: str = ""):
        env, self._start, self._move = _compiled(name, scenario)
        self.max_cycles, self.metadata = max_cycles, {"name": name}
        self.possible_agents = [str(a) for a in env.agents]
        sizes = [x.shape for x in jax.eval_shape(self._start, 0)[0][0]]
        self._see = {a: spaces.Box(-np.inf, np.inf, n) for a, n in zip(self.possible_agents, sizes)}
        self._do = {str(a): spaces.Discrete(int(env.action_space(a).n)) for a in env.agents}
        self.observation_space, self.action_space = self._see.__getitem__, self._do.__getitem__

    def _shown(self, shown):
        seen, masks = shown
        infos = {
            a: {"action_mask": np.asarray(m)} for a, m in zip(self.possible_agents, masks or [])
        }
        return {a: np.asarray(x) for a, x in zip(self.possible_agents, seen)}, infos

    def reset(self, seed=None, options=None):
        self.agents, self._t = list(self.possible_agents), 0
        shown, self._state = self._start(seed)
        return self._shown(shown)

    def step(self, actions):
        acts = np.array([actions[a] for a in self.agents], np.int32)
        shown, self._state, rewards, over = self._move(self._state, acts)
        self._t += 1
        over, late = bool(over), self._t >= self.max_cycles
        seen, infos = self._shown(shown)
        paid = {a: float(r) for a, r in zip(self.agents, rewards)}
        ended, cut = dict.fromkeys(self.agents, over), dict.fromkeys(self.agents, late and not over)
        self.agents = [] if over or late else self.agents
        return seen, paid, ended, cut, infos


def smax(scenario: str = "3m", max_cycles: int = 100):
    """SMAX against its heuristic enemy; the scenario is one of JaxMARL's, such as 3m or 2s3z."""
    return JaxMARL("HeuristicEnemySMAX", max_cycles, scenario)


def storm(max_cycles: int = 152):
    """STORM for two: the prisoner's dilemma in a grid, of which each sees a part."""
    return JaxMARL("storm_2p", max_cycles)
