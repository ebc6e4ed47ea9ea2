"""Plays PettingZoo environments for hop: the guest behind `hop train ppo --env module:function`.

hop starts `python -m hop.worker`, asks it to open an environment, and learns which
agents, observations and actions there are. It then asks for copies of the
environment, whose observations, masks, rewards and actions lie in shared memory: a
tick steps or resets all copies that are marked, and nothing else is said.

docs/environments.md says what environments can be like. What cannot be learnt from
is refused when the environment is opened, in a sentence that names the agent, what
it has, and what to do about it.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
import platform
import re
import sys
import traceback
from typing import Any, Callable

import numpy as np

from ._wire import HopError, serve

# What the host asks of a copy.
_STEP, _RESET = 1, 2

# More numbers than this in an observation are taken for a picture.
_MOST_NUMBERS = 20_000

# Steps and episodes by which it is found out whether episodes can be replayed.
_REPLAY_STEPS, _REPLAY_EPISODES = 60, 2

_PIXELS = (
    "hop's networks read vectors and small boards, not pixels: let the function return "
    "an environment with a vector observation, or wrap it in one that makes features"
)


class Refusal(HopError):
    """Why an environment cannot be played, as a sentence for its author."""


def load(name: str) -> Callable[..., Any]:
    """The function that `module:function` names; modules of the current folder come first."""
    module, colon, path = name.partition(":")
    if not colon or not module or not path:
        raise Refusal(f"{name!r} names no environment; want MODULE:FUNCTION, such as mpe2.simple_spread_v3:parallel_env")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as e:
        if e.name and (module == e.name or module.startswith(e.name + ".")):
            raise Refusal(
                f"there is no Python module {e.name}, neither in the current folder nor installed for {sys.executable}; "
                "install it there, or name another interpreter with --set game.python=..."
            ) from None
        raise Refusal(_raised(f"importing {module}", e)) from None
    except BaseException as e:
        raise Refusal(_raised(f"importing {module}", e)) from None
    for part in path.split("."):
        if not hasattr(found, part):
            near = [n for n in dir(found) if not n.startswith("_") and callable(getattr(found, n, None))]
            raise Refusal(f"{module} has no {path}; it has {', '.join(near[:12]) or 'no functions'}")
        found = getattr(found, part)
    if not callable(found):
        raise Refusal(f"{name} is a {type(found).__name__}, want a function that returns an environment")
    return found


def _raised(doing: str, e: BaseException) -> str:
    """What an environment's own code raised, with the part of the traceback that is its own."""
    frames = traceback.extract_tb(e.__traceback__)
    here = os.path.abspath(__file__)
    frames = [f for f in frames if "importlib" not in f.filename and os.path.abspath(f.filename) != here]
    trace = "".join(traceback.format_list(frames)).rstrip()
    text = f"{doing} raised {type(e).__name__}: {e}"
    return text + ("\n" + trace if trace else "")


