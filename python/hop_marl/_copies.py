"""One environment and its copies: who plays, what they see, and a step of it."""

from __future__ import annotations

import os
import re
import traceback
from typing import Any, Callable

import numpy as np

from ._spaces import Part, Refusal, Vector, actions
from ._wire import HopError


def raised(doing: str, e: BaseException) -> str:
    """What an environment's own code raised, with the part of the traceback that is its own."""
    frames = traceback.extract_tb(e.__traceback__)
    here = os.path.dirname(os.path.abspath(__file__))
    frames = [
        f
        for f in frames
        if "importlib" not in f.filename and os.path.dirname(os.path.abspath(f.filename)) != here
    ]
    trace = "".join(traceback.format_list(frames)).rstrip()
    text = f"{doing} raised {type(e).__name__}: {e}" + _misnamed(e)
    return text + ("\n" + trace if trace else "")


def _misnamed(e: BaseException) -> str:
    """What to do where code imports this package by the name that it had, or gets another's."""
    absent = isinstance(e, ModuleNotFoundError) and e.name == "hop"
    anothers = isinstance(e, (AttributeError, ImportError)) and "module 'hop'" in str(e).replace("from 'hop'", "module 'hop'")
    if not absent and not anothers:
        return ""
    return "; this package is imported as hop_marl: write `import hop_marl as hop`"


def _stem(agent: Any) -> str:
    """The role that an agent's name names: adversary_0 is an adversary."""
    return re.sub(r"[\W_]*\d+$", "", str(agent))


class Shape:
    """What an environment is like: who plays, what is observed, what can be done."""

    def __init__(self, name: str, env: Any, most_actions: int, lenient: bool = False):
        self.name, self.lenient = name, lenient
        classes = {c.__name__ for c in type(env).__mro__}
        self.turns = "AECEnv" in classes or (
            "ParallelEnv" not in classes and hasattr(env, "agent_iter")
        )
        if not hasattr(env, "possible_agents"):
            hint = "; it is an environment for one agent" if "Env" in classes else ""
            raise Refusal(
                f"{name} returned a {type(env).__name__} without possible_agents{hint}; want a "
                "PettingZoo parallel or AEC environment"
            )
        self.agents: list[Any] = list(env.possible_agents)
        if not self.agents or len(self.agents) > 64:
            raise Refusal(f"{name} has {len(self.agents)} possible agents; want 1 to 64")
        self.declared: dict = (
            getattr(env, "hop_layout", None) or getattr(env, "metadata", {}).get("hop") or {}
        )
        self.parts: list[Part] = []
        self.actions: list[list[Any]] = []
        self.vectors: list[Vector] = []  # of each agent, if actions are vectors
        self.dicts: list[bool] = []  # the observation proper stands in a Dict, beside its mask
        roles: list[tuple] = []
        for a in self.agents:
            space, acts = self._space(env, "observation", a), self._space(env, "action", a)
            inner = getattr(space, "spaces", space if isinstance(space, dict) else {})
            self.dicts.append(
                type(space).__name__ == "Dict"
                and "observation" in inner
                and set(inner) <= {"observation", "action_mask"}
            )
            self.parts.append(
                Part(
                    f"the observation space of agent {a}",
                    inner["observation"] if self.dicts[-1] else space,
                    lenient,
                )
            )
            if type(acts).__name__ == "Box":
                self.vectors.append(Vector(a, acts, most_actions))
                self.actions.append(list(range(self.vectors[-1].size)))
            else:
                self.actions.append(actions(a, acts, most_actions))
            roles.append((_stem(a), self.parts[-1].size, len(self.actions[-1])))
        if self.vectors and (self.turns or len(self.vectors) < len(self.agents)):
            why = "its agents act one after the other" if self.turns else "others choose among actions with names"
            raise Refusal(
                f"{name}: actions of some agents are vectors (Box), and {why}; want a parallel environment in which the "
                "actions of all agents are vectors, or none"
            )
        kinds = sorted(set(roles), key=roles.index)
        self.roles = len(kinds) if len(kinds) > 1 and not self.declared else 0
        self.role = [kinds.index(r) for r in roles]
        self.most = max(len(a) for a in self.actions)
        self.numbers = max(p.size for p in self.parts)
        self.width = self.numbers + self.roles + self.turns
        self.base = np.zeros(
            (len(self.agents), self.most), np.uint8
        )  # the actions that each agent has
        for s, acts in enumerate(self.actions):
            self.base[s, : len(acts)] = 1
        self.names = self._names(env)

    def _space(self, env: Any, kind: str, agent: Any) -> Any:
        try:
            return getattr(env, f"{kind}_space")(agent)
        except Exception as e:
            raise Refusal(raised(f"{self.name}: {kind}_space({agent!r})", e)) from None

    def _names(self, env: Any) -> list[str]:
        names = self.declared.get("actions") or [str(k) for k in range(self.most)]
        if len(names) != self.most:
            raise Refusal(f"hop_layout names {len(names)} actions, and {self.name} has {self.most}")
        return [str(n) for n in names]

    def horizon(self, env: Any) -> int:
        """How long an episode can be, as far as the environment says; 0 if it does not."""
        found = self.declared.get("horizon")
        for owner in (env, getattr(env, "unwrapped", None), getattr(env, "spec", None)):
            for name in (
                "max_cycles",
                "max_steps",
                "max_episode_steps",
                "_max_episode_steps",
                "horizon",
            ):
                try:
                    value = getattr(owner, name, None)
                except Exception:  # wrappers refuse names that they do not know
                    continue
                if found is None and isinstance(value, (int, np.integer)) and value > 0:
                    found = int(value) * (len(self.agents) if self.turns else 1)
        return int(found or 0)


    def _picture(self) -> list[int]:
        """Height, width and channels of the picture that everybody sees, or zeros."""
        seen = {tuple(p.picture) for p in self.parts}
        return list(seen.pop()) if len(seen) == 1 and all(seen) and not self.declared else [0, 0, 0]

    def describe(self) -> dict[str, Any]:
        """What hop must know of it."""
        shapes = {p.shape for p in self.parts}
        only = shapes.pop() if len(shapes) == 1 else ()
        return {
            "agents": [str(a) for a in self.agents],
            "actions": self.names,
            "width": self.width,
            "numbers": self.numbers,
            "roles": self.roles,
            "picture": self._picture(),
            "turns": self.turns,
            "vectors": bool(self.vectors),
            "layout": self.declared or None,
            "board": list(only) if len(only) == 3 else [],  # height, width and planes, if it is one for everybody
            "same": len(set(self.role)) == 1,
        }


