"""What environments observe and do, as numbers: the spaces of gymnasium without gymnasium."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

from ._wire import HopError

# The most numbers of an observation, and of one that is a picture.
_MOST_NUMBERS, _MOST_PIXELS = 20_000, 50_000

_LEAST_SIDE = 36  # of a picture: model.SmallestPicture

_PIXELS = (
    f"hop's networks read vectors, small boards and pictures of bytes, height by width by channels, of {_LEAST_SIDE} cells a side and "
    f"{_MOST_PIXELS} numbers at most: let the function return an environment with such an observation, or wrap it (84x84 is usual)"
)


class Refusal(HopError):
    """Why an environment cannot be played, as a sentence for its author."""


class Part:
    """Writes a value of one space into a piece of an observation's row."""

    def __init__(self, what: str, space: Any, lenient: bool = False):
        self.lenient = lenient  # what is outside of the space is clipped
        self.low: np.ndarray | None = None  # bounds of a Box that has some
        self.high: np.ndarray | None = None
        self.what = what  # agent and space, for messages
        self.kind = type(space).__name__
        self.picture: list[int] = []  # height, width and channels of one
        self.parts: list[tuple[Any, Part]] = []
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
            self.starts = np.broadcast_to(
                np.asarray(getattr(space, "start", 0)).reshape(-1), self.counts.shape
            )
            self.shape, self.size = np.asarray(space.nvec).shape, int(self.counts.sum())
        elif self.kind in ("Dict", "Tuple"):
            inner = space.spaces if hasattr(space, "spaces") else space
            items = inner.items() if hasattr(inner, "items") else enumerate(inner)
            self.parts = [(k, Part(f"{what}[{k!r}]", s, lenient)) for k, s in items if k != "action_mask"]
            self.size = sum(p.size for _, p in self.parts)
        else:
            raise Refusal(
                f"{what} is {space}, of which hop can make no numbers; want Box, Discrete, "
                "MultiBinary, MultiDiscrete, or a Dict or Tuple of these"
            )
        if self.size == 0:
            raise Refusal(f"{what} is {space}, which holds nothing to observe")
        if self.size > (_MOST_PIXELS if self.picture else _MOST_NUMBERS):
            raise Refusal(f"{what} is {space}, {self.size} numbers; {_PIXELS}")

    def _box(self, space: Any) -> None:
        dtype = np.dtype(getattr(space, "dtype", np.float32))
        wide = dtype == np.uint8 and len(self.shape) >= 2 and min(self.shape[:2]) >= 24
        if wide and float(np.max(getattr(space, "high", 255))) > 8:
            if min(self.shape[:2]) < _LEAST_SIDE or len(self.shape) > 3:
                raise Refusal(f"{self.what} is {space}, a picture; {_PIXELS}")
            self.picture = [*self.shape, 1][:3]
        low = np.abs(np.asarray(getattr(space, "low", -np.inf), np.float64))
        high = np.abs(np.asarray(getattr(space, "high", np.inf), np.float64))
        most = np.broadcast_to(np.maximum(low, high), self.shape)
        ends = [np.asarray(getattr(space, end, far), np.float64) for end, far in (("low", -np.inf), ("high", np.inf))]
        bytes_are_in = dtype == np.uint8 and (ends[0] <= 0).all() and (ends[1] >= 255).all()
        if bytes_are_in:
            pass  # no byte is outside
        elif np.isfinite(ends[0]).any() or np.isfinite(ends[1]).any():
            # As float32 numbers are rounded; NumPy's own comparison says which are outside.
            with np.errstate(invalid="ignore"):
                slack = [1e-5 * np.maximum(1, np.where(np.isfinite(x), np.abs(x), 1)) for x in ends]
            self.low, self.high = ends[0] - slack[0], ends[1] + slack[1]
        # Numbers that a space bounds are brought to about -1 to 1; others are left alone.
        known = np.isfinite(most) & (most > 1) & (most < 1e6)
        if known.any():
            self.scale = np.where(known, 1 / np.where(known, most, 1), 1).astype(np.float32)

    def writer(self, row: np.ndarray, count: np.ndarray | None = None) -> Callable[[Any], None]:
        """A function that writes values into a piece of a row, as large as the space.

        count: where it counts values that were clipped.
        """
        what, shape, scale = self.what, self.shape, self.scale
        if self.kind in ("Box", "MultiBinary"):
            view = row.reshape(shape)
            low, high = self.low, self.high

            def outside(got: np.ndarray) -> np.ndarray:
                if self.lenient:
                    if count is not None:
                        count[0] += 1
                    return np.clip(got, low, high)
                at = tuple(int(k) for k in np.argwhere((got < low) | (got > high))[0])
                ends = [float(np.broadcast_to(x, shape)[at]) for x in (low, high)]
                raise Refusal(
                    f"{what}: an observation holds {got[at]} at {list(at)}, its space has {ends[0]:g} to {ends[1]:g} there; mend the "
                    "space or the observation, or use --lenient, which clips and counts"
                )

            def box(value: Any) -> None:
                got = np.asarray(value)
                if got.shape != shape:
                    raise Refusal(
                        f"{what}: an observation has shape {got.shape}, its space has {shape}"
                    )
                if low is not None and ((got < low) | (got > high)).any():
                    got = outside(got)
                if scale is None:
                    view[...] = got
                else:
                    np.multiply(got, scale, out=view, casting="unsafe")

            return box
        if self.kind == "Discrete":

            def one_hot(value: Any) -> None:
                at = int(value) - self.start
                if not 0 <= at < self.size:
                    raise Refusal(
                        f"{what}: an observation is {value}, its space has {self.start} to "
                        f"{self.start + self.size - 1}"
                    )
                row[:] = 0
                row[at] = 1

            return one_hot
        if self.kind == "MultiDiscrete":

            def one_hots(value: Any) -> None:
                at = np.asarray(value).reshape(-1) - self.starts
                if at.shape != self.counts.shape or (at < 0).any() or (at >= self.counts).any():
                    raise Refusal(
                        f"{what}: an observation is {value}, its space has numbers below "
                        f"{self.counts.tolist()}"
                    )
                row[:] = 0
                row[self.first + at] = 1

            return one_hots
        writers, at = [], 0
        for key, part in self.parts:
            writers.append((key, part.writer(row[at : at + part.size], count)))
            at += part.size

        def each(value: Any) -> None:
            for key, write in writers:
                write(value[key])

        return each