class _Part:
    """Writes a value of one space into a piece of an observation's row."""

    def __init__(self, what: str, space: Any):
        self.what = what  # agent and space, for messages
        self.kind = type(space).__name__
        self.parts: list[tuple[Any, _Part]] = []
        self.shape: tuple[int, ...] = ()
        self.scale: np.ndarray | None = None
        if self.kind == "Box":
            self.shape = tuple(int(d) for d in space.shape)
            self.size = math.prod(self.shape)
            self._box(space)
        elif self.kind == "Discrete":
            self.size, self.start = int(space.n), int(getattr(space, "start", 0))
        elif self.kind == "MultiBinary":
            shape = space.n if isinstance(space.n, (tuple, list, np.ndarray)) else (space.n,)
            self.shape = tuple(int(d) for d in shape)
            self.size = math.prod(self.shape)
        elif self.kind == "MultiDiscrete":
            self.counts = np.asarray(space.nvec).reshape(-1).astype(np.int64)
            self.first = np.concatenate(([0], np.cumsum(self.counts)[:-1]))
            self.starts = np.broadcast_to(np.asarray(getattr(space, "start", 0)).reshape(-1), self.counts.shape)
            self.shape, self.size = np.asarray(space.nvec).shape, int(self.counts.sum())
        elif self.kind in ("Dict", "Tuple"):
            inner = space.spaces if hasattr(space, "spaces") else space
            items = inner.items() if hasattr(inner, "items") else enumerate(inner)
            self.parts = [(k, _Part(f"{what}[{k!r}]", s)) for k, s in items if k != "action_mask"]
            self.size = sum(p.size for _, p in self.parts)
        else:
            raise Refusal(
                f"{what} is {space}, of which hop can make no numbers; want Box, Discrete, MultiBinary, MultiDiscrete, "
                "or a Dict or Tuple of these"
            )
        if self.size == 0:
            raise Refusal(f"{what} is {space}, which holds nothing to observe")
        if self.size > _MOST_NUMBERS:
            raise Refusal(f"{what} is {space}, {self.size} numbers, and {_MOST_NUMBERS} are the most; {_PIXELS}")

    def _box(self, space: Any) -> None:
        dtype = np.dtype(getattr(space, "dtype", np.float32))
        wide = dtype == np.uint8 and len(self.shape) >= 2 and min(self.shape[:2]) >= 24
        if wide and float(np.max(getattr(space, "high", 255))) > 8:
            raise Refusal(f"{self.what} is {space}, a picture; {_PIXELS}")
        low = np.abs(np.asarray(getattr(space, "low", -np.inf), np.float64))
        high = np.abs(np.asarray(getattr(space, "high", np.inf), np.float64))
        most = np.broadcast_to(np.maximum(low, high), self.shape)
        # Numbers that a space bounds are brought to about -1 to 1; those without bounds are left alone.
        known = np.isfinite(most) & (most > 1) & (most < 1e6)
        if known.any():
            self.scale = np.where(known, 1 / np.where(known, most, 1), 1).astype(np.float32)

    def writer(self, row: np.ndarray) -> Callable[[Any], None]:
        """A function that writes values into that piece of a row, which has the size of the space."""
        what, shape, scale = self.what, self.shape, self.scale
        if self.kind in ("Box", "MultiBinary"):
            view = row.reshape(shape)

            def box(value: Any) -> None:
                got = np.asarray(value)
                if got.shape != shape:
                    raise Refusal(f"{what}: an observation has shape {got.shape}, its space has {shape}")
                if scale is None:
                    view[...] = got
                else:
                    np.multiply(got, scale, out=view, casting="unsafe")

            return box
        if self.kind == "Discrete":

            def one_hot(value: Any) -> None:
                at = int(value) - self.start
                if not 0 <= at < self.size:
                    raise Refusal(f"{what}: an observation is {value}, its space has {self.start} to {self.start + self.size - 1}")
                row[:] = 0
                row[at] = 1

            return one_hot
        if self.kind == "MultiDiscrete":

            def one_hots(value: Any) -> None:
                at = np.asarray(value).reshape(-1) - self.starts
                if at.shape != self.counts.shape or (at < 0).any() or (at >= self.counts).any():
                    raise Refusal(f"{what}: an observation is {value}, its space has below {self.counts.tolist()}")
                row[:] = 0
                row[self.first + at] = 1

            return one_hots
        writers, at = [], 0
        for key, part in self.parts:
            writers.append((key, part.writer(row[at : at + part.size])))
            at += part.size

        def each(value: Any) -> None:
            for key, write in writers:
                write(value[key])

        return each