class Row:
    """The numbers of one copy: pieces of shared memory, or memory of its own."""

    def __init__(self, shape: Shape, arrays: dict[str, np.ndarray] | None = None, i: int = 0):
        n, k = len(shape.agents), shape.most
        if arrays is None:
            arrays = {
                "obs": np.zeros((1, n, shape.width), np.float32),
                "mask": np.zeros((1, n, k), np.uint8),
                "alive": np.zeros((1, n), np.uint8),
                "cut": np.zeros((1, n), np.uint8),
                "reward": np.zeros((1, n), np.float32),
                "action": np.zeros((1, n), np.int32),
                "at": np.zeros(4, np.int64),
                "vector": np.zeros((1, n, k), np.float32),
            }
        self.obs, self.mask, self.alive = arrays["obs"][i], arrays["mask"][i], arrays["alive"][i]
        self.cut, self.reward, self.action = (
            arrays["cut"][i],
            arrays["reward"][i],
            arrays["action"][i],
        )
        self.vector = arrays["vector"][i] if shape.vectors else None
        self.lenient = arrays["at"][3:]  # how much was put up with
        self.write = [p.writer(self.obs[s, : p.size], self.lenient) for s, p in enumerate(shape.parts)]

    def copy(self) -> list[np.ndarray]:
        """What it holds now."""
        return [x.copy() for x in (self.obs, self.mask, self.alive, self.cut, self.reward)]


