"""Networks that `hop export --onnx` wrote, as agents that act in environments."""

from __future__ import annotations

import glob
import os
from typing import Any

import numpy as np

from ._own import follow
from ._spaces import Refusal
from .agents import _game, _inner, _seat, _single, chosen
from .player import Network, draw


class Onnx:
    """Exported networks that act. Make it with `hop.onnx`."""

    def __init__(self, path: str | os.PathLike[str], greedy: bool, seed: int):
        path = os.fspath(path)
        files = sorted(glob.glob(os.path.join(path, "agent*.onnx"))) if os.path.isdir(path) else [path]
        if not files or not os.path.isfile(files[0]):
            raise FileNotFoundError(
                f"{path} is no ONNX file, nor a folder with agent-0.onnx and others; hop export RUN --onnx --out DIR writes one"
            )
        self.name, self.greedy = path, greedy
        self.nets = [Network(f) for f in files]
        self.whose: dict[int, int] = {}
        for i, net in enumerate(self.nets):
            for a in net.net.get_modelmeta().custom_metadata_map.get("agents", "").split(","):
                if a.strip().isdigit():
                    self.whose[int(a)] = i
        self._draw = np.random.default_rng(seed)
        self._state: dict[tuple, np.ndarray] = {}
        self._at: dict[int, tuple[int, int]] = {}

    def act(self, env: Any, agent: str | int | None = None, *, observations: Any = None, infos: Any = None) -> Any:
        """Chooses for the step that comes next, as `hop.load(run).act` does.

        One file plays whoever is asked for; a folder's files play the agents that they were trained
        as. Actions are drawn by the network's probabilities unless it was made with greedy=True.
        """
        try:
            _inner(env)
        except TypeError:
            game, single = follow(env, observations, infos, numbers=self.nets[0].width or 0), True
        else:
            game, single = _game(env), _single(env)
        return chosen(env, game, _seat(game, agent), lambda seat: self._choose(game, seat), single)

    def _choose(self, game: Any, seat: int | None) -> np.ndarray:
        obs, legal, alive = game.arrays["obs"], game.arrays["legal"], game.arrays["alive"]
        out = np.zeros(alive.shape, np.int32)
        for s in range(alive.shape[1]) if seat is None else [seat]:
            rows = np.flatnonzero(alive[:, s])
            if len(rows) == 0:
                continue
            if len(self.nets) > 1 and s not in self.whose:
                raise Refusal(f"{self.name} has no network of agent {s}; it has those of {sorted(self.whose)}")
            net = self.nets[self.whose.get(s, 0) if len(self.nets) > 1 else 0]
            if net.width and net.width != obs.shape[2]:
                raise Refusal(f"{self.name} reads observations of {net.width} numbers, those of this env have {obs.shape[2]}")
            state = {n: self._state.get((id(game), s, n), np.zeros((len(alive), *shape[1:]), np.float32))
                     for n, shape in net.state.items()}
            for x in state.values():
                x[game.arrays["steps"] == 0] = 0
            answer, after = net.run(obs[rows, s], legal[rows, s], {n: x[rows] for n, x in state.items()})
            for n, x in after.items():
                state[n][rows] = x
                self._state[id(game), s, n] = state[n]
            for row, i in zip(answer.astype(np.float64), rows):
                mask = legal[i, s]
                if self.greedy:
                    out[i, s] = int(np.where(mask, row, -np.inf).argmax())
                else:
                    out[i, s] = draw(row, mask, net.answer == "logits", int(self._draw.integers(2**63)))
        return out

    def __repr__(self) -> str:
        return f"<hop networks {self.name}>"


def onnx(path: str | os.PathLike[str], *, greedy: bool = False, seed: int = 0) -> Onnx:
    """Networks that `hop export RUN --onnx` wrote, to act in hop's envs or in an environment of yours.

    Args:
        path: one file, or the folder that they were written into.
        greedy: take the likeliest action instead of drawing one.
        seed: of the draws.

    It needs onnxruntime: pip install 'hop-marl[onnx]'.
    """
    return Onnx(path, greedy, seed)