def actions(agent: Any, space: Any, most: int) -> list[Any]:
    """The actions of an agent, by the number under which hop knows them."""
    kind = type(space).__name__
    if kind == "Discrete":
        start, n = int(getattr(space, "start", 0)), int(space.n)
        if n <= most:
            return list(range(start, start + n))
        count = str(n)
    elif kind in ("MultiDiscrete", "MultiBinary"):
        counts = (
            np.asarray(space.nvec).reshape(-1)
            if kind == "MultiDiscrete"
            else np.full(math.prod(np.atleast_1d(space.n)), 2)
        )
        n = math.prod(int(c) for c in counts)
        if n <= most:
            joint = np.stack(np.unravel_index(np.arange(n), tuple(int(c) for c in counts)), 1)
            shape = np.asarray(space.nvec).shape if kind == "MultiDiscrete" else (len(counts),)
            return [row.reshape(shape).astype(np.int64) for row in joint]
        count = f"{n} together"
    else:
        raise Refusal(
            f"agent {agent} has the action space {space}; want Discrete, a small MultiDiscrete, or a Box of "
            "floats for every agent"
        )
    raise Refusal(
        f"agent {agent} has the action space {space}, {count} actions, and {most} are the most"
    )


class Vector:
    """Actions that are vectors: what numbers of a policy, which are about -1 to 1, are in a Box.

    A number that the Box bounds on both sides is brought from -1..1 to its bounds, and held within
    them; one that it does not bound is left alone.
    """

    def __init__(self, agent: Any, space: Any, most: int):
        self.shape = tuple(int(d) for d in space.shape)
        self.size = math.prod(self.shape)
        self.dtype = np.dtype(getattr(space, "dtype", np.float32))
        if self.dtype.kind != "f":
            raise Refusal(f"agent {agent} has the action space {space}, vectors of {self.dtype}; want a Box of floats, or MultiDiscrete")
        if not 0 < self.size <= most:
            raise Refusal(f"agent {agent} has the action space {space}, {self.size} numbers; want 1 to {most}")
        self.low = np.broadcast_to(np.asarray(space.low, np.float64), self.shape).reshape(-1)
        self.high = np.broadcast_to(np.asarray(space.high, np.float64), self.shape).reshape(-1)
        both = np.isfinite(self.low) & np.isfinite(self.high)
        self.half = np.where(both, (np.where(both, self.high, 1) - np.where(both, self.low, -1)) / 2, 1)
        self.middle = np.where(both, np.where(both, self.low, 0) + self.half, 0)

    def given(self, numbers: np.ndarray) -> np.ndarray:
        """The environment's action that a policy's numbers stand for."""
        x = self.middle + self.half * numbers[: self.size]
        return np.clip(x, self.low, self.high).reshape(self.shape).astype(self.dtype)
