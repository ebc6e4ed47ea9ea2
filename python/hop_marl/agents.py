"""hop's agents in Python: those of a run, and scripted bots, in any env of hop's games.

    env = hop.parallel_env("staghunt")
    agent = hop.load("runs/hop+-001")
    obs, infos = env.reset(seed=1)
    while env.agents:
        obs, rewards, terminations, truncations, infos = env.step(agent.act(env))

An agent acts where the game is, in the env's own hop process, and by the env's seed: the same seed
plays the same. It remembers within an episode and across episodes, in each copy of a `vec_env`
apart, as in `hop eval`. `env.reset(seed=...)` begins a new life; `env.reset()` goes on with what it
knows.
"""

from __future__ import annotations

import os
import re
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

from ._binary import binary
from ._game import Game
from ._html import look as look_html
from ._own import follow
from ._wire import HopError, Peer

# The ticks of the Go package serve/games: _ACT + number * _SEATS + seat + 1, 0 for all seats.
_ACT, _SEATS = 1 << 16, 256


@dataclass
class Move:
    """One step of what a search expects to happen.

    Attributes:
        action: its own.
        others: what each co-player is expected to do, by agent; None: has left, or is not known.
        visits: how many simulations took this line so far.
        over: nothing is left to decide after it.
    """

    action: str
    others: dict[str, str | None]
    visits: int
    over: bool


@dataclass
class Other:
    """What an agent holds of a co-player.

    Attributes:
        left: it has left the game; then nothing is predicted of it.
        goals: what it may be after, in words.
        beliefs: how likely each of them is held to be.
        predicted: what it is expected to do now, a probability for each action; None: nothing.
        posterior: over the agent's own hypotheses, which lead to those goals.
        mean, spread: of the goal that was inferred, where goals are points (hop+types); else None.
    """

    left: bool
    goals: list[str]
    beliefs: np.ndarray
    predicted: np.ndarray | None
    posterior: np.ndarray
    mean: np.ndarray | None
    spread: np.ndarray | None


@dataclass
class Look:
    """An agent's last decision.

    Attributes:
        agent: whose seat it was for.
        actions: names of the actions, which arrays are by.
        action: what it chose, an index.
        policy: the probabilities that it drew from; None: it cannot say (bots).
        value: the return that it expects from here on, in the game's rewards; None: it has none.
        visits, q, prior: of its search, by action: simulations, values (nan where never tried) and
            the policy that the search started from; None: it does not search.
        line: what the search expects to happen (in an env of a single copy).
        others: what it holds of each co-player, by name; empty for those who model nobody.
    """

    agent: str
    actions: list[str]
    action: int
    policy: np.ndarray | None
    value: float | None
    visits: np.ndarray | None = None
    q: np.ndarray | None = None
    prior: np.ndarray | None = None
    line: list[Move] = field(default_factory=list)
    others: dict[str, Other] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        return look_html(self)

    def __str__(self) -> str:
        """In words, the likeliest first."""
        out = [f"{self.agent} plays {self.actions[self.action]}"]
        if self.value is not None:
            out[0] += f" and expects {self.value:.2f} more"
        for name, o in self.others.items():
            if o.left:
                out.append(f"  {name} has left")
                continue
            order = np.argsort(-o.beliefs, kind="stable")
            words = ", ".join(f"{o.goals[i]} {o.beliefs[i]:.0%}" for i in order)
            if o.predicted is not None:
                k = int(o.predicted.argmax())
                words += f"; next {self.actions[k]} {o.predicted[k]:.0%}"
            out.append(f"  {name}: {words}")
        for k, name in enumerate(self.actions):
            if self.visits is not None and self.visits[k]:
                out.append(f"  {name:10} {self.visits[k]:6} visits  value {self.q[k]:.2f}")
        return "\n".join(out)


