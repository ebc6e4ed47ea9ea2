"""Environments of Gymnasium, and vectors of them, recorded: every copy as one of one agent, or of several."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np


class _Lane:
    """A copy, as a PettingZoo environment that returns what it is given."""

    def __init__(self, agents: list[str], actions: int):
        self.possible_agents, self.agents = agents, list(agents)
        self._actions = actions
        self.out: Any = None

    def action_space(self, agent: str) -> Any:
        return type("Discrete", (), {"n": self._actions})()

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents = list(self.possible_agents)
        return self.out

    def step(self, actions: dict) -> Any:
        return self.out


class Lanes:
    """A vector of environments, or one, recorded. Everything passes through unchanged.

    copies: the copies as the recorder knows them, for rec.policy(..., env=envs.copies[n]) and rec.here.
    """

    def __init__(self, wrap: Callable[[Any], Any], env: Any):
        self.env = env
        space = getattr(env, "single_action_space", None)
        self._single = space is None
        space = env.action_space if self._single else space
        if type(space).__name__ != "Discrete":
            raise TypeError(f"its actions are {space}; what can be recorded are environments whose actions are Discrete")
        self._agents = getattr(env, "num_agents", 1)
        many = 1 if self._single else env.num_envs // self._agents
        names = [f"agent_{a}" for a in range(self._agents)]
        self._lanes = [_Lane(names, int(space.n)) for _ in range(many)]
        self.copies = [wrap(lane) for lane in self._lanes]
        mode = str(getattr(env, "metadata", {}).get("autoreset_mode", "")).lower().replace("_", "")
        self._same_step = "samestep" in mode
        self._over = np.ones(many, bool)
        self._alive = np.ones((many, self._agents), bool)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    def _begin(self, n: int, obs: np.ndarray, infos: dict) -> None:
        lane = self._lanes[n]
        names = lane.possible_agents
        lane.out = {a: obs[n, i] for i, a in enumerate(names)}, self._infos(n, infos)
        self._over[n], self._alive[n] = False, True
        self.copies[n].reset()

    def _infos(self, n: int, infos: dict) -> dict:
        mask = infos.get("action_mask")
        names = self._lanes[n].possible_agents
        if mask is None:
            return {a: {} for a in names}
        mask = np.asarray(mask).reshape(len(self._lanes), self._agents, -1)
        return {a: {"action_mask": mask[n, i]} for i, a in enumerate(names)}

    def _by_agent(self, x: Any) -> np.ndarray:
        x = np.asarray(x)
        rest = x.shape if self._single else x.shape[1:]
        return x.reshape(len(self._lanes), self._agents, *rest)

    def reset(self, **kwargs: Any) -> Any:
        """Resets; what comes out is returned as it is."""
        out = self.env.reset(**kwargs)
        obs = self._by_agent(out[0])
        for n in range(len(self._lanes)):
            self._begin(n, obs, out[1])
        return out

    def step(self, actions: Any) -> Any:
        """Steps; a copy that only starts its next episode is not a step of anybody."""
        out = self.env.step(actions)
        obs, rewards, ended, cut = (self._by_agent(x) for x in out[:4])
        acts, infos = self._by_agent(actions), out[4]
        last = infos.get("final_obs", infos.get("final_observation")) if self._same_step else None
        alive = infos.get("alive")
        now = self._alive if alive is None else self._by_agent(alive).astype(bool)
        for n, lane in enumerate(self._lanes):
            if self._over[n]:  # this step has only reset it
                self._begin(n, obs, infos)
                continue
            over = bool((ended[n] | cut[n]).all())
            seen = obs[n]
            if over and last is not None:
                seen = self._by_agent(np.stack(list(last)))[n] if self._agents > 1 else np.asarray(last[n])[None]
            there = [i for i in range(self._agents) if self._alive[n, i]]
            names = lane.possible_agents
            gone = {i: (bool(ended[n, i]) or not cut[n, i] and not now[n, i]) if over else not now[n, i] for i in there}
            lane.out = (
                {names[i]: seen[i] for i in there},
                {names[i]: float(rewards[n, i]) for i in there},
                {names[i]: gone[i] for i in there},
                {names[i]: over and bool(cut[n, i]) and not gone[i] for i in there},
                {a: x for a, x in self._infos(n, infos).items()},
            )
            self._alive[n] &= now[n] if not over else False
            lane.agents = [names[i] for i in range(self._agents) if self._alive[n, i]]
            self.copies[n].step({names[i]: int(acts[n, i]) for i in there})
            self._over[n] = over
            if over and self._same_step:
                self._begin(n, obs, infos)
        return out


def wrap_gymnasium(wrap: Callable[[Any], Any], env: Any) -> Lanes:
    """A Gymnasium environment, or a vector of them, recorded."""
    if not hasattr(env, "action_space") or not hasattr(env, "step"):
        raise TypeError(f"a {type(env).__name__} is not a PettingZoo parallel environment, nor one of Gymnasium")
    return Lanes(wrap, env)