def _actions(agent: Any, space: Any, most: int) -> list[Any]:
    """The actions of an agent, by the number under which hop knows them."""
    kind = type(space).__name__
    if kind == "Discrete":
        start, n = int(getattr(space, "start", 0)), int(space.n)
        if n <= most:
            return list(range(start, start + n))
        count = str(n)
    elif kind in ("MultiDiscrete", "MultiBinary"):
        counts = np.asarray(space.nvec).reshape(-1) if kind == "MultiDiscrete" else np.full(math.prod(np.atleast_1d(space.n)), 2)
        n = math.prod(int(c) for c in counts)
        if n <= most:
            joint = np.stack(np.unravel_index(np.arange(n), tuple(int(c) for c in counts)), 1)
            shape = np.asarray(space.nvec).shape if kind == "MultiDiscrete" else (len(counts),)
            return [row.reshape(shape).astype(np.int64) for row in joint]
        count = f"{n} together"
    elif kind == "Box":
        raise Refusal(
            f"agent {agent} has the action space {space}, continuous actions, and hop's learners choose among at most {most}: "
            "make the environment with discrete actions (such as continuous_actions=False), or wrap it in one that offers a few"
        )
    else:
        raise Refusal(f"agent {agent} has the action space {space}; want Discrete, or a small MultiDiscrete")
    raise Refusal(f"agent {agent} has the action space {space}, {count} actions, and {most} are the most")


def _stem(agent: Any) -> str:
    """The role that an agent's name names: adversary_0 is an adversary."""
    return re.sub(r"[\W_]*\d+$", "", str(agent))


class Shape:
    """What an environment is like: who plays, what is observed, what can be done."""

    def __init__(self, name: str, env: Any, most_actions: int):
        self.name = name
        classes = {c.__name__ for c in type(env).__mro__}
        self.turns = "AECEnv" in classes or ("ParallelEnv" not in classes and hasattr(env, "agent_iter"))
        if not hasattr(env, "possible_agents"):
            hint = "; it is an environment for one agent" if "Env" in classes else ""
            raise Refusal(
                f"{name} returned a {type(env).__name__} without possible_agents{hint}; want a PettingZoo parallel or AEC environment"
            )
        self.agents: list[Any] = list(env.possible_agents)
        if not self.agents or len(self.agents) > 64:
            raise Refusal(f"{name} has {len(self.agents)} possible agents; want 1 to 64")
        self.declared: dict = getattr(env, "hop_layout", None) or getattr(env, "metadata", {}).get("hop") or {}
        self.parts: list[_Part] = []
        self.actions: list[list[Any]] = []
        self.dicts: list[bool] = []  # the observation proper stands in a Dict, beside its mask
        roles: list[tuple] = []
        for a in self.agents:
            space, acts = self._space(env, "observation", a), self._space(env, "action", a)
            inner = getattr(space, "spaces", space if isinstance(space, dict) else {})
            self.dicts.append(type(space).__name__ == "Dict" and "observation" in inner and set(inner) <= {"observation", "action_mask"})
            self.parts.append(_Part(f"the observation space of agent {a}", inner["observation"] if self.dicts[-1] else space))
            self.actions.append(_actions(a, acts, most_actions))
            roles.append((_stem(a), self.parts[-1].size, len(self.actions[-1])))
        kinds = sorted(set(roles), key=roles.index)
        self.roles = len(kinds) if len(kinds) > 1 and not self.declared else 0
        self.role = [kinds.index(r) for r in roles]
        self.most = max(len(a) for a in self.actions)
        self.numbers = max(p.size for p in self.parts)
        self.width = self.numbers + self.roles + self.turns
        self.base = np.zeros((len(self.agents), self.most), np.uint8)  # the actions that each agent has
        for s, acts in enumerate(self.actions):
            self.base[s, : len(acts)] = 1
        self.names = self._names(env)

    def _space(self, env: Any, kind: str, agent: Any) -> Any:
        try:
            return getattr(env, f"{kind}_space")(agent)
        except Exception as e:
            raise Refusal(_raised(f"{self.name}: {kind}_space({agent!r})", e)) from None

    def _names(self, env: Any) -> list[str]:
        names = self.declared.get("actions") or [str(k) for k in range(self.most)]
        if len(names) != self.most:
            raise Refusal(f"hop_layout names {len(names)} actions, and {self.name} has {self.most}")
        return [str(n) for n in names]

    def horizon(self, env: Any) -> int:
        """How long an episode can be, as far as the environment says; 0 if it does not."""
        found = self.declared.get("horizon")
        for owner in (env, getattr(env, "unwrapped", None), getattr(env, "spec", None)):
            for name in ("max_cycles", "max_steps", "max_episode_steps", "_max_episode_steps", "horizon"):
                try:
                    value = getattr(owner, name, None)
                except Exception:  # wrappers refuse names that they do not know
                    continue
                if found is None and isinstance(value, (int, np.integer)) and value > 0:
                    found = int(value) * (len(self.agents) if self.turns else 1)
        return int(found or 0)