class Agent:
    """One of hop's agents. Make it with `hop.load` or `hop.bot`.

    Attributes:
        name: what it was loaded as.
        info: of a run's: run, mind, game, params, agents, step; empty for bots.
    """

    def __init__(self, name: str, who: dict[str, Any], info: dict[str, Any]):
        self.name, self._who, self.info = name, who, info
        self._numbers: weakref.WeakKeyDictionary[Game, int] = weakref.WeakKeyDictionary()

    @property
    def game(self) -> str:
        """The name of the game that it was trained on."""
        return self._known("game")

    @property
    def params(self) -> dict[str, Any]:
        """That game's parameters: hop.parallel_env(agent.game, **agent.params) is its env."""
        return self._known("params")

    def _known(self, what: str) -> Any:
        if not self.info:
            raise AttributeError(
                f"a bot was not trained, so it has no {what}; it plays any env of its game"
            )
        return self.info[what]

    def act(
        self, env: Any, agent: str | int | None = None, *, observations: Any = None, infos: Any = None
    ) -> Any:
        """Chooses for the step that comes next. It is asked once a step; asked again, it repeats.

        Args:
            env: a hop.parallel_env or hop.vec_env, which may be wrapped; it has been reset. Of a run
                that was trained on an environment of yours: such an environment, parallel or AEC, as
                you step it.
            agent: whose seat to play, such as "agent_2" or 2; None: everybody's. A run's agent a
                plays seat a; where it was trained with bots, those play. "RUN#0" plays any seat.
            observations, infos: what reset returned, for an environment of yours that does not say
                itself what its agents see, and only the first time.

        Returns:
            with parallel_env: a dict of actions by agent for all who are alive, or the one
            agent's action. With vec_env: [num_envs][num_agents], which `step` takes as it is, or
            the agent's [num_envs]; what stands for agents that have left is not looked at. Of an AEC
            environment: the action of the agent whose turn it is, None if that has left.
        """
        if not self.info.get("own"):
            game = _game(env)
            return chosen(env, game, _seat(game, agent), lambda seat: self._asked(game, seat), _single(env))
        game = follow(env, observations, infos, params=self.info["params"], **self._who)
        return chosen(env, game, _seat(game, agent), lambda seat: self._asked(game, seat), True)

    def _asked(self, game: Game, seat: int | None) -> np.ndarray:
        number = self._number(game)
        game.peer.tick(_ACT + number * _SEATS + (0 if seat is None else seat + 1))
        return game.arrays["actions"]

    def look(self, env: Any, agent: str | int, index: int = 0) -> Look:
        """Shows its last decision for an agent's seat: beliefs, goals, predictions, the search.

        Args:
            env: where it was asked to act.
            agent: whose seat, such as "agent_2" or 2.
            index: which copy of a vec_env.
        """
        game = follow(env, None, None, **self._who) if self.info.get("own") else _game(env)
        seat = _seat(game, agent)
        if seat is None:
            raise TypeError("say whose decision to look at, such as agent_0")
        if game not in self._numbers:
            raise HopError(f"{self.name} has not chosen in this env yet; let it act first")
        got = game.peer.call("look", number=self._numbers[game], agent=seat, env=index)
        return _look(game.spec["actions"], game.names, seat, got)

    def _number(self, game: Game) -> int:
        """The number that the env's hop knows it by; it is taken in the first time."""
        if game not in self._numbers:
            self._numbers[game] = game.peer.call("seat", **self._who)["number"]
        return self._numbers[game]

    def __repr__(self) -> str:
        return f"<hop agent {self.name}>"


def load(run: str | os.PathLike[str], *, greedy: bool = False, trust: bool = False) -> Agent:
    """Loads a run's agents to play.

    Args:
        run: the folder of a run or of one of its seeds (of several the first counts), as "RUN";
            "RUN#AGENT" is one of its agents, which plays any seat; "@STEP" behind either is what
            they were at the checkpoint of that env step.
        greedy: take the likeliest action instead of drawing one.
        trust: start what the folder names, such as an environment in Python, also if you neither
            trained it nor said `hop trust FOLDER`.

    Raises FileNotFoundError if there is no such folder, HopError if its agents cannot be loaded.
    """
    name = os.fspath(run)
    found = re.fullmatch(r"(.*?)(?:#(\d+))?(?:@(\d+))?", name, re.DOTALL)
    assert found is not None  # everything matches
    folder, agent, step = found.groups()
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"{folder} is no folder; name that of a run, such as runs/ppo-4x4-001, or "
            "runs/ppo-4x4-001/seed-1#0 for one of its agents"
        )
    who = {
        "run": os.path.abspath(folder),
        "agent": -1 if agent is None else int(agent),
        "step": int(step or 0),
        "greedy": greedy,
        "trust": trust,
    }
    return Agent(name, who, _asked("run", **who))


