"""What was played: a PettingZoo environment wrapped, its steps, and rows found by their content.

A *row* is one agent at one step. Its number is the step's number times the number of
agents, plus the agent's place among ``possible_agents``; steps are numbered over all
wrapped environments in the order in which they are due.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any, NamedTuple

import numpy as np

CANDIDATES = 16  # rows with the same observation that are tried, newest first, of each agent


def to_numpy(x: Any) -> np.ndarray:
    """An array of whatever holds numbers: numpy, a torch tensor on any device, a list."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    if isinstance(x, (list, tuple)) and x and hasattr(x[0], "detach"):
        return np.stack([to_numpy(v) for v in x])
    return np.asarray(x)


def split(obs: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """An observation as flat float32 numbers, and its mask if it holds one.

    A dictionary with "observation" and "action_mask" is PettingZoo's form of the two; of
    any other dictionary the values are joined in their order.
    """
    mask = None
    if isinstance(obs, dict):
        mask = obs.get("action_mask")
        if "observation" in obs:
            obs = obs["observation"]
        else:
            parts = [split(v)[0] for k, v in obs.items() if k != "action_mask"]
            obs = np.concatenate(parts) if parts else np.zeros(0)
    flat = np.array(obs, np.float32).ravel()
    return flat, None if mask is None else np.asarray(mask, bool).ravel()


class Row(NamedTuple):
    """A recorded row: which episode, the step in it, and the agent's place."""

    episode: "Episode"
    t: int
    a: int


class Episode:
    """The steps of one episode of one environment.

    A step is kept as it was handed over, which costs little while playing; ``settle`` turns
    such steps into arrays when somebody wants to read them.
    """

    def __init__(self, sizes: list[int], actions: int, env: int):
        self.env, self.sizes, self.actions = env, sizes, actions
        self.length = 0
        self.running = True
        self.cut_short = False  # the environment was reset before the episode was over
        self.lost = False  # it was longer than what is kept
        self.seed: int | None = None  # that the reset before it was given
        self.next: Any = None  # a weak reference to the next one of the same environment
        self.policy: dict[tuple[int, int], tuple] = {}  # by step and agent
        self.moa: dict[tuple[int, int, int], np.ndarray] = {}  # by step, agent and co-player
        self.world: dict[tuple[int, int], tuple] = {}
        self.hashes: list[list[int | None]] = []  # [steps][agents], for as many as are indexed
        self._fresh: list[tuple] = []  # steps that are not in the arrays yet
        agents, width = len(sizes), max(sizes)
        self.obs = np.zeros((0, agents, width), np.float32)
        self.after = np.zeros((0, agents, width), np.float32)
        self.legal = np.zeros((0, agents, actions), bool)
        self.action = np.zeros((0, agents), np.int32)
        self.reward = np.zeros((0, agents), np.float32)
        self.alive = np.zeros((0, agents), bool)
        self.done = np.zeros((0, agents), bool)
        self.cut = np.zeros((0, agents), bool)
        self.number = np.zeros(0, np.int64)

    def add(self, *step: Any) -> None:
        """Keeps a step: number, then by agent sights, masks, actions, rewards, ends, cuts and
        sights after it; None for agents that are not there."""
        self._fresh.append(step)
        self.length += 1

    def settle(self) -> None:
        """Brings the arrays up to the last step."""
        fresh, self._fresh = self._fresh, []
        if not fresh:
            return
        number, sights, masks, acts, rewards, ends, cuts, after = zip(*fresh)
        blank = [np.zeros(max(self.sizes), np.float32) for _ in self.sizes]
        free = np.ones(self.actions, bool)
        here = np.array([[x is not None for x in row] for row in sights])
        for name, more in (
            ("number", np.array(number, np.int64)),
            ("obs", _stack(sights, blank)),
            ("after", _stack(after, blank)),
            ("legal", _stack(masks, [free for _ in self.sizes])),
            ("action", np.array(acts, np.int32)),
            ("reward", np.array(rewards, np.float32)),
            ("alive", here),
            ("done", np.array(ends, bool)),
            ("cut", np.array(cuts, bool)),
        ):
            setattr(self, name, np.concatenate([getattr(self, name), more]))

    def ends(self, t: int, a: int) -> bool:
        """Whether the agent's episode ends with this step, by the rules or from outside."""
        return bool(self.done[t, a] or self.cut[t, a])


def _stack(rows: tuple, blank: list[np.ndarray]) -> np.ndarray:
    """[steps][agents][numbers] of rows that may be shorter or missing."""
    width = blank[0].size
    out = []
    for row in rows:
        for x, nothing in zip(row, blank):
            if x is None:
                x = nothing
            elif x.size != width:
                x = np.concatenate([x, np.zeros(width - x.size, x.dtype)])
            out.append(x)
    return np.concatenate(out).reshape(len(rows), len(blank), width)


class Played:
    """All recorded steps: the first ones and the newest, as many as fit into memory."""

    def __init__(self, steps: int, memory: int):
        self.limit, self.memory = steps, memory
        self.names: list[str] = []
        self.sizes: list[int] = []  # of each agent's observation
        self.shape: tuple[int, ...] | None = None  # of observations, if all agents' are alike
        self.actions = 0
        self.masks = False
        self.steps = 0  # numbers handed out
        self.stepped = 0  # steps played
        self.where: dict[int, tuple[Episode, int]] = {}  # by the step's number
        self.envs: list[Recorded] = []
        self.first: list[Episode] = []
        self.newest: deque[Episode] = deque()
        self.kept = [0, 0]  # steps in first and in newest
        self.index: dict[tuple[int, int], list[Row]] = {}
        self.finals: set[tuple[int, int]] = set()
        self.fresh: list[Episode] = []  # not fully indexed

    def wrap(self, env: Any) -> "Recorded":
        """Wraps an environment; all wrapped ones must have the same agents."""
        names = list(getattr(env, "possible_agents", ()) or ())
        if not names or not hasattr(env, "reset") or not hasattr(env, "step"):
            raise TypeError(
                f"{type(env).__name__} is not a PettingZoo parallel environment (it has no "
                "possible_agents). Wrap each copy of a vectorised one by itself, before it is "
                "vectorised; turn an AEC environment into a parallel one with "
                "pettingzoo.utils.aec_to_parallel"
            )
        if hasattr(env, "agent_iter"):
            raise TypeError(
                f"{type(env).__name__} is an AEC environment: wrap "
                "pettingzoo.utils.aec_to_parallel(env) instead"
            )
        names = [str(n) for n in names]
        if any("," in n for n in names) or len(names) > 64:
            raise ValueError(f"{names[:3]}...: names without commas, of at most 64 agents")
        if self.names and names != self.names:
            raise ValueError(f"agents {names}, but other wrapped environments have {self.names}")
        for a in env.possible_agents:
            space = env.action_space(a)
            if not hasattr(space, "n"):
                raise TypeError(f"{a} has actions {space}; only discrete actions are recorded")
            self.actions = max(self.actions, int(space.n))
        self.names = names
        self.envs.append(Recorded(self, env, len(self.envs)))
        return self.envs[-1]

    def take(self) -> int:
        """Hands out the next step's number."""
        self.steps += 1
        return self.steps - 1

    def measure(self, sizes: list[int], shape: tuple[int, ...] | None) -> None:
        """Learns at the first reset how large observations are, and so how many steps fit."""
        if self.sizes and sizes != self.sizes:
            raise ValueError(f"observations have {sizes} numbers, those before {self.sizes}")
        self.sizes, self.shape = sizes, shape
        row = len(sizes) * (8 * max(sizes, default=1) + 16)
        self.limit = max(min(self.limit, self.memory // max(row, 1)), 64)

    def finish(self, e: Episode) -> None:
        """Puts an episode that ended among the first or the newest, and lets old ones go."""
        half = self.limit // 2
        if self.kept[0] < half:
            self.first.append(e)
            self.kept[0] += e.length
            return
        self.newest.append(e)
        self.kept[1] += e.length
        while self.kept[1] > half and len(self.newest) > 1:
            old = self.newest.popleft()
            self.kept[1] -= old.length
            self.forget(old)

    def running(self) -> list[Episode]:
        """Episodes that have begun and not ended."""
        return [env.episode for env in self.envs if env.episode is not None and env.episode.length]

    def episodes(self) -> list[Episode]:
        """All that is kept, one environment after the other."""
        kept = self.first + list(self.newest) + self.running()
        for e in kept:
            e.settle()
        return sorted(kept, key=lambda e: (e.env, e.number[0]))

    def keys(self, e: Episode, t: int) -> list[int | None]:
        """The hash of each agent's observation at a step; None where it does not act."""
        return [
            hash((e.obs[t, a, : self.sizes[a]] + 0.0).tobytes()) if e.alive[t, a] else None
            for a in range(len(self.names))
        ]

    def look(self) -> None:
        """Indexes the rows that were played since it last looked."""
        pending = self.fresh
        self.fresh = [e for e in pending if e.running]
        for e in pending:
            e.settle()
            for t in range(len(e.hashes), e.length):
                e.hashes.append(self.keys(e, t))
                for a, key in enumerate(e.hashes[t]):
                    if key is None:
                        continue
                    self.index.setdefault((a, key), []).append(Row(e, t, a))
                    if e.ends(t, a):
                        self.finals.add((a, self.hash(e.after[t, a, : self.sizes[a]])))

    def forget(self, e: Episode) -> None:
        """Takes an episode out of the index."""
        self.fresh = [x for x in self.fresh if x is not e]
        e.settle()
        for number in e.number:
            del self.where[int(number)]
        for keys in e.hashes:
            for a, key in enumerate(keys):
                rows = self.index.get((a, key)) if key is not None else None
                if rows is None:
                    continue
                rows[:] = [r for r in rows if r.episode is not e]
                if not rows:
                    del self.index[a, key]

    @staticmethod
    def hash(x: np.ndarray) -> int:
        """What rows are found by; 0 and -0 are the same number."""
        return hash((x + np.float32(0)).tobytes())

    def number(self, row: Row) -> int:
        """The row's number."""
        return int(row.episode.number[row.t]) * len(self.names) + row.a

    def follower(self, row: Row) -> Row | None:
        """The next row of the same agent in the same environment."""
        e, t, a = row
        if t + 1 < e.length and e.alive[t + 1, a]:
            return Row(e, t + 1, a)
        e = e.next() if e.next is not None else None
        if e is None or e.length == 0 or not e.alive[0, a]:
            return None
        return Row(e, 0, a)

    def former(self, row: Row) -> Row | None:
        """The row before it in the same episode."""
        return Row(row.episode, row.t - 1, row.a) if row.t > 0 else None

    # Finding rows by content -----------------------------------------------------------

    def find(self, own: list[int], obs: np.ndarray, acts: np.ndarray | None,
             rewards: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Finds the rows that hold these observations, [n][numbers], and the same actions.

        First those that only one row can be; then, round after round, those that follow or
        precede in play a row that was found, first the ones that stand beside it in the batch,
        because batches hold stretches of play, of one environment or of several beside each
        other; what is left is taken as the learner's own newest row that fits, and is not sure.
        Returns row numbers, -1 where there is none; what the others are (0 played, 1 after
        an exit, 2 zeros, 3 nothing that was played); and which rows are sure.
        """
        self.look()
        hashes = [self.hash(x) for x in obs]
        found: list[Row | None] = [None] * len(hashes)
        sure = np.zeros(len(hashes), bool)
        choices = [self.choices(h, None if acts is None else acts[i]) for i, h in enumerate(hashes)]
        near: set[tuple] = set()  # rows beside those that are found
        taken: set[tuple] = set()

        def settle(i: int, row: Row) -> None:
            found[i] = row
            taken.add(_place(row))
            near.update(_place(r) for r in (self.follower(row), self.former(row)) if r is not None)

        for i, rows in enumerate(choices):
            if len(rows) == 1:
                settle(i, rows[0])
                sure[i] = True
        left = [i for i, rows in enumerate(choices) if len(rows) > 1]
        for beside in (True, False):  # by their place in the batch, then by play alone
            while left:
                rest = []
                for i in left:
                    fits = (
                        self.beside(i, found, hashes, acts) if beside
                        else [r for r in choices[i] if _place(r) in near]
                    )
                    fits = [r for r in fits if _place(r) not in taken]
                    if len({_place(r) for r in fits}) == 1:
                        settle(i, fits[0])
                        sure[i] = True
                    else:
                        rest.append(i)
                if len(rest) == len(left):
                    break
                left = rest
        for i in left:
            settle(i, max(choices[i], key=lambda r: (
                r.a in own, _place(r) not in taken,
                rewards is not None and r.episode.reward[r.t, r.a] == rewards[i],
                int(r.episode.number[r.t]))))
        kind = self.missing(found, hashes, obs)
        rows = np.array([-1 if r is None else self.number(r) for r in found], np.int64)
        coming = self.coming()
        for i, key in enumerate(hashes):
            if found[i] is None and key in coming:
                rows[i], kind[i], sure[i] = coming[key], 0, True
        return rows, kind, sure

    def coming(self) -> dict[int, int]:
        """Rows that are due: what agents see now, before the step is played, by its hash."""
        out = {}
        for env in self.envs:
            for a, x in enumerate(env._see if env.episode is not None else ()):
                if x is not None:
                    out[self.hash(x)] = env.number * len(self.names) + a
        return out

    def beside(self, i: int, found: list[Row | None], hashes: list[int],
               acts: np.ndarray | None) -> list[Row]:
        """Rows that fit and are the next or the last ones of what stands near in the batch."""
        fits = []
        for s in range(1, min(len(self.envs), 64) + 1):
            for j, turn in ((i - s, self.follower), (i + s, self.former)):
                row = found[j] if 0 <= j < len(found) else None
                row = turn(row) if row is not None else None
                if row is None or row.t >= len(row.episode.hashes):
                    continue
                if row.episode.hashes[row.t][row.a] == hashes[i] and (
                    acts is None or row.episode.action[row.t, row.a] == acts[i]
                ):
                    fits.append(row)
        return fits

    def choices(self, key: int, action: float | None) -> list[Row]:
        """The newest rows with an observation, those with the same action if there are some."""
        rows: list[Row] = []
        for a in range(len(self.names)):
            rows += self.index.get((a, key), ())[-CANDIDATES:]
        same = [r for r in rows if r.episode.action[r.t, r.a] == action]
        return same or rows

    def missing(self, found: list[Row | None], hashes: list[int], obs: np.ndarray) -> np.ndarray:
        """What rows are that were not found.

        Those after an exit show the agent's last observation, or come after its last row in
        the batch, which may hold one environment after the other or one beside the other.
        """
        best = np.zeros(len(found), np.uint8)
        if all(r is not None for r in found):
            return best
        for stride in {1, max(len(self.envs), 1)}:
            kind = np.zeros(len(found), np.uint8)
            for start in range(stride):
                gone = False  # the last row found was the agent's last
                for i in range(start, len(found), stride):
                    row = found[i]
                    if row is not None:
                        gone = row.episode.ends(row.t, row.a)
                    elif gone or any((a, hashes[i]) in self.finals for a in range(len(self.names))):
                        kind[i] = 1
                    else:
                        kind[i] = 3 if obs[i].any() else 2
            if (kind == 1).sum() >= (best == 1).sum():
                best = kind
        return best


def _place(row: Row) -> tuple:
    """A row as something that sets can hold."""
    return id(row.episode), row.t, row.a


class Recorded:
    """A wrapped environment: everything passes through unchanged and is written down."""

    def __init__(self, played: Played, env: Any, place: int):
        self._played, self.env, self._place = played, env, place
        self._names = list(env.possible_agents)
        self._see: list[np.ndarray | None] = []  # what each agent saw last; None: it is gone
        self._masks: list[np.ndarray | None] = []
        self.episode: Episode | None = None
        self._last: Episode | None = None
        self.number = played.take()  # of the step to come

    def __getattr__(self, name: str) -> Any:
        # Everything that is not recorded is the environment's own.
        if name.startswith("__") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    def __reduce__(self) -> Any:
        raise TypeError(
            "a recorded environment cannot be copied into another process: call rec.wrap where "
            "the environment is stepped, or step it in this process"
        )

    @property
    def unwrapped(self) -> Any:
        """The environment without any wrappers."""
        return self.env.unwrapped

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Resets the environment; an episode that was not over is cut here."""
        out = self.env.reset(*args, **kwargs)
        obs, infos = out if isinstance(out, tuple) else (out, {})
        p = self._played
        self._end(cut_short=True)
        self._take(obs, infos)
        if not p.sizes:
            shapes = [np.shape(_plain(obs[n])) if n in obs else None for n in self._names]
            alike = {s for s in shapes if s is not None}
            if None in shapes:
                raise ValueError("agents are missing from what the first reset returned; "
                                 "the size of their observations is not known")
            p.measure([x.size for x in self._see if x is not None],
                      alike.pop() if len(alike) == 1 else None)
        self._begin()
        seed = kwargs.get("seed", args[0] if args else None)
        if self.episode is not None and isinstance(seed, (int, np.integer)):
            self.episode.seed = int(seed)
        return out

    def step(self, actions: dict) -> Any:
        """Steps the environment and writes the step down."""
        out = self.env.step(actions)
        if self.episode is None:
            return out  # stepped without a reset, or after the end: nothing to write down
        obs, rewards, ends, cuts, infos = out
        p, e = self._played, self.episode
        before, masks = self._see, self._masks
        self._take(obs, infos)
        acts, paid, done, cut, over = [], [], [], [], True
        for a, name in enumerate(self._names):
            if before[a] is None:
                acts.append(-1), paid.append(0.0), done.append(False), cut.append(False)
                continue
            ended, stopped = bool(ends.get(name, False)), bool(cuts.get(name, False))
            acts.append(int(actions.get(name, -1)))
            paid.append(float(rewards.get(name, 0.0)))
            done.append(ended)
            cut.append(stopped)
            over = over and (ended or stopped or self._see[a] is None)
        if e.length < p.limit:
            p.where[self.number] = (e, e.length)
            e.add(self.number, before, masks, acts, paid, done, cut, self._see)
        else:
            e.lost = True
        self._see = [None if done[a] or cut[a] else x for a, x in enumerate(self._see)]
        p.stepped += 1
        self.number = p.take()
        if over:
            self._end()
        return out

    def _take(self, obs: dict, infos: dict) -> None:
        """Keeps what each agent sees, and its mask."""
        self._see, self._masks = [], []
        for name in self._names:
            flat = mask = None
            if name in obs:
                flat, mask = split(obs[name])
                if mask is None:
                    mask = (infos.get(name) or {}).get("action_mask")
                    mask = None if mask is None else np.asarray(mask, bool).ravel()
                if mask is not None:
                    self._played.masks = True
            self._see.append(flat)
            self._masks.append(mask)

    def _begin(self) -> None:
        p = self._played
        self.episode = Episode(p.sizes, p.actions if p.masks else 0, self._place)
        if self._last is not None:
            self._last.next = weakref.ref(self.episode)
        p.fresh.append(self.episode)

    def _end(self, cut_short: bool = False) -> None:
        """Closes the running episode."""
        e, self.episode = self.episode, None
        if e is None:
            return
        e.running, e.cut_short = False, cut_short
        if e.length:
            self._last = e
            self._played.finish(e)


def _plain(obs: Any) -> Any:
    """The part of an observation that has a shape."""
    if isinstance(obs, dict):
        return _plain(obs["observation"]) if "observation" in obs else split(obs)[0]
    return obs


def rows_of(numbers: Any) -> np.ndarray:
    """Row numbers as a flat array."""
    x = to_numpy(numbers)
    if x.dtype.kind not in "iu":
        raise TypeError(f"row numbers are whole numbers, as rec.here() gives them, not {x.dtype}")
    return x.astype(np.int64).ravel()
