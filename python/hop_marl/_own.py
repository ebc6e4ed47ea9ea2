"""Environments of the user's own, in the user's process, as games that hop's agents act in.

The first time that an agent is asked to act in one, its `reset` and `step` are followed: what they
return is encoded as it was in training (Dict, masks, roles, whose turn it is) and handed to hop.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

import numpy as np

from ._binary import binary
from ._copies import Copy, Row, Shape, Turns
from ._game import _NEXT, _SEED, START, STEP, Game
from ._named import find
from ._wire import HopError, Peer

_MOST_ACTIONS = 32  # game.MaxActions


class Own(Game):
    """An environment of the user's. Make it with `follow`."""

    def __init__(self, env: Any, **who: Any):
        self.env = env
        self.shape = Shape(type(env).__name__, env, _MOST_ACTIONS)
        horizon = self.shape.horizon(env) or 1000
        if (told := (who.pop("params", None) or {}).get("horizon")) and int(told) > 0:
            horizon = int(told)
        self.names = [str(a) for a in self.shape.agents]
        self.peer = Peer([binary(), "bridge"])
        try:
            self.spec: dict = self.peer.call("host", about={**self.shape.describe(), "horizon": horizon}, **who)
            self.spec["turns"] = self.shape.turns
            self.arrays: dict[str, np.ndarray] = self.peer.share(self.spec.pop("arrays"))
        except BaseException:
            self.peer.close()
            raise
        own = {k.removeprefix("own_"): x for k, x in self.arrays.items() if k.startswith("own_")}
        own["action"], own["at"] = np.zeros((1, len(self.names)), np.int32), np.zeros(4, np.int64)
        own["vector"] = np.zeros((1, len(self.names), self.shape.most), np.float32)
        self.copy = (Turns if self.shape.turns else Copy)(self.shape, lambda: env, Row(self.shape, own))
        self.copy.env = env
        self.started, self.lost = False, ""
        self._follow()

    def _follow(self) -> None:
        """Lets the environment's reset and step tell what they did."""
        env, reset, step = self.env, self.env.reset, self.env.step

        def resetting(seed: int | None = None, options: Any = None, **more: Any) -> Any:
            if options is not None:
                more["options"] = options
            out = reset(seed=seed, **more)
            self.began(out, seed)
            return out

        def stepping(actions: Any) -> Any:
            numbers = self._numbers(actions)
            out = step(actions)
            self._took(out, numbers)
            return out

        env.reset, env.step, env._hop_own = resetting, stepping, self

    def began(self, out: Any, seed: int | None) -> None:
        """An episode has begun: of a seed, or the next one."""
        self.copy.t, self.copy.seed = 0, -1 if seed is None else seed
        self.copy.began(out)
        if seed is None and not self.started:
            seed = secrets.randbits(48)
        self.arrays["seeds"][0] = seed or 0
        self.arrays["restart"][0] = _NEXT if seed is None else _SEED
        self.peer.tick(START)
        self.started, self.lost = True, ""

    def _numbers(self, actions: Any) -> np.ndarray | None:
        """The numbers under which hop knows what is played; None: nothing that it sees."""
        c = self.copy
        if not self.started or not c.alive:
            return None
        out = np.zeros(len(self.names), np.int32)
        if self.shape.turns:
            if actions is None:
                return None
            actions = {self.env.agent_selection: actions}
        for agent, action in actions.items():
            s = c.number.get(agent)
            if s not in c.alive or self.shape.vectors:  # hop's agents see no vectors of others
                continue
            known = self.shape.actions[s]
            at = [k for k, x in enumerate(known) if np.array_equal(x, action)]
            if not at:
                raise ValueError(c._at(f"agent {agent} played {action!r}, which is not in its action space"))
            out[s] = at[0]
        return out

    def _took(self, out: Any, numbers: np.ndarray | None) -> None:
        """A step was played."""
        if numbers is None:
            return
        self.copy.t += 1
        self.copy.row.reward[...] = 0
        self.copy.took(out)
        if self.lost:
            return
        self.arrays["actions"][0] = numbers
        try:
            self.peer.tick(STEP)
        except HopError as e:
            self.lost = str(e)  # an illegal action of somebody else: the environment goes on, our agents do not
            raise
        if self.arrays["over"][0] and self.copy.alive:
            self.lost = f"the episode is longer than the {self.spec['horizon']} steps that the agents learnt with"

    def given(self, seat: int, number: int) -> Any:
        """The environment's action that a number stands for, or what hop chose where actions are vectors."""
        if self.shape.vectors:
            return self.shape.vectors[seat].given(self.arrays["vectors"][0, seat])
        return self.shape.actions[seat][number]


def follow(env: Any, observations: Any, infos: Any, **who: Any) -> Own:
    """The environment as a game. One that has been reset before must be seen as it is now."""
    own = vars(env).get("_hop_own") if hasattr(env, "__dict__") else None
    if own is not None and own.usable:
        return own
    if not hasattr(env, "possible_agents") or not hasattr(env, "step"):
        raise TypeError(
            f"a {type(env).__name__} is no env of hop's games, nor a PettingZoo environment that agents could act in"
        )
    own = Own(env, **who)
    if getattr(env, "agents", None):
        now = None
        if not own.shape.turns:
            now = (observations, infos or {}) if observations is not None else _now(env)
        own.began(now, None)
    return own


def make(name: str, kwargs: Any = None, **_: Any) -> Any:
    """The environment that a run was trained on, in this process; hop.parallel_env("python", ...).

    name: MODULE:FUNCTION; kwargs: its arguments, a dict or JSON. What else a run's parameters say is
    about hop's workers.
    """
    found = find(name, "environment", "mpe2.simple_spread_v3:parallel_env", "a function that returns an environment", "HOP_PYTHON")
    env = found(**(json.loads(kwargs or "{}") if not isinstance(kwargs, dict) else kwargs))
    reset, step = env.reset, env.step

    def resetting(seed: int | None = None, options: Any = None) -> Any:
        env._hop_seen = reset(seed=seed, options=options)
        return env._hop_seen

    def stepping(actions: Any) -> Any:
        out = step(actions)
        if isinstance(out, tuple):
            env._hop_seen = (out[0], out[-1])
        return out

    env.reset, env.step = resetting, stepping
    return env


def _now(env: Any) -> tuple[dict, dict]:
    """What agents see, of a parallel environment that was reset before hop knew of it."""
    if "_hop_seen" in vars(env):
        return env._hop_seen
    for owner in (env, getattr(env, "aec_env", None), getattr(getattr(env, "unwrapped", None), "aec_env", None)):
        observe = getattr(owner, "observe", None)
        if callable(observe):
            return {a: observe(a) for a in env.agents}, dict(getattr(owner, "infos", {}) or {})
    raise HopError(
        "this environment was reset before hop knew of it, and does not say what its agents see: hand in what "
        "reset returned, agent.act(env, observations=observations, infos=infos), the first time; or make it with "
        "hop.parallel_env(agent.game, **agent.params)"
    )
