"""A game in which a stranger plays all seats but one. Imported by `hop.strangers`."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from ._game import Game
from ._parallel import HopParallelEnv
from .agents import bot
from .envs import parallel_env

_ME = "agent_0"


class StrangerEnv(ParallelEnv):
    """A game in which you are agent_0 and a stranger is everybody else.

    Attributes:
        name: of the stranger, such as staghunt/test@1#17.
        text: what it does, in the game's language (`hop strangers show`).
        split: train, validation or test.
    """

    metadata: dict[str, Any] = {**HopParallelEnv.metadata, "name": "hop_stranger"}

    def __init__(self, stranger: dict[str, str], settings: dict[str, Any]):
        self.name, self.text, self.split = stranger["name"], stranger["text"], stranger["split"]
        self._made_with = (stranger, settings)
        self.render_mode = settings.get("render_mode")
        self.possible_agents = [_ME]
        self.agents: list[str] = []
        self._env: HopParallelEnv | None = None

    @property
    def _inner(self) -> HopParallelEnv:
        """The game, which starts when it is first used."""
        if self._env is None:
            stranger, settings = self._made_with
            self._env = parallel_env(stranger["game"], **settings)
            self._stranger = bot(self.text)
        return self._env

    @property
    def _game(self) -> Game:
        """By which hop's own agents act here: hop.load("runs/ppo-4x4-001").act(env, "agent_0")."""
        return self._inner._game

    @property
    def observation_spaces(self) -> dict[str, spaces.Space]:
        """What you see."""
        return {_ME: self._inner.observation_spaces[_ME]}

    @property
    def action_spaces(self) -> dict[str, spaces.Space]:
        """What you may do, were everything legal; the mask says what is."""
        return {_ME: self._inner.action_spaces[_ME]}

    def observation_space(self, agent: str) -> spaces.Space:
        """What the agent sees."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        """What the agent may do, were everything legal; the mask says what is."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict | None = None
    ) -> tuple[dict[str, Any], dict[str, dict]]:
        """Starts an episode: with a seed that of a new life, without one the next of this life."""
        observations, infos = self._inner.reset(seed, options)
        self.agents = [_ME]
        return _mine(observations), _mine(infos)

    def step(self, actions: dict[str, int]) -> tuple[dict, dict, dict, dict, dict]:
        """Plays your action and the stranger's.

        When you have left, what is left of the episode is played to its end: the stranger remembers
        how it went.
        """
        env = self._inner
        if not self.agents:
            return {}, {}, {}, {}, {}
        if not isinstance(actions, dict) or _ME not in actions:
            raise env._wrong(_ME, actions)
        played = env.step({**self._others(), _ME: actions[_ME]})
        if _ME not in env.agents:
            self.agents = []
            while env.agents:
                env.step(self._others())
        observations, rewards, terminations, truncations, infos = map(_mine, played)
        return observations, rewards, terminations, truncations, infos

    def _others(self) -> dict[str, int]:
        """What everybody does if the stranger is everybody; who has left and stays does nothing."""
        return {**dict.fromkeys(self._inner.agents, 0), **self._stranger.act(self._inner)}

    def state(self) -> np.ndarray:
        """All agents' observations side by side; zeros for those who have left."""
        return self._inner.state()

    def render(self) -> np.ndarray | str | None:
        """The picture that `hop play` shows: pixels, text, or a window."""
        return self._inner.render()

    def close(self) -> None:
        """Ends the game's process, if it was started. More than once does no harm."""
        if self._env is not None:
            self._env.close()

    def __getstate__(self) -> tuple:
        """What a pickle or a copy needs: how the env was made. A copy is to be reset."""
        return self._made_with

    def __setstate__(self, kept: tuple) -> None:
        self.__init__(*kept)

    def __repr__(self) -> str:
        return f"<hop.strangers {self.name} {self.text}>"


def _mine(found: dict[str, Any]) -> dict[str, Any]:
    """What is yours of something by agent."""
    return {_ME: found[_ME]} if _ME in found else {}