class Copy:
    """One copy of an environment. Seats are the places of agents in possible_agents."""

    def __init__(self, shape: Shape, make: Callable[[], Any], row: Row):
        self.shape, self.row, self.make = shape, row, make
        self.env: Any = None
        self.number = {a: s for s, a in enumerate(shape.agents)}
        self.names = frozenset(shape.agents)
        self.alive: list[int] = []  # seats, in order
        self.named: set[int] = (
            set()
        )  # seats that have left and are still among the environment's agents
        self.full = [False] * len(shape.agents)  # seats whose mask allows everything they have
        self.t, self.seed, self.doing = 0, 0, ""

    def reset(self, seed: int) -> None:
        """Starts an episode."""
        self.t, self.seed = 0, seed
        try:
            if self.env is None:
                self.doing = "making it"
                self.env = self.make()
            self.doing = "reset"
            self._reset(seed)
        except HopError as e:
            raise HopError(self._at(str(e))) from None
        except BaseException as e:
            raise HopError(self._at(raised(self.doing, e))) from None

    def step(self) -> None:
        """Plays the actions of the row."""
        self.t += 1
        self.doing = "step"
        self.row.reward[...] = 0
        try:
            self._step()
        except HopError as e:
            raise HopError(self._at(str(e))) from None
        except BaseException as e:
            raise HopError(self._at(raised(self.doing, e))) from None

    def _at(self, text: str) -> str:
        return f"{self.shape.name}, step {self.t} of the episode with seed {self.seed}: {text}"

    def _seat(self, agent: Any) -> int:
        seat = self.number.get(agent)
        if seat is None:
            raise Refusal(
                f"there is an agent {agent!r}, which possible_agents does not name: "
                f"{self.shape.agents}"
            )
        return seat

    def _begin(self) -> None:
        row, shape = self.row, self.shape
        row.obs[...] = 0
        row.mask[...], row.alive[...], row.cut[...], row.reward[...] = 0, 0, 0, 0
        self.full = [False] * len(shape.agents)
        if shape.roles:
            for s, role in enumerate(shape.role):
                row.obs[s, shape.numbers + role] = 1
        self.alive, self.named = sorted(self._seat(a) for a in self.env.agents), set()
        if not self.alive:
            raise Refusal("nobody plays: agents is empty after reset")
        row.alive[self.alive] = 1

    def _observe(self, seat: int, got: Any, info: Any) -> None:
        """Writes what a seat sees, and what it may do if somebody says so."""
        mask = None
        if isinstance(got, dict):
            mask = got.get("action_mask")
            if self.shape.dicts[seat]:
                got = got["observation"]
        if mask is None and info:
            mask = info.get("action_mask")
        self.row.write[seat](got)
        if mask is not None:
            self._mask(seat, mask)
        elif not self.full[seat]:
            self.row.mask[seat], self.full[seat] = self.shape.base[seat], True

    def _mask(self, seat: int, mask: Any) -> None:
        n = len(self.shape.actions[seat])
        mask = np.asarray(mask)
        if mask.shape != (n,):
            raise Refusal(
                f"agent {self.shape.agents[seat]} has {n} actions and an action_mask of shape "
                f"{mask.shape}"
            )
        self.row.mask[seat, :n], self.full[seat] = mask != 0, False

    def _reset(self, seed: int) -> None:
        self.began(self.env.reset(seed=seed))

    def began(self, out: Any) -> None:
        """Takes what a reset returned."""
        obs, infos = out if isinstance(out, tuple) and len(out) == 2 else (out, {})
        self._begin()
        for s in self.alive:
            a = self.shape.agents[s]
            if a not in obs:
                raise Refusal(f"reset gave agent {a} no observation")
            self._observe(s, obs[a], infos.get(a))

    def _step(self) -> None:
        if self.shape.vectors:
            self.took(self.env.step({self.shape.agents[s]: self.shape.vectors[s].given(self.row.vector[s]) for s in self.alive}))
            return
        played, agents, acts = self.row.action.tolist(), self.shape.agents, self.shape.actions
        self.took(self.env.step({agents[s]: acts[s][played[s]] for s in self.alive}))

    def took(self, out: Any) -> None:
        """Takes what a step returned."""
        row, agents = self.row, self.shape.agents
        obs, rewards, terminated, truncated, infos = out
        self._known(obs, rewards, terminated, truncated, infos)
        here = self.env.agents
        left = []
        for s in self.alive:
            a = agents[s]
            paid = rewards.get(a, 0.0)
            row.reward[s] = paid if isinstance(paid, float) else self._paid(a, paid)  # NumPy's float64 is one
            if a in obs:
                self._observe(s, obs[a], infos.get(a))
            end, cut = terminated.get(a, False), truncated.get(a, False)
            if end or cut or a not in here:
                left.append(s)
                row.alive[s] = 0
                row.cut[s] = bool(cut) and not end
            elif a not in obs:
                raise Refusal(f"step gave agent {a} no observation, and it has not left")
        if left:
            self.alive = [s for s in self.alive if s not in left]
        if len(here) != len(self.alive):
            self._strangers(here, left)

    def _paid(self, agent: Any, reward: Any) -> float:
        """A reward that is no plain float: a number of another kind, or something to refuse."""
        got = np.asarray(reward)
        if got.dtype.kind not in "fiub" or got.ndim and not (self.shape.lenient and got.size == 1):
            raise Refusal(
                f"agent {agent} gets the reward {reward!r:.100}, of type {type(reward).__name__}"
                + (f" and shape {got.shape}" if got.ndim else "")
                + "; want a number: use float(...), or --lenient, which takes arrays of one number and counts them"
            )
        self.row.lenient[0] += got.ndim > 0
        return float(got.reshape(()))

    def _known(self, *given: Any) -> None:
        """Refuses names of agents that nobody knows."""
        for name, d in zip(("observations", "rewards", "terminations", "truncations", "infos"), given):
            if self.names.issuperset(d):
                continue
            if not self.shape.lenient:
                more = sorted(map(str, d.keys() - self.number.keys()))
                raise Refusal(f"{name} has {', '.join(more)}, and possible_agents names {self.shape.agents}")
            self.row.lenient[0] += 1

    def _strangers(self, here: list, left: list[int]) -> None:
        """Refuses agents that come back, or that come later: who has left is done with."""
        more = {self._seat(a) for a in here} - set(self.alive)
        for s in sorted(more - self.named - set(left)):
            raise self._again(s)
        self.named = more  # some environments go on naming those who have left

    def _again(self, seat: int) -> Refusal:
        return Refusal(
            f"agent {self.shape.agents[seat]} plays after it had left, or joined after reset; "
            "an agent leaves once: let it stay, with one action in its action_mask while it waits"
        )