class Row:
    """The numbers of one copy: pieces of shared memory, or memory of its own."""

    def __init__(self, shape: Shape, arrays: dict[str, np.ndarray] | None = None, i: int = 0):
        n, k = len(shape.agents), shape.most
        if arrays is None:
            arrays = {
                "obs": np.zeros((1, n, shape.width), np.float32), "mask": np.zeros((1, n, k), np.uint8),
                "alive": np.zeros((1, n), np.uint8), "cut": np.zeros((1, n), np.uint8),
                "reward": np.zeros((1, n), np.float32), "action": np.zeros((1, n), np.int32),
            }
        self.obs, self.mask, self.alive = arrays["obs"][i], arrays["mask"][i], arrays["alive"][i]
        self.cut, self.reward, self.action = arrays["cut"][i], arrays["reward"][i], arrays["action"][i]
        self.write = [p.writer(self.obs[s, : p.size]) for s, p in enumerate(shape.parts)]

    def copy(self) -> list[np.ndarray]:
        """What it holds now."""
        return [x.copy() for x in (self.obs, self.mask, self.alive, self.cut, self.reward)]


class Copy:
    """One copy of an environment. Seats are the places of agents in possible_agents."""

    def __init__(self, shape: Shape, make: Callable[[], Any], row: Row):
        self.shape, self.row, self.make = shape, row, make
        self.env: Any = None
        self.number = {a: s for s, a in enumerate(shape.agents)}
        self.alive: list[int] = []  # seats, in order
        self.named: set[int] = set()  # seats that have left and are still among the environment's agents
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
            raise HopError(self._at(_raised(self.doing, e))) from None

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
            raise HopError(self._at(_raised(self.doing, e))) from None

    def _at(self, text: str) -> str:
        return f"{self.shape.name}, step {self.t} of the episode with seed {self.seed}: {text}"

    def _seat(self, agent: Any) -> int:
        seat = self.number.get(agent)
        if seat is None:
            raise Refusal(f"there is an agent {agent!r}, which possible_agents does not name: {self.shape.agents}")
        return seat

    def _begin(self) -> None:
        row, shape = self.row, self.shape
        row.obs[...] = 0
        row.mask[...], row.alive[...], row.cut[...], row.reward[...] = 0, 0, 0, 0
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
        if mask is None:
            self.row.mask[seat] = self.shape.base[seat]
        else:
            self._mask(seat, mask)

    def _mask(self, seat: int, mask: Any) -> None:
        n = len(self.shape.actions[seat])
        mask = np.asarray(mask)
        if mask.shape != (n,):
            raise Refusal(f"agent {self.shape.agents[seat]} has {n} actions and an action_mask of shape {mask.shape}")
        self.row.mask[seat, :n] = mask != 0

    def _reset(self, seed: int) -> None:
        out = self.env.reset(seed=seed)
        obs, infos = out if isinstance(out, tuple) and len(out) == 2 else (out, {})
        self._begin()
        for s in self.alive:
            a = self.shape.agents[s]
            if a not in obs:
                raise Refusal(f"reset gave agent {a} no observation")
            self._observe(s, obs[a], infos.get(a))

    def _step(self) -> None:
        row, agents = self.row, self.shape.agents
        played = row.action.tolist()
        acts = self.shape.actions
        obs, rewards, terminated, truncated, infos = self.env.step({agents[s]: acts[s][played[s]] for s in self.alive})
        here = self.env.agents
        left = []
        for s in self.alive:
            a = agents[s]
            row.reward[s] = rewards.get(a, 0.0)
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

    def _strangers(self, here: list, left: list[int]) -> None:
        """Refuses agents that come back, or that come later: who has left is done with."""
        more = {self._seat(a) for a in here} - set(self.alive)
        for s in sorted(more - self.named - set(left)):
            raise self._again(s)
        self.named = more  # some environments go on naming those who have left

    def _again(self, seat: int) -> Refusal:
        return Refusal(
            f"agent {self.shape.agents[seat]} plays after it had left, or joined after reset; an agent leaves once: "
            "let it stay, with one action in its action_mask while it waits"
        )