def bot(name: str) -> Agent:
    """A scripted player of a game, such as "ns" of staghunt (`hop.bots`), or "plan-infer"."""
    return Agent(name, {"bot": name, "agent": -1}, {})


def bots(game: str, /, **params: Any) -> dict[str, str]:
    """The names of a game's scripted players, and a few words on what each does."""
    got = _asked("bots", game=game, params=params)
    return {name: got["docs"][name] for name in got["names"]}


def _asked(op: str, **args: Any) -> dict[str, Any]:
    """Asks a hop process that ends then."""
    peer = Peer([binary(), "bridge"])
    try:
        return peer.call(op, **args)
    finally:
        peer.close()


def _inner(env: Any) -> Any:
    """Finds hop's own env below wrappers and conversions."""
    seen: set[int] = set()
    while env is not None and id(env) not in seen:
        if isinstance(getattr(env, "_game", None), Game):
            return env
        seen.add(id(env))
        for name in ("env", "aec_env", "par_env", "venv", "unwrapped"):
            below = getattr(env, name, None)
            if below is not None and below is not env:
                env = below
                break
        else:
            break
    raise TypeError(
        "this is no env of hop's games, nor a wrapper around one; agents act in hop.parallel_env "
        "and hop.vec_env. Elsewhere use hop export --onnx."
    )


def _game(env: Any) -> Game:
    """Returns the game that an env plays."""
    return _inner(env)._game


def _single(env: Any) -> bool:
    """Whether the env is a parallel_env, of one copy and with names."""
    return not hasattr(_inner(env), "random_actions")


def _seat(game: Game, agent: str | int | None) -> int | None:
    """Returns the number of an agent."""
    if agent is None:
        return None
    if str(agent) in game.names:
        return game.names.index(str(agent))
    if not re.fullmatch(r"\d+", str(agent)) or int(agent) >= len(game.names):
        raise ValueError(f"there is no agent {agent!r}; the game has {game.names[0]} to {game.names[-1]}")
    return int(agent)


def chosen(
    env: Any, game: Game, seat: int | None, ask: Callable[[int | None], np.ndarray], single: bool
) -> Any:
    """Lets somebody choose, and returns the actions as the env takes them; ask: all seats' numbers."""
    if lost := getattr(game, "lost", ""):
        raise HopError(lost)
    if not game.started:
        raise HopError("the env must be reset before an agent can act")
    alive = game.arrays["alive"][0]
    if seat is not None and single and not alive[seat]:
        raise HopError(f"{game.names[seat]} has left, or the episode is over: nothing is to choose")
    if turn := game.spec.get("turns"):
        now = str(env.agent_selection)
        if now not in game.names or not alive[game.names.index(now)]:
            return None  # whoever has left takes an empty turn
        seat = game.names.index(now)
    acts = ask(seat)
    if not single:
        return acts if seat is None else acts[:, seat].copy()
    if seat is not None or turn:
        return game.given(seat, int(acts[0, seat]))
    keys = getattr(game, "shape", None)
    keys = keys.agents if keys is not None else game.names
    return {keys[i]: game.given(i, int(acts[0, i])) for i, lives in enumerate(alive.tolist()) if lives}


def _look(actions: list[str], names: list[str], seat: int, got: dict[str, Any]) -> Look:
    """Turns hop's answer into arrays."""

    def array(x: Any, kind: Any) -> np.ndarray | None:
        return None if x is None else np.array(x, kind)

    policy = array(got["policy"], np.float32)
    out = Look(names[seat], actions, got["action"], policy, got["value"])
    for o in got["others"]:
        out.others[names[o["agent"]]] = Other(
            o["left"],
            list(o["goals"] or []),
            np.array(o["probs"] or [], np.float64),
            array(o["predicted"], np.float64),
            np.array(o["posterior"] or [], np.float64),
            array(o["mean"], np.float32),
            array(o["spread"], np.float32),
        )
    if (s := got["search"]) is None:
        return out
    out.visits, out.prior = np.array(s["visits"], np.int32), np.array(s["prior"], np.float32)
    out.q = np.where(out.visits > 0, np.array(s["q"], np.float32), np.float32(np.nan))
    others = list(out.others)
    for m in s["line"]:
        they = [None if k < 0 else actions[k] for k in m["Others"] or [-1] * len(others)]
        line = Move(actions[m["Action"]], dict(zip(others, they)), m["Visits"], m["Over"])
        out.line.append(line)
    return out
