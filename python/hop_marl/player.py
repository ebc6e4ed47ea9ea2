"""Plays for hop: the guest behind `hop adapt RUN --vs py:module:function`.

hop starts `python -m hop_marl.player` and asks it to open a policy: a function, something that makes
players which remember, or an ONNX file. What seats see and do lies in shared memory: a tick decides
for all copies of a game that are marked, and nothing else is said. docs/strangers.md says what a
policy can be like.
"""

from __future__ import annotations

import inspect
import math
import operator
import os
import sys
import threading
import time
import traceback
from typing import Any, Callable

import numpy as np

from ._copies import raised
from ._named import find
from ._spaces import Refusal
from ._wire import HopError, serve

# What the host asks of a copy: to decide, at the start of an episode or later.
_BEGIN = 2

# Seconds that a decision may take, unless the policy has an attribute time_limit.
_TIME_LIMIT = 10.0

_WANT = (
    "a function (observation, mask, info) that returns an action, or a class or a function without "
    "arguments that makes something which is called like that, or has a method act"
)


class Functions:
    """A policy that is asked for one decision after the other."""

    def __init__(self, name: str, game: str, actions: list[str]):
        self.found = find(name, "policy", "mypolicies:act", _WANT, "HOP_PYTHON")
        self.about = {"game": game, "actions": actions}
        self.remembers = not _takes(self.found, 3)
        if self.remembers and not _takes(self.found, 0):
            try:
                takes = str(inspect.signature(self.found))
            except (TypeError, ValueError):
                takes = "other arguments"
            raise Refusal(f"{name} takes {takes}; want {_WANT}")
        if self.remembers:
            self.make()  # faults show at once
        limit = getattr(self.found, "time_limit", _TIME_LIMIT)
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit <= 86400:
            raise Refusal(f"its time_limit is {limit!r}, want seconds, more than 0")
        self.limit = float(limit)

    def make(self) -> tuple[Callable[..., Any], Callable[[], Any] | None]:
        """Who decides in one life, and what is called when an episode begins."""
        if not self.remembers:
            return self.found, None
        try:
            one = self.found()
        except Exception as e:
            raise Refusal(raised("making a player", e)) from None
        act = one if callable(one) else getattr(one, "act", None)
        if not callable(act) or not _takes(act, 3):
            raise Refusal(f"it made a {type(one).__name__}; want {_WANT}")
        return act, getattr(one, "reset", None)

    def decide(self, b: Block, rows: list[int], begins: list[bool]) -> None:
        """Asks for one row after the other."""
        for i, begin in zip(rows, begins):
            b.at[0] = i
            b.calls[0] += 1
            if b.players[i] is None:
                b.players[i] = self.make()
                begin = True
            act, reset = b.players[i]
            earned = b.earned[i]
            info = {
                **self.about,
                "seat": int(b.seat[i]),
                "episode": int(b.episode[i]),
                "step": int(b.step[i]),
                "reward": float(b.reward[i]),
                "last_return": None if math.isnan(earned) else float(earned),
                "seed": int(b.seed[i]),
            }
            try:
                if begin and reset is not None:
                    reset()
                answer = act(b.obs[i].copy(), b.mask[i] != 0, info)
            except Exception as e:
                raise HopError(raised("it", e)) from None
            b.action[i] = _whole(answer, len(b.mask[i]))


