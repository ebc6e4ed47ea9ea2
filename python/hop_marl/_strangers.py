"""Co-players that nobody was raised with, as environments: `strangers`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from ._html import Result
from .agents import _asked
from .lab import adapt

if TYPE_CHECKING:
    from ._stranger_env import StrangerEnv

# What settings of `parallel_env` are called; others are parameters of the game.
_OF_ENVS = ("render_mode", "mask", "leave", "illegal")


def strangers(split: str = "test", /, *, game: str = "staghunt", **settings: Any) -> Strangers:
    """The co-players of a split, each as a PettingZoo ParallelEnv in which you are agent_0.

        for env in hop.strangers("validation", game="staghunt", stags=2):
            observations, infos = env.reset(seed=1)   # a new life; env.reset() goes on with it
            while env.agents:
                observations, rewards, *_ = env.step({"agent_0": action})

    split: train, validation or test, also with a version, such as test@1.
    game: the game's name.
    settings: parameters of the game, and those of `hop.parallel_env`.

    All other seats are played by the stranger, who remembers episodes until `reset` is given a seed.
    An env has `name`, `text` and `split`, and starts nothing before it is used.
    docs/strangers.md says what each split may be used for, and what is scored.
    """
    return Strangers(split, game, settings)


class Strangers(Sequence):
    """The strangers of a split. Make it with `hop.strangers`."""

    def __init__(self, split: str, game: str, settings: dict[str, Any]):
        self.split, self.game, self.settings = split, game, settings

    @cached_property
    def _list(self) -> list[dict[str, str]]:
        params = {k: v for k, v in self.settings.items() if k not in _OF_ENVS}
        return _asked("strangers", game=self.game, params=params, split=self.split)["strangers"]

    def __len__(self) -> int:
        return len(self._list)

    @overload
    def __getitem__(self, at: int) -> StrangerEnv: ...
    @overload
    def __getitem__(self, at: slice) -> list[StrangerEnv]: ...
    def __getitem__(self, at: int | slice) -> StrangerEnv | list[StrangerEnv]:
        try:
            from ._stranger_env import StrangerEnv
        except ImportError as err:
            raise ImportError(
                f"hop.strangers needs PettingZoo and gymnasium ({err}): "
                "pip install 'hop-marl[pettingzoo]'"
            ) from err
        found = self._list[at]
        if isinstance(at, slice):
            return [StrangerEnv(one, self.settings) for one in found]
        return StrangerEnv(found, self.settings)

    def score(self, *runs: str | os.PathLike[str], **flags: Any) -> Result:
        """Scores runs' agents among them: `hop strangers score` with its flags, such as some=9, seeds="1-5"."""
        own = {f"game.{k}": v for k, v in self.settings.items() if k not in _OF_ENVS}
        split = self.split.partition("@")[0]
        return adapt(*runs, strangers=split, game=self.game if not all(map(os.path.isdir, runs)) else None, set=own, **flags)

    def __repr__(self) -> str:
        return f"<hop.strangers {self.split} of {self.game}>"
