"""What an optimiser does to a network, step by step.

Nothing is imported from torch: a module is something with ``named_parameters()``, an
optimiser something with ``param_groups`` and ``step``.
"""

from __future__ import annotations

import types
import zlib
from typing import Any, Callable

import numpy as np

from ._played import to_numpy

CLOSELY = 64  # the first steps, each of which is watched; later ones in pairs, ever further apart


class Learner:
    """A network and its optimiser, watched.

    Every step is counted. Norms of gradients and of changes are taken of the first 64 steps
    and then of two neighbouring ones out of ever more, so that a long run costs little.
    """

    def __init__(self, agents: list[str], part: str, module: Any, optimizer: Any,
                 now: Callable[[], int]):
        self.agents, self.part, self.module, self.optimizer = agents, part, module, optimizer
        self.now = now  # how many steps have been played
        self.names, self.tensors = [], []
        for name, p in _parameters(module):
            self.names.append(str(name))
            self.tensors.append(p)
        if not self.tensors:
            raise ValueError(f"the module of {', '.join(agents)} has no parameters")
        self.frozen = [not getattr(p, "requires_grad", True) for p in self.tensors]
        self.first = []  # a checksum of each first weight; 0 where all numbers are one
        for p in self.tensors:
            x = np.ascontiguousarray(to_numpy(p), np.float32)
            varied = x.size > 1 and bool((x != x.flat[0]).any())
            self.first.append(zlib.crc32(x.tobytes()) | 1 if varied else 0)
        self.steps = self.uncleared = self.compared = 0
        self.first_at = self.last_at = -1
        # Of each watched step: number, at, then by parameter rates, norms of gradients (-1:
        # there is none), of changes, and of changes since the step before.
        self.records: list[tuple] = []
        self._clears = self._cleared = 0
        self._grad: Any = None  # the first gradient tensor, after the last step
        self._before: list | None = None
        self._after: list | None = None  # weights after the last watched step
        self._closest = CLOSELY
        self._undo: list[Callable[[], None]] = []
        self._hook()

    def _hook(self) -> None:
        opt = self.optimizer
        if hasattr(opt, "register_step_pre_hook"):
            handles = [
                opt.register_step_pre_hook(lambda *_: self._pre()),
                opt.register_step_post_hook(lambda *_: self._post()),
            ]
            self._undo += [h.remove for h in handles]
        elif hasattr(opt, "step"):
            plain = opt.step

            def step(_self: Any, *args: Any, **kwargs: Any) -> Any:
                self._pre()
                out = plain(*args, **kwargs)
                self._post()
                return out

            opt.step = types.MethodType(step, opt)
            self._undo.append(lambda: opt.__dict__.pop("step", None))
        else:
            raise TypeError(f"{type(opt).__name__} has no step(): hand in the optimiser")
        if hasattr(opt, "zero_grad"):
            clear = opt.zero_grad

            def zero_grad(_self: Any, *args: Any, **kwargs: Any) -> Any:
                self._clears += 1
                return clear(*args, **kwargs)

            opt.zero_grad = types.MethodType(zero_grad, opt)
            self._undo.append(lambda: opt.__dict__.pop("zero_grad", None))

    def close(self) -> None:
        """Leaves the optimiser as it was."""
        for undo in self._undo:
            undo()
        self._undo = []
        self._before = self._after = self._grad = None

    def _watched(self) -> bool:
        if self.steps < CLOSELY:
            return True
        if self.steps > self._closest + 1:
            self._closest = max(self.steps, int(self._closest * 1.15))
        return self.steps in (self._closest, self._closest + 1)

    def _pre(self) -> None:
        grad = next((g for g in map(_grad, self.tensors) if g is not None), None)
        if self.steps > 0 and grad is not None:
            self.compared += 1
            self.uncleared += grad is self._grad and self._clears == self._cleared
        if not self._watched():
            self._after = None
            return
        now = [_copy(p) for p in self.tensors]
        rates = self._rates()
        grads = [-1.0 if (g := _grad(p)) is None else _norm(g) for p in self.tensors]
        outside = [0.0] * len(now)
        if self._after is not None:
            outside = [_norm(x - y) for x, y in zip(now, self._after)]
        self._before = now
        self.records.append((self.steps, self.now(), rates, grads, None, outside))

    def _post(self) -> None:
        if self._before is not None:
            self._after = [_copy(p) for p in self.tensors]
            changes = [_norm(x - y) for x, y in zip(self._after, self._before)]
            self.records[-1] = (*self.records[-1][:4], changes, self.records[-1][5])
            self._before = None
        self._grad = next((g for g in map(_grad, self.tensors) if g is not None), None)
        self._cleared = self._clears
        self.steps += 1
        self.last_at = self.now()
        if self.first_at < 0:
            self.first_at = self.last_at

    def _rates(self) -> list[float]:
        """The learning rate of every parameter; NaN where the optimiser does not hold it."""
        rate = {}
        for group in _groups(self.optimizer):
            for p in group["params"]:
                rate[id(p)] = float(group.get("lr", float("nan")))
        return [rate.get(id(p), float("nan")) for p in self.tensors]

    def describe(self, storages: dict[int, int], others: dict[int, str]) -> dict:
        """What does not change from step to step, for the file.

        storages numbers the memory that tensors lie in; others names every learner's tensors.
        """
        groups = _groups(self.optimizer)
        held = {id(p) for g in groups for p in g["params"]}
        mine = {id(p) for p in self.tensors}
        now = {id(p) for _, p in _parameters(self.module)}
        strange = sorted({others.get(i, "") for i in held - mine})
        return {
            "agents": self.agents,
            "part": self.part,
            "steps": self.steps,
            "first_at": self.first_at,
            "last_at": self.last_at,
            "uncleared": self.uncleared,
            "compared": self.compared,
            "strange": [s for s in strange if s],
            "unknown": sum(1 for i in held - mine if i not in others),
            "parameters": [
                {
                    "name": name[:120],
                    "shape": [int(k) for k in np.shape(p)],
                    "held": id(p) in held if groups else True,
                    "frozen": frozen,
                    "replaced": id(p) not in now,
                    "storage": storages.setdefault(_address(p), len(storages)),
                    "first": first,
                }
                for name, p, frozen, first in zip(self.names, self.tensors, self.frozen, self.first)
            ],
        }


def _parameters(module: Any) -> list[tuple[str, Any]]:
    if hasattr(module, "named_parameters"):
        return list(module.named_parameters())
    if isinstance(module, dict):
        return list(module.items())
    raise TypeError(
        f"{type(module).__name__} has no named_parameters(): hand in a module, or a dictionary "
        "of named arrays"
    )


def _groups(optimizer: Any) -> list[dict]:
    return [g for g in getattr(optimizer, "param_groups", []) if "params" in g]


def _grad(p: Any) -> Any:
    return getattr(p, "grad", None)


def _copy(p: Any) -> Any:
    return p.detach().clone() if hasattr(p, "detach") else np.array(p)


def _norm(x: Any) -> float:
    if hasattr(x, "detach"):
        x = x.detach()
        if getattr(x, "is_sparse", False):
            x = x.coalesce().values()
        return float(x.norm())
    return float(np.linalg.norm(np.ravel(x)))


def _address(p: Any) -> int:
    """Where a tensor's numbers lie in memory."""
    if hasattr(p, "data_ptr"):
        return int(p.data_ptr()) or id(p)
    return int(np.asarray(p).__array_interface__["data"][0])
