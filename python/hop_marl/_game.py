"""A game that runs in a `hop bridge` process of its own, and the arrays that both ends see."""

from __future__ import annotations

import base64
import os
import secrets
import warnings
from typing import Any

import numpy as np

from ._binary import binary
from ._wire import Peer

# The ticks of the Go package serve/games.
STEP, START, RANDOM = 1, 2, 3
_NEXT, _SEED = 1, 2


class Game:
    """One game with its copies: what `open` was asked for, its spec, and the arrays.

    The arrays are views of shared memory; each tick writes them anew.
    """

    def __init__(self, illegal: str, **asked: Any):
        if illegal not in ("warn", "error", "replace"):
            raise ValueError(f'illegal is {illegal!r}, want "warn", "error" or "replace"')
        asked["illegal"] = illegal
        self.peer = Peer([binary(), "bridge"])
        try:
            self.spec: dict = self.peer.call("open", **asked)
            self.arrays: dict[str, np.ndarray] = self.peer.share(self.spec.pop("arrays"))
        except BaseException:
            self.peer.close()
            raise
        self.started = False
        self.names = [f"agent_{a}" for a in range(self.spec["agents"])]
        self._silent = illegal != "warn"
        self._replaced = memoryview(self.arrays["replaced"])

    def given(self, seat: int, number: int) -> Any:
        """The env's action that a number stands for."""
        return number

    @property
    def usable(self) -> bool:
        """Whether this process may ask: not after a fork, a close or the other end's death."""
        return self.peer.owner == os.getpid() and not self.peer.failed

    def start(self, seed: int | list[int] | None) -> None:
        """Starts an episode in every copy: of a seed each, or the next one of each."""
        seeds, restart = self.arrays["seeds"], self.arrays["restart"]
        if seed is None and not self.started:
            seed = secrets.randbits(48)
        if seed is None:
            restart[:] = _NEXT
        else:
            seeds[:] = spread(seed, len(seeds))
            restart[:] = _SEED
        self.peer.tick(START)
        self.started = True

    def step(self) -> None:
        """Plays the actions in the array of that name."""
        self.peer.tick(STEP)
        if self._replaced[0] and not self._silent:
            self._silent = True
            first = self.peer.call("replaced")["first"]
            warnings.warn(
                f'{first}. "stay" was played instead, or the first legal action where there is no '
                'such; later ones are replaced without a word. Make the env with illegal="error" '
                'to have them refused, or with illegal="replace" not to be warned.',
                stacklevel=3,
            )

    def save(self) -> bytes | None:
        """Everything that is needed to go on elsewhere; None if nothing was started."""
        if not self.started:
            return None
        return base64.b64decode(self.peer.call("save")["state"])

    def load(self, state: bytes | None) -> None:
        """Goes on from what `save` returned, for the same game and number of copies."""
        if state is not None:
            self.peer.call("load", state=base64.b64encode(state).decode())
            self.started = True

    def render(self, mode: str) -> np.ndarray | str:
        """The picture of copy 0 that `hop play` shows: pixels or text."""
        got = self.peer.call("render", mode=mode)
        if mode == "ansi":
            return got["text"]
        pixels = np.frombuffer(base64.b64decode(got["pixels"]), np.uint8)
        return pixels.reshape(got["height"], got["width"], 3).copy()


def spread(seed: int | list[int], envs: int) -> list[int]:
    """The seed of each copy: consecutive ones from a number, or those of a list."""
    if np.ndim(seed) == 0:
        seeds = [int(seed) + n for n in range(envs)]
    else:
        seeds = [int(s) for s in seed]
    if len(seeds) != envs:
        raise ValueError(f"{len(seeds)} seeds for {envs} envs; give one, or one for each env")
    if min(seeds) < 0 or max(seeds) >= 1 << 63:
        raise ValueError(f"seed {seed}: want a number from 0 to 2**63-1")
    return seeds


def bounds(spec: dict) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest that each number of an observation may be, for Box spaces."""
    obs = spec["obs"]
    low = np.zeros(obs["length"], np.float32)
    high = np.ones(obs["length"], np.float32)
    at = obs["height"] * obs["width"] * len(obs["planes"] or [])
    low[at : at + obs["features"]] = -np.inf
    high[at : at + obs["features"]] = np.inf
    return low, high