class Turns(Copy):
    """A copy of an AEC environment: a step is one agent's turn.

    Everybody else has one forced action meanwhile, number 0, and sees what it can see
    from its place. Whose turn it is stands in the last number of an observation.
    """

    def _reset(self, seed: int) -> None:
        self.began(self.env.reset(seed=seed))

    def began(self, out: Any) -> None:
        """Takes what the environment is like after a reset."""
        self._begin()
        self._pass()
        self._look()

    def _pass(self) -> None:
        """Takes the empty turns of those who have left."""
        env = self.env
        while self.alive and self._gone(env.agent_selection):
            env.step(None)

    def _gone(self, agent: Any) -> bool:
        env = self.env
        return agent not in env.agents or env.terminations[agent] or env.truncations[agent]

    def _look(self) -> None:
        env, row, turn = self.env, self.row, self.shape.width - 1
        now = env.agent_selection if self.alive else None
        if self.alive and self._seat(now) not in self.alive:
            raise self._again(self._seat(now))
        for s in self.alive:
            a = self.shape.agents[s]
            self._observe(s, env.observe(a), env.infos.get(a) if a == now else None)
            row.obs[s, turn] = a == now
            if a != now:
                row.mask[s], self.full[s] = 0, False
                row.mask[s, 0] = 1

    def _step(self) -> None:
        seat = self.number[self.env.agent_selection]
        self.took(self.env.step(self.shape.actions[seat][int(self.row.action[seat])]))

    def took(self, out: Any) -> None:
        """Takes what the environment is like after a turn."""
        env, row, agents = self.env, self.row, self.shape.agents
        left = []
        for s in self.alive:
            a = agents[s]
            row.reward[s] = self._paid(a, env.rewards.get(a, 0.0))
            if self._gone(a):
                left.append(s)
                row.alive[s] = 0
                row.cut[s] = env.truncations.get(a, False) and not env.terminations.get(a, False)
                if a in env.agents:
                    row.write[s](self._proper(s, env.observe(a)))
                row.obs[s, self.shape.width - 1] = 0
        if left:
            self.alive = [s for s in self.alive if s not in left]
        self._pass()
        self._look()

    def _proper(self, seat: int, got: Any) -> Any:
        return got["observation"] if self.shape.dicts[seat] else got
