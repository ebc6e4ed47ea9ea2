"""The PettingZoo ParallelEnv. Imported by `hop.parallel_env`, since it needs pettingzoo."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from ._game import Game, bounds
from ._html import png
from ._wire import HopError


class HopParallelEnv(ParallelEnv):
    """One of hop's games as a PettingZoo ParallelEnv. Make it with `hop.parallel_env`."""

    metadata: dict[str, Any] = {
        "render_modes": ["human", "rgb_array", "ansi"],
        "is_parallelizable": True,
        "render_fps": 5,
    }

    def __init__(
        self, game: str, params: dict, render_mode: str | None, mask: str, leave: bool, illegal: str
    ):
        if mask not in ("obs", "info"):
            raise ValueError(f'mask is {mask!r}, want "obs" or "info"')
        if render_mode not in (None, *self.metadata["render_modes"]):
            modes = ", ".join(self.metadata["render_modes"])
            raise ValueError(f"render_mode is {render_mode!r}, want None or one of {modes}")
        if render_mode == "human":
            _pygame()  # say at once if it is not there
        self._made_with = (game, params, render_mode, mask, leave, illegal)
        self.render_mode = render_mode
        self._in_obs, self._leave = mask == "obs", leave
        self._window: Any = None
        self._open()
        spec = self._game.spec
        self.metadata = {**type(self).metadata, "name": f"hop_{game}"}
        self.spec_of_game: dict = spec
        self.possible_agents = [f"agent_{a}" for a in range(spec["agents"])]
        self.agents: list[str] = []
        low, high = bounds(spec)
        actions = len(spec["actions"])
        self.observation_spaces, self.action_spaces = {}, {}
        for agent in self.possible_agents:
            seen: spaces.Space = spaces.Box(low, high, dtype=np.float32)
            if self._in_obs:
                legal = spaces.Box(0, 1, (actions,), np.int8)
                seen = spaces.Dict({"observation": seen, "action_mask": legal})
            self.observation_spaces[agent] = seen
            self.action_spaces[agent] = spaces.Discrete(actions)
        many = len(self.possible_agents)
        self.state_space = spaces.Box(np.tile(low, many), np.tile(high, many), dtype=np.float32)

    def _open(self) -> None:
        """Starts the game's process and keeps the views that a step needs."""
        game, params, render_mode, _, _, illegal = self._made_with
        self._game = Game(
            game=game, params=params, envs=1, threads=1, illegal=illegal,
            render=render_mode is not None,
        )
        arrays = self._game.arrays
        self._obs = arrays["obs"][0]
        self._legal = arrays["legal"][0].view(np.int8)
        self._rewards = arrays["rewards"][0]
        self._ends = (arrays["terminated"][0], arrays["truncated"][0])
        self._alive, self._over = arrays["alive"][0], arrays["over"]
        self._actions = memoryview(arrays["actions"][0])
        self._step = self._game.step

    def observation_space(self, agent: str) -> spaces.Space:
        """What the agent sees."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """What the agent may do, were everything legal; the mask says what is."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict | None = None
    ) -> tuple[dict[str, Any], dict[str, dict]]:
        """Starts an episode: the one of a seed, or without one the next.

        A process that was forked off, or whose hop has died, gets a hop of its own here.
        """
        if not self._game.usable:
            self._game.peer.close()
            self._open()
        self._game.start(seed)
        self.agents = self.possible_agents[:]
        self._living = list(enumerate(self.agents))
        self._show()
        return self._observed()

    def step(self, actions: dict[str, int]) -> tuple[dict, dict, dict, dict, dict]:
        """Plays the actions of all agents that are there, at once."""
        living = self._living_now()
        if not living:
            return {}, {}, {}, {}, {}
        if len(actions) > len(living) and not actions.keys() <= self.action_spaces.keys():
            raise self._wrong("", actions)
        played = self._actions
        for i, agent in living:
            try:
                played[i] = actions[agent]
            except (KeyError, TypeError, ValueError):
                raise self._wrong(agent, actions) from None
        self._step()
        obs, infos = self._observed()
        paid = self._rewards.tolist()
        terminated, truncated = self._ends[0].tolist(), self._ends[1].tolist()
        if not self._leave:
            terminated, truncated = self._ends_together(truncated)
        rewards, terminations, truncations, left = {}, {}, {}, False
        for i, agent in living:
            rewards[agent] = paid[i]
            terminations[agent] = terminated[i]
            truncations[agent] = truncated[i]
            left = left or terminated[i] or truncated[i]
        if left:
            self._living = [(i, a) for i, a in living if not (terminated[i] or truncated[i])]
            self.agents = [agent for _, agent in self._living]
        self._show()
        return obs, rewards, terminations, truncations, infos

    def _living_now(self) -> list[tuple[int, str]]:
        """Number and name of the agents that act now."""
        if not self._game.started:
            raise HopError("the env must be reset before the first step")
        return self._living

    def _observed(self) -> tuple[dict[str, Any], dict[str, dict]]:
        """Observations and infos of those who acted, as copies that may be kept."""
        seen, legal = self._obs.copy(), self._legal.copy()
        if self._in_obs:
            obs = {a: {"observation": seen[i], "action_mask": legal[i]} for i, a in self._living}
            infos: dict[str, dict] = {a: {} for _, a in self._living}
        else:
            obs = {a: seen[i] for i, a in self._living}
            infos = {a: {"action_mask": legal[i]} for i, a in self._living}
        if not self._leave:
            alive = self._alive.tolist()
            for i, a in self._living:
                infos[a]["alive"] = alive[i]
        return obs, infos

    def _ends_together(self, truncated: list[bool]) -> tuple[list[bool], list[bool]]:
        """The ends of an env that nobody leaves: those of all agents when the episode is over."""
        if not self._over[0]:
            return [False] * len(truncated), [False] * len(truncated)
        return [not cut for cut in truncated], truncated

    def _wrong(self, agent: str, actions: Any) -> Exception:
        """What is wrong with an action that could not be written."""
        if not isinstance(actions, dict):
            return TypeError(f"actions is a {type(actions).__name__}, want a dict by agent")
        if not agent:
            unknown = ", ".join(str(a) for a in actions if a not in self.action_spaces)
            return ValueError(f"actions names {unknown}; the env has {', '.join(self.possible_agents)}")
        if agent not in actions:
            there = ", ".join(map(str, actions))
            return ValueError(f"actions has none for {agent}, which is alive; it has {there}")
        return TypeError(f"{agent}'s action is {actions[agent]!r}, want a whole number")

    def state(self) -> np.ndarray:
        """All agents' observations side by side; zeros for those who have left."""
        return self._obs.reshape(-1).copy()

    def render(self) -> np.ndarray | str | None:
        """The picture that `hop play` shows: pixels, text, or a window."""
        if self.render_mode is None:
            raise HopError('make the env with a render_mode, such as render_mode="rgb_array"')
        if self.render_mode != "human":
            return self._game.render(self.render_mode)
        self._show()
        return None

    def _repr_html_(self) -> str:
        """In a notebook: the board as it is, if the env was made with a render_mode."""
        if self.render_mode is None or not self._game.started or not self._game.usable:
            return f"<code>{html.escape(repr(self))}</code>"
        return png(self._game.render("rgb_array"))

    def _show(self) -> None:
        """Draws the window of render_mode "human"."""
        if self.render_mode != "human":
            return
        pygame = _pygame()
        pixels = self._game.render("rgb_array")
        size = (pixels.shape[1], pixels.shape[0])
        if self._window is None:
            pygame.display.init()
            self._window = pygame.display.set_mode(size)
            pygame.display.set_caption("hop " + self._game.spec["label"])
            self._clock = pygame.time.Clock()
        picture = pygame.surfarray.make_surface(pixels.swapaxes(0, 1))
        self._window.blit(picture, (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self.metadata["render_fps"])

    def close(self) -> None:
        """Ends the game's process and the window. More than once does no harm."""
        self._game.peer.close()
        if self._window is not None:
            _pygame().display.quit()
            self._window = None

    def __getstate__(self) -> dict:
        """What a pickle or a copy needs: how the env was made, and where it is."""
        state = self._game.save() if self._game.usable else None
        return {
            "made_with": self._made_with,
            "state": state,
            "agents": self.agents,
            "spaces": self.action_spaces,  # with where their random numbers are
        }

    def __setstate__(self, kept: dict) -> None:
        self.__init__(*kept["made_with"])  # a process of its own
        self._game.load(kept["state"])
        self.agents = list(kept["agents"]) if kept["state"] is not None else []
        self._living = [(i, a) for i, a in enumerate(self.possible_agents) if a in self.agents]
        self.action_spaces = kept["spaces"]

    def __repr__(self) -> str:
        return f"<hop.parallel_env {self._game.spec['label']}>"


def _pygame() -> Any:
    """Imports pygame, which draws the window."""
    try:
        import pygame
    except ImportError as err:
        raise ImportError(
            'render_mode="human" draws with pygame, which is not installed: '
            'pip install pygame, or use render_mode="rgb_array" or "ansi"'
        ) from err
    return pygame