class Network:
    """An ONNX file, which decides for all rows at once.

    It reads `obs`, [rows][numbers], and perhaps `legal`, [rows][actions], and gives `probs` or
    `logits`, [rows][actions]. A state, 0 when an episode begins, is read as NAME and given as
    NAME_next, as by an LSTM. So `hop export --onnx` writes them.
    """

    limit = _TIME_LIMIT

    def __init__(self, name: str, numbers: int = 0, actions: int = 0):
        try:
            import onnxruntime
        except ImportError:
            raise Refusal(
                f"reading it needs onnxruntime, which {sys.executable} does not have: "
                "pip install onnxruntime there, or name another interpreter with HOP_PYTHON"
            ) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        try:
            self.net = onnxruntime.InferenceSession(
                name, options, providers=["CPUExecutionProvider"]
            )
        except Exception as e:
            raise Refusal(f"it is no network that onnxruntime can run: {e}") from None
        reads = {p.name: p for p in self.net.get_inputs()}
        gives = [p.name for p in self.net.get_outputs()]
        self.answer = next((name for name in ("probs", "logits") if name in gives), "")
        if "obs" not in reads or not self.answer:
            raise Refusal(
                f"it reads {', '.join(reads)} and gives {', '.join(gives)}; want obs, an "
                f"observation, and probs or logits, one for each{f' of {actions}' if actions else ''} action{'s' if actions else ''}"
            )
        width = reads["obs"].shape[-1]
        self.width = width if isinstance(width, int) else None
        if numbers and self.width and width != numbers:
            raise Refusal(
                f"it reads observations of {width} numbers, those of this game have {numbers}; name "
                "the game that it was made for with --game and --set"
            )
        self.masked = "legal" in reads
        self.state = {n: p.shape for n, p in reads.items() if n not in ("obs", "legal")}
        self.remembers = bool(self.state)
        lost = [n for n in self.state if n + "_next" not in gives]
        if lost:
            raise Refusal(
                f"it also reads {', '.join(lost)}, which nobody gives it; want a network that acts "
                "by observations alone, or one that gives NAME_next for each state NAME that it reads"
            )

    def decide(self, b: Block, rows: list[int], begins: list[bool]) -> None:
        """Draws actions from what the network gives for all rows."""
        b.at[0] = rows[0]
        b.calls[0] += 1
        for name, shape in self.state.items():
            if name not in b.state:
                b.state[name] = np.zeros((len(b.players), *shape[1:]), np.float32)
            b.state[name][[i for i, begin in zip(rows, begins) if begin]] = 0
        answer, after = self.run(b.obs[rows], b.mask[rows], {n: b.state[n][rows] for n in self.state})
        for name, value in after.items():
            b.state[name][rows] = value
        if answer.shape != (len(rows), b.mask.shape[1]):
            raise HopError(
                f"it gave {self.answer} of shape {list(answer.shape)}, want "
                f"{[len(rows), b.mask.shape[1]]}: one for each action"
            )
        for row, i in zip(answer.astype(np.float64), rows):
            b.at[0] = i
            b.action[i] = draw(row, b.mask[i] != 0, self.answer == "logits", int(b.seed[i]))


    def run(
        self, obs: np.ndarray, mask: np.ndarray, state: dict[str, np.ndarray]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """What the network gives for some rows, and their states after it."""
        feeds = {"obs": obs, **state}
        if self.masked:
            feeds["legal"] = mask.astype(np.float32)
        try:
            answer, *after = self.net.run([self.answer, *(name + "_next" for name in self.state)], feeds)
        except Exception as e:
            raise HopError(f"onnxruntime raised {type(e).__name__}: {e}") from None
        return answer, dict(zip(self.state, after))


def draw(row: np.ndarray, mask: np.ndarray, logits: bool, seed: int) -> int:
    """An action that is drawn from what a network gives for one row."""
    if not np.isfinite(row[mask]).all():
        raise HopError(f"it gave {row.tolist()}, want numbers that are finite")
    probs = np.exp(row - row[mask].max()) if logits else row.clip(0)
    sums = np.where(mask, probs, 0).cumsum()
    if sums[-1] <= 0:
        raise HopError(f"it gave {row.tolist()}, which leaves no legal action")
    drawn = int(np.searchsorted(sums, seed / 2**63 * sums[-1], side="right"))
    return min(drawn, int(np.flatnonzero(np.diff(sums, prepend=0) > 0)[-1]))


def _ours(file: str) -> bool:
    """Whether a file is of this package."""
    return os.path.dirname(os.path.abspath(file)) == os.path.dirname(os.path.abspath(__file__))


def _takes(function: Callable[..., Any], many: int) -> bool:
    """Whether something can be called with so many arguments; who does not say can with three."""
    try:
        inspect.signature(function).bind(*[None] * many)
    except TypeError:
        return False
    except ValueError:
        return many == 3 and not isinstance(function, type)
    return True


def _whole(answer: Any, actions: int) -> int:
    """An answer as a number that can be an action's; whether it is legal, the host knows."""
    want = f"a whole number from 0 to {actions - 1}"
    if isinstance(answer, (bool, np.bool_)):
        raise HopError(f"it answered {answer!r}, want {want}")
    try:
        k = operator.index(answer)
    except TypeError:
        raise HopError(
            f"it answered {answer!r:.200} of type {type(answer).__name__}, want {want}"
        ) from None
    if not 0 <= k < actions:
        raise HopError(f"it answered {k}, want {want}")
    return k


class Block:
    """The memory of some copies of a game."""

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.op, self.mask, self.obs = arrays["op"], arrays["mask"], arrays["obs"]
        self.reward, self.earned, self.seed = arrays["reward"], arrays["earned"], arrays["seed"]
        self.seat, self.episode, self.step = arrays["seat"], arrays["episode"], arrays["step"]
        self.action, self.at, self.calls = arrays["action"], arrays["at"], arrays["calls"]
        self.forget()

    def forget(self) -> None:
        """Begins new lives."""
        self.players: list[Any] = [None] * len(self.op)
        self.state: dict[str, np.ndarray] = {}


class Players:
    """Answers hop: opens a policy, and decides for it."""

    def __init__(self) -> None:
        self.policy: Functions | Network | None = None
        self.blocks: list[Block] = []
        self.deciding: Block | None = None

    def call(self, op: str, args: dict) -> dict | None:
        """Answers a question: open a policy, or forget what was."""
        if op == "open":
            return self.open(args)
        if op == "fresh":
            self.blocks[args["block"]].forget()
            return None
        raise HopError(
            f"the player was asked to {op}, which it does not know; install the same version of "
            "hop and its Python package"
        )

    def open(self, args: dict) -> dict:
        """Opens a policy and says what it is like."""
        name, actions = args["policy"], args["actions"]
        if name.endswith(".onnx"):
            self.policy = Network(name, args["numbers"], len(actions))
        else:
            self.policy = Functions(name, args["game"], actions)
        threading.Thread(target=self.watch, args=(self.policy.limit,), daemon=True).start()
        return {"limit": self.policy.limit, "remembers": self.policy.remembers}

    def share(self, arrays: dict[str, np.ndarray]) -> None:
        """Takes the memory of some copies."""
        self.blocks.append(Block(arrays))

    def tick(self, code: int) -> None:
        """Decides for the copies that are marked."""
        b = self.deciding = self.blocks[code]
        rows = np.flatnonzero(b.op)
        begins = (b.op[rows] == _BEGIN).tolist()
        b.op[rows] = 0
        self.policy.decide(b, rows.tolist(), begins)
        self.deciding = None

    def watch(self, limit: float) -> None:
        """Writes where a decision is that takes too long, before the host ends this process."""
        main, seen, since = threading.main_thread().ident, (None, 0), time.monotonic()
        while True:
            time.sleep(limit / 10)
            b = self.deciding
            now = (b, 0 if b is None else int(b.calls[0]))
            if now != seen or b is None:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > 0.8 * limit:
                frames = traceback.extract_stack(sys._current_frames()[main])
                theirs = [f for f in frames if "runpy" not in f.filename and not _ours(f.filename)]
                print("it is at\n" + "".join(traceback.format_list(theirs)).rstrip(), file=sys.stderr)
                return


def main() -> None:
    """Answers until hop has no more questions."""
    serve(Players())


if __name__ == "__main__":
    main()
