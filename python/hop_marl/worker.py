"""Plays PettingZoo environments for hop: the guest behind `hop train ppo --env module:function`.

hop starts `python -m hop_marl.worker`, asks it to open an environment, and learns which
agents, observations and actions there are. It then asks for copies of the
environment, whose observations, masks, rewards and actions lie in shared memory: a
tick steps or resets all copies that are marked, and nothing else is said.

docs/environments.md says what environments can be like. What cannot be learnt from
is refused when the environment is opened, in a sentence that names the agent, what
it has, and what to do about it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from typing import Any, Callable

import numpy as np

from ._copies import Copy, Row, Shape, Turns, raised
from ._named import find
from ._spaces import Refusal
from ._wire import HopError, serve

# What the host asks of a copy.
_STEP, _RESET = 1, 2

# Steps and episodes by which it is found out whether episodes can be replayed.
_REPLAY_STEPS, _REPLAY_EPISODES = 60, 2


def load(name: str) -> Callable[..., Any]:
    """The function that makes the environment which `module:function` names."""
    return find(
        name,
        "environment",
        "mpe2.simple_spread_v3:parallel_env",
        "a function that returns an environment",
        "--set game.python=...",
    )


class Worker:
    """Answers hop: opens an environment, makes copies of it, and plays them."""

    def __init__(self) -> None:
        self.shape: Shape | None = None
        self.make: Callable[[], Any] | None = None
        self.wanted = 0
        self.blocks: list[tuple[np.ndarray, np.ndarray, np.ndarray, list[Copy]]] = []

    def call(self, op: str, args: dict) -> dict | None:
        """Answers a question: open an environment, or make room for copies."""
        if op == "open":
            return self.open(args)
        if op == "copies":  # the memory that comes next is for so many
            self.wanted = int(args["copies"])
            return None
        raise HopError(
            f"the worker was asked to {op}, which it does not know; install the same version of "
            "hop and its Python package"
        )

    def open(self, args: dict) -> dict:
        """Makes the environment once and says what it is like."""
        name, text = args["env"], args.get("kwargs") or "{}"
        try:
            kwargs = json.loads(text)
        except ValueError as e:
            raise Refusal(f'game.kwargs is no JSON object: {e}; want such as {{"N": 2}}') from None
        if not isinstance(kwargs, dict):
            raise Refusal(f'game.kwargs is {text}, want a JSON object such as {{"N": 2}}')
        function = load(name)
        self.make = lambda: function(**kwargs)
        try:
            env = self.make()
        except BaseException as e:
            raise Refusal(raised(f"{name}({text if kwargs else ''})", e)) from None
        shape = self.shape = Shape(name, env, int(args["most_actions"]), bool(args.get("lenient")))
        horizon = int(args.get("horizon") or 0) or shape.horizon(env) or 1000
        masks = False
        if args.get("probe"):
            masks = self._probe(env, min(horizon, _REPLAY_STEPS))
        return {
            **shape.describe(),
            "horizon": horizon,
            "masks": masks,
            "differs": self._differs(horizon) if args.get("replay") else "",
            "packages": _packages(function, env),
        }

    def _copy(self, row: Row) -> Copy:
        return (Turns if self.shape.turns else Copy)(self.shape, self.make, row)

    def _probe(self, env: Any, steps: int) -> bool:
        """Plays a little, so that faults show at once; returns whether masks forbid anything."""
        row = Row(self.shape)
        copy = self._copy(row)
        copy.env = env
        masks = False
        for _ in self._random(copy, 7, steps):
            for s in np.flatnonzero(~np.isfinite(row.obs).all(axis=1)):
                raise HopError(
                    copy._at(f"agent {self.shape.agents[s]} sees a number that is not finite")
                )
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
                    raise HopError(
                        copy._at(
                            f"agent {self.shape.agents[s]} may do nothing: its action_mask is all 0"
                        )
                    )
                copy.row.action[s] = draw.choice(may)
                if self.shape.vectors:
                    copy.row.vector[s] = draw.uniform(-1, 1, self.shape.most)
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
                for what, a, b in zip(
                    ("observations", "masks", "who is alive", "truncations", "rewards"),
                    used.row.copy(),
                    fresh.row.copy(),
                ):
                    if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                        return (
                            f"{what} differ at step {t} of two episodes with reset(seed={seed}) "
                            "and the same actions"
                        )
        return ""

    def share(self, arrays: dict[str, np.ndarray]) -> None:
        """Takes the memory of the copies that were asked for."""
        copies = [self._copy(Row(self.shape, arrays, i)) for i in range(self.wanted)]
        self.blocks.append((arrays["op"], arrays["seed"], arrays["at"], copies))

    def tick(self, code: int) -> None:
        """Steps or resets the copies that are marked."""
        for op, seed, at, copies in self.blocks:
            marked = np.flatnonzero(op)
            if len(marked) == 0:
                continue
            what = op[marked].tolist()
            op[marked] = 0
            for i, do in zip(marked.tolist(), what):
                copy = copies[i]
                at[0] = i + 1
                if do == _STEP:
                    at[1], at[2] = copy.t + 1, copy.seed
                    copy.step()
                else:
                    at[1], at[2] = 0, seed[i]
                    copy.reset(int(seed[i]))
            at[0] = -at[0]  # done with it

    def close(self) -> None:
        """Closes every copy that was played."""
        for *_, copies in self.blocks:
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
        modules |= {
            v.__name__ for v in vars(sys.modules.get(name, os)).values() if type(v) is type(os)
        }
    owners = metadata.packages_distributions()
    for name in sorted(m for m in modules if m):
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top == "hop_marl":
            continue
        if top in owners:
            for dist in owners[top]:
                found[dist] = metadata.version(dist)
            continue
        try:  # Python 3.10 knows the owners of few
            found[top] = metadata.version(top)
            continue
        except metadata.PackageNotFoundError:
            pass
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