class Turns(Copy):
    """A copy of an AEC environment: a step is one agent's turn.

    Everybody else has one forced action meanwhile, number 0, and sees what it can see
    from its place. Whose turn it is stands in the last number of an observation.
    """

    def _reset(self, seed: int) -> None:
        self.env.reset(seed=seed)
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
                row.mask[s] = 0
                row.mask[s, 0] = 1

    def _step(self) -> None:
        env, row, agents = self.env, self.row, self.shape.agents
        now = env.agent_selection
        seat = self.number[now]
        env.step(self.shape.actions[seat][int(row.action[seat])])
        left = []
        for s in self.alive:
            a = agents[s]
            row.reward[s] = env.rewards.get(a, 0.0)
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


class Worker:
    """Answers hop: opens an environment, makes copies of it, and plays them."""

    def __init__(self) -> None:
        self.shape: Shape | None = None
        self.make: Callable[[], Any] | None = None
        self.wanted = 0
        self.blocks: list[tuple[np.ndarray, np.ndarray, list[Copy]]] = []

    def call(self, op: str, args: dict) -> dict | None:
        """Answers a question: open an environment, or make room for copies."""
        if op == "open":
            return self.open(args)
        if op == "copies":  # the memory that comes next is for so many
            self.wanted = int(args["copies"])
            return None
        raise HopError(f"the worker was asked to {op}, which it does not know; install the same version of hop and its Python package")

    def open(self, args: dict) -> dict:
        """Makes the environment once and says what it is like."""
        name, text = args["env"], args.get("kwargs") or "{}"
        try:
            kwargs = json.loads(text)
        except ValueError as e:
            raise Refusal(f"game.kwargs is no JSON object: {e}; want such as {{\"N\": 2}}") from None
        if not isinstance(kwargs, dict):
            raise Refusal(f"game.kwargs is {text}, want a JSON object such as {{\"N\": 2}}")
        function = load(name)
        self.make = lambda: function(**kwargs)
        try:
            env = self.make()
        except BaseException as e:
            raise Refusal(_raised(f"{name}({text if kwargs else ''})", e)) from None
        shape = self.shape = Shape(name, env, int(args["most_actions"]))
        horizon = int(args.get("horizon") or 0) or shape.horizon(env) or 1000
        masks = False
        if args.get("probe"):
            masks = self._probe(env, min(horizon, _REPLAY_STEPS))
        return {
            "agents": [str(a) for a in shape.agents], "actions": shape.names, "width": shape.width, "numbers": shape.numbers,
            "roles": shape.roles, "turns": shape.turns, "horizon": horizon, "masks": masks, "layout": shape.declared or None,
            "board": self._board(), "differs": self._differs(horizon) if args.get("replay") else "",
            "packages": _packages(function, env), "same": len(set(shape.role)) == 1,
        }

    def _board(self) -> list[int]:
        """Height, width and planes of what is observed, if it is a board for everybody."""
        shapes = {p.shape for p in self.shape.parts}
        only = shapes.pop() if len(shapes) == 1 else ()
        return list(only) if len(only) == 3 else []

    def _copy(self, row: Row) -> Copy:
        return (Turns if self.shape.turns else Copy)(self.shape, self.make, row)

    def _probe(self, env: Any, steps: int) -> bool:
        """Plays a little, so that faults show at once; returns whether masks ever forbid anything."""
        row = Row(self.shape)
        copy = self._copy(row)
        copy.env = env
        masks = False
        for _ in self._random(copy, 7, steps):
            if not np.isfinite(row.obs).all():
                raise HopError(copy._at("an observation holds a number that is not finite"))
            on = row.alive != 0
            masks = masks or bool((row.mask[on] != self.shape.base[on]).any())
        return masks

    def _random(self, copy: Copy, seed: int, steps: int):
        """Plays random legal actions; yields after every reset and step."""
        draw = np.random.default_rng(seed)
        copy.reset(seed)
        yield
        for _ in range(steps):
            for s in copy.alive:
                may = np.flatnonzero(copy.row.mask[s])
                if len(may) == 0:
                    raise HopError(copy._at(f"agent {self.shape.agents[s]} may do nothing: its action_mask is all 0"))
                copy.row.action[s] = draw.choice(may)
            if not copy.alive:
                return
            copy.step()
            yield

    def _differs(self, horizon: int) -> str:
        """Why episodes cannot be replayed from their seed; empty if they can.

        One copy has played before and one is fresh: both play the same actions from
        the same seed, twice.
        """
        steps = min(horizon, _REPLAY_STEPS)
        used, fresh = self._copy(Row(self.shape)), self._copy(Row(self.shape))
        for _ in self._random(used, 1, min(steps, 10)):
            pass
        for seed in range(2, 2 + _REPLAY_EPISODES):
            both = zip(self._random(used, seed, steps), self._random(fresh, seed, steps))
            for t, _ in enumerate(both):
                for what, a, b in zip(("observations", "masks", "who is alive", "truncations", "rewards"), used.row.copy(), fresh.row.copy()):
                    if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                        return f"{what} differ at step {t} of two episodes with reset(seed={seed}) and the same actions"
        return ""

    def share(self, arrays: dict[str, np.ndarray]) -> None:
        """Takes the memory of the copies that were asked for."""
        copies = [self._copy(Row(self.shape, arrays, i)) for i in range(self.wanted)]
        self.blocks.append((arrays["op"], arrays["seed"], copies))

    def tick(self, code: int) -> None:
        """Steps or resets the copies that are marked."""
        for op, seed, copies in self.blocks:
            marked = np.flatnonzero(op)
            if len(marked) == 0:
                continue
            what = op[marked].tolist()
            op[marked] = 0
            for i, do in zip(marked.tolist(), what):
                if do == _STEP:
                    copies[i].step()
                else:
                    copies[i].reset(int(seed[i]))

    def close(self) -> None:
        """Closes every copy that was played."""
        for _, _, copies in self.blocks:
            for copy in copies:
                try:
                    copy.env.close()
                except Exception:  # also of one that was never made, or has nothing to close
                    pass


def _packages(function: Any, env: Any) -> dict[str, str]:
    """Versions of what the environment is made of, by package; of loose files, their hash."""
    from importlib import metadata

    found = {"python": platform.python_version(), "numpy": np.__version__}
    modules = {getattr(function, "__module__", None)} | {c.__module__ for c in type(env).__mro__}
    modules |= {c.__module__ for c in type(getattr(env, "unwrapped", env)).__mro__}
    for name in [m for m in modules if m]:  # what they import counts too
        modules |= {v.__name__ for v in vars(sys.modules.get(name, os)).values() if type(v) is type(os)}
    owners = metadata.packages_distributions()
    for name in sorted(m for m in modules if m):
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top == "hop":
            continue
        if top in owners:
            for dist in owners[top]:
                found[dist] = metadata.version(dist)
            continue
        path = getattr(sys.modules.get(name), "__file__", None)
        if path and os.path.isfile(path):
            with open(path, "rb") as f:
                found[name] = "sha256 " + hashlib.sha256(f.read()).hexdigest()[:16]
    return dict(sorted(found.items()))


def main() -> None:
    """Answers until hop has no more questions, then closes the environments."""
    worker = Worker()
    serve(worker)
    worker.close()


if __name__ == "__main__":
    main()
