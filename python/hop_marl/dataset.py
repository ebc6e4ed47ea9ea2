"""Rows of played episodes in numpy, and the folders that `hop pretrain` learns from.

`read(folder)` opens a folder of `hop collect`, or of `write`, as numpy arrays. `write(folder, ...)`
makes such a folder of arrays. `rows(episodes, ...)` turns trajectories, as a PettingZoo loop
records them, into the rows:

    layout, columns = hop.dataset.rows(episodes, actions=["up", "down", "left", "right", "stay"])
    hop.dataset.write("data", columns, layout)

    hop pretrain moa --data data --out runs/moa

docs/data.md describes the columns. A row is one agent's step while it was alive. Everything that
has a place for each agent is *ego-first*: the row's agent, then the next seats in order, wrapping.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._version import __version__

FORMAT = 1
_SHARD_ROWS = 32768
_MAX_ACTIONS = 32
_MANIFEST = "manifest.json"

GOING, EXITED, CUT = 0, 1, 2  # what the column `end` holds


@dataclass
class Layout:
    """What one needs to know of a game to read the columns.

    Attributes:
        seats: how many play.
        actions: their names. Actions called up, down, left and right are moves on a board.
        horizon: the most steps of an episode.
        height, width, planes: the board, names of its planes. The first `seats` planes show the
            agents, ego-first; nobody enters what a plane called "block" shows.
        goals: names of what the column `goal` counts.
        features: numbers of an observation beside the planes.
        legal: the number of actions if the observation holds the mask, else 0.
        time: 1 if the observation holds the share of time that is gone, else 0.
        last: the number of seats if the observation holds the last joint action, else 0.
        owned: planes after the agents' that are one for each seat too: `seats`, or 0.
    """

    seats: int
    actions: Sequence[str]
    horizon: int
    height: int = 0
    width: int = 0
    planes: Sequence[str] = ()
    goals: Sequence[str] = ()
    features: int = 0
    legal: int = 0
    time: int = 0
    last: int = 0
    owned: int = 0

    def columns(self) -> dict[str, tuple[np.dtype, tuple[int, ...]]]:
        """Returns the type and the shape of one row of every column, in the order of the files."""
        n, k = (self.seats,), (len(self.actions),)
        board = (self.height, self.width, len(self.planes))
        f = (self.features,)
        seen: dict[str, tuple[Any, tuple[int, ...]]] = {"obs": (np.uint8, board)}
        after: dict[str, tuple[Any, tuple[int, ...]]] = {"next_obs": (np.uint8, board)}
        if not self.planes:
            seen, after = {"obs": (np.float32, f)}, {"next_obs": (np.float32, f)}
        elif self.features:
            seen["features"], after["next_features"] = (np.float32, f), (np.float32, f)
        one: tuple[int, ...] = ()
        all_ = {
            **seen,
            "legal": (np.bool_, k),
            "t": (np.int16, one),
            "last": (np.int8, n),
            "alive": (np.bool_, n),
            "action": (np.int8, one),
            "joint": (np.int8, n),
            "reward": (np.float32, one),
            "rewards": (np.float32, n),
            **after,
            "next_legal": (np.bool_, k),
            "next_alive": (np.bool_, n),
            "end": (np.uint8, one),
            "over": (np.bool_, one),
            "goal": (np.int8, one),
            "episode": (np.int32, one),
            "agent": (np.int8, one),
            "seat": (np.int8, one),
            "bot": (np.int8, one),
        }
        return {name: (np.dtype(kind), dims) for name, (kind, dims) in all_.items()}

    def _faults(self) -> list[str]:
        """Returns everything that is wrong with it."""
        k, faults = len(self.actions), []

        def want(ok: bool, name: str, value: Any, words: str) -> None:
            if not ok:
                faults.append(f"layout.{name} is {value!r}, want {words}")

        want(1 <= self.seats <= 127, "seats", self.seats, "1 to 127")
        want(1 <= k <= _MAX_ACTIONS, "actions", list(self.actions), f"1 to {_MAX_ACTIONS} names")
        want(len(self.goals) <= 127, "goals", len(self.goals), "at most 127 names")
        want(1 <= self.horizon <= 32767, "horizon", self.horizon, "1 to 32767 steps")
        board = (self.height > 0, self.width > 0, len(self.planes) > 0)
        want(
            all(board) or not any(board),
            "height, width and planes",
            [self.height, self.width, list(self.planes)],
            "a board with all three, or none of them",
        )
        want(
            max(self.height, self.width, len(self.planes)) <= 1024,
            "height, width and planes",
            [self.height, self.width, len(self.planes)],
            "at most 1024 each",
        )
        want(
            not self.planes or len(self.planes) >= self.seats,
            "planes",
            list(self.planes),
            f"a plane for each of the {self.seats} agents first",
        )
        want(0 <= self.features <= 1 << 20, "features", self.features, "0 to 1048576")
        want(bool(self.planes) or self.features > 0, "features", self.features, "some, or a board")
        want(self.legal in (0, k), "legal", self.legal, "0 or the number of actions")
        want(self.time in (0, 1), "time", self.time, "0 or 1")
        want(
            self.last == 0 or (self.last == self.seats and self.legal > 0),
            "last",
            self.last,
            "0, or the number of seats with legal set too",
        )
        want(
            self.owned == 0 or (self.owned == self.seats and len(self.planes) >= 2 * self.seats),
            "owned",
            self.owned,
            "0, or the number of seats with as many planes after the agents'",
        )
        return faults

    def _json(self) -> dict[str, Any]:
        """Returns it as the manifest holds it."""
        out: dict[str, Any] = {
            "seats": self.seats,
            "actions": list(self.actions),
            "goals": list(self.goals),
            "horizon": self.horizon,
            "height": self.height,
            "width": self.width,
            "planes": list(self.planes),
        }
        if self.owned:
            out["owned"] = self.owned
        for name in ("features", "legal", "time", "last"):
            out[name] = getattr(self, name)
        return out


@dataclass
class Dataset:
    """A folder of rows: its columns, its layout, and what the manifest says beside.

    Attributes:
        columns: the arrays by name, rows first.
        layout: what they mean.
        game: name and parameters of the game; the name "outside" is a game that hop does not have.
        bots: what the column `bot` counts.
        seed: from which it was played.
        made: further fields of the manifest that say how it was made, such as mix or team.
    """

    columns: dict[str, np.ndarray]
    layout: Layout
    game: dict[str, Any] = field(default_factory=lambda: {"name": "outside"})
    bots: Sequence[str] = ("unknown",)
    seed: int = 0
    made: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["episode"])

    @property
    def episodes(self) -> int:
        """How many episodes there are."""
        return int(self.columns["episode"][-1]) + 1 if len(self) else 0


def read(folder: str | os.PathLike[str]) -> Dataset:
    """Opens a folder of `hop collect` or of `write`, and checks all of it.

    Raises FileNotFoundError if there is no dataset, ValueError if it is not whole.
    """
    path = os.path.join(os.fspath(folder), _MANIFEST)
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"{os.fspath(folder)} holds no dataset: it has no {_MANIFEST}. Make one with hop "
            "collect or hop.dataset.write."
        )
    with open(path, encoding="utf-8") as f:
        text = f.read()
    try:
        manifest = json.loads(text)
    except ValueError as err:
        raise ValueError(f"{path} is not JSON: {err}. Restore the folder from a copy.") from err
    if manifest.get("format") != FORMAT:
        raise ValueError(
            f"{path}: its format is {manifest.get('format')}, this package reads {FORMAT}. "
            "Use a version of hop-marl that fits."
        )
    if manifest.get("checksum") != _checksum(manifest):
        raise ValueError(f"{path} was altered: its checksum does not fit. Restore the folder.")
    layout = Layout(**manifest["layout"])
    want = layout.columns()
    parts: dict[str, list[np.ndarray]] = {name: [] for name in want}
    for shard in manifest["shards"]:
        name = os.path.join(os.fspath(folder), shard["file"])
        with open(name, "rb") as f:
            body = f.read()
        if hashlib.sha256(body).hexdigest() != shard["sha256"]:
            raise ValueError(f"{name} was altered or is of another dataset. Restore the folder.")
        with np.load(io.BytesIO(body)) as arrays:
            for column in want:
                parts[column].append(arrays[column])
    columns = {name: np.concatenate(list_) for name, list_ in parts.items()}
    made = {k: manifest[k] for k in ("mix", "team", "population", "wanted_rows") if k in manifest}
    made["shard_rows"] = manifest["shard_rows"]
    return Dataset(columns, layout, manifest["game"], manifest["bots"], manifest["seed"], made)


def write(
    folder: str | os.PathLike[str],
    columns: Dataset | Mapping[str, np.ndarray],
    layout: Layout | None = None,
    *,
    game: str | Mapping[str, Any] = "outside",
    bots: Sequence[str] = ("unknown",),
    shard_rows: int = 0,
) -> Dataset:
    """Writes rows as a folder that `hop pretrain` takes. What was read is written alike.

    Args:
        folder: must not hold a dataset yet.
        columns: the arrays by name (docs/data.md), as `rows` makes them, or a whole Dataset.
        layout: what they mean; not with a Dataset.
        game: what the game is called, for people; hop has no such game, so that what needs its
            rules or its bots is left out of report cards. A mapping is taken as it is.
        bots: names of the kinds of agents that the column `bot` counts.
        shard_rows: the most rows in one file; 0: 32768, or the longest episode.

    Raises ValueError that names everything that is wrong, at once.
    """
    if isinstance(columns, Dataset):
        data = columns
        shard_rows = shard_rows or int(data.made.get("shard_rows", 0))
    else:
        if layout is None:
            raise TypeError("write needs the layout of the columns, a hop.dataset.Layout")
        named = dict(game) if isinstance(game, Mapping) else {"name": "outside", "of": game}
        data = Dataset(dict(columns), layout, named, list(bots))
    folder = os.fspath(folder)
    faults = data.layout._faults()
    if not faults:
        data.columns, faults = _typed(data)
    if not faults:
        faults = _faults(data)
    if os.path.exists(os.path.join(folder, _MANIFEST)):
        faults.append(f"{folder} holds a dataset already; choose another folder")
    if not 1 <= len(data.bots) <= 127:
        faults.append(f"{len(data.bots)} bots, want 1 to 127 names")
    if "name" not in data.game:
        faults.append("game has no name")
    if faults:
        raise ValueError("these rows cannot be written:\n- " + "\n- ".join(faults))
    os.makedirs(folder, exist_ok=True)
    _store(folder, data, shard_rows)
    return data


def _typed(data: Dataset) -> tuple[dict[str, np.ndarray], list[str]]:
    """Returns the columns with their types and shapes, and what does not fit."""
    faults: list[str] = []
    out: dict[str, np.ndarray] = {}
    want = data.layout.columns()
    for name in data.columns:
        if name not in want:
            faults.append(f"column {name!r} is none of {', '.join(want)}")
    rows = len(data.columns["episode"]) if "episode" in data.columns else None
    for name, (kind, dims) in want.items():
        if name not in data.columns:
            faults.append(f"column {name!r} is missing")
            continue
        a = np.asarray(data.columns[name])
        shape = (rows if rows is not None else (len(a) if a.ndim else 0), *dims)
        if a.shape != shape:
            faults.append(f"column {name!r} has shape {a.shape}, want {shape}")
            continue
        b = a.astype(kind)
        if not np.array_equal(b, a):
            faults.append(f"column {name!r} holds numbers that {kind} cannot: it is {a.dtype}")
            continue
        out[name] = np.ascontiguousarray(b)
    if rows == 0:
        faults.append("there are no rows")
    return out, faults


def _faults(data: Dataset) -> list[str]:
    """Returns everything that cannot be in typed columns, each with the first row of its kind."""
    c, layout = data.columns, data.layout
    n, k, rows = layout.seats, len(layout.actions), len(data)
    faults: list[str] = []

    def refuse(bad: np.ndarray, words: str) -> None:
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            more = f", and {int(bad.sum()) - 1} more rows" if bad.sum() > 1 else ""
            where = f"episode {c['episode'][at]}, agent {c['agent'][at]}, t {c['t'][at]}"
            faults.append(f"row {at} ({where}){more}: {words}")

    action, joint, alive = c["action"], c["joint"], c["alive"]
    known = (action >= 0) & (action < k)
    refuse(~known, f"action is not one of 0 to {k - 1}")
    legal = c["legal"][np.arange(rows), np.where(known, action, 0)]
    refuse(known & ~legal, "the action that was played is not legal")
    refuse(joint[:, 0] != action, "joint is not ego-first: its first entry is not the row's action")
    refuse(~alive[:, 0], "alive is not ego-first: its first entry is false, but the agent acts")
    refuse(c["rewards"][:, 0] != c["reward"], "rewards is not ego-first: the first is not reward")
    refuse(((joint < -1) | (joint >= k)).any(1), f"joint holds something else than -1 to {k - 1}")
    refuse(((joint >= 0) != alive).any(1), "joint must be -1 for those who have left and no others")
    last = c["last"]
    refuse(((last < -1) | (last >= k)).any(1), f"last holds something else than -1 to {k - 1}")
    refuse((c["t"] < 0) | (c["t"] >= layout.horizon), f"t is not 0 to {layout.horizon - 1}")
    refuse((c["agent"] < 0) | (c["agent"] >= n), f"agent is not 0 to {n - 1}")
    refuse((c["seat"] < 0) | (c["seat"] >= n), f"seat is not 0 to {n - 1}")
    refuse((c["bot"] < 0) | (c["bot"] >= len(data.bots)), f"bot is not 0 to {len(data.bots) - 1}")
    goals = len(layout.goals)
    refuse((c["goal"] < -1) | (c["goal"] >= goals), f"goal is not -1 to {goals - 1}")
    end, going = c["end"], c["end"] == GOING
    refuse(end > CUT, "end is not 0 (going on), 1 (exited) or 2 (cut)")
    refuse(c["over"] & going, "the episode is over, but end says that it goes on")
    refuse(c["next_alive"][:, 0] != going, "next_alive and end disagree about the row's agent")
    for name in ("obs", "next_obs", "features", "next_features"):
        if name not in c:
            continue
        flat = c[name].reshape(rows, -1)
        if flat.dtype == np.uint8:
            refuse((flat > 1).any(1), f"{name} holds something else than 0 and 1")
        else:
            refuse(~np.isfinite(flat).all(1), f"{name} holds a number that is not finite")
    refuse(~np.isfinite(c["rewards"]).all(1), "rewards holds a number that is not finite")
    if layout.planes:
        # Ego-first: the first plane shows the row's agent, and nobody else.
        shown = c["obs"][..., 0].reshape(rows, -1).sum(1)
        refuse(shown != 1, "plane 0 must show the row's own agent, once")
    return faults + _order(data)


def _order(data: Dataset) -> list[str]:
    """Rows are sorted by episode, agent and t, without gaps, and every life has its end."""
    c = data.columns
    e, a, t, end = c["episode"], c["agent"], c["t"], c["end"]
    faults: list[str] = []
    same = np.zeros(len(e), bool)
    same[1:] = (e[1:] == e[:-1]) & (a[1:] == a[:-1]) & (t[1:] == t[:-1] + 1) & (end[:-1] == GOING)
    first = ~same
    bad = first & (t != 0)
    bad[1:] |= first[1:] & (e[1:] == e[:-1]) & (a[1:] <= a[:-1])
    bad[1:] |= first[1:] & (end[:-1] == GOING)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        faults.append(
            f"row {at} (episode {e[at]}, agent {a[at]}, t {t[at]}) is out of order, or the row "
            "before it does not end its life. Rows are sorted by episode, agent and t, without "
            "gaps, and the last row of an agent has end 1 or 2"
        )
    fresh = np.ones(len(e), bool)
    fresh[1:] = e[1:] != e[:-1]
    if not np.array_equal(e[fresh], np.arange(fresh.sum())):
        faults.append("episodes are not numbered 0, 1, 2, ... in order")
    if len(end) and end[-1] == GOING:
        faults.append("the last row's episode is not finished: its end is 0")
    return faults


def _store(folder: str, data: Dataset, shard_rows: int) -> None:
    """Writes shards of whole episodes, and the manifest last."""
    c, k = data.columns, len(data.layout.actions)
    starts = np.flatnonzero(np.diff(c["episode"], prepend=-1))
    bounds = np.append(starts, len(data))
    longest = int(np.diff(bounds).max())
    most = max(shard_rows or _SHARD_ROWS, longest)
    shards: list[dict[str, Any]] = []
    lo = 0  # of episodes
    while lo < len(starts):
        hi = lo + 1
        while hi < len(starts) and bounds[hi + 1] - bounds[lo] <= most:
            hi += 1
        part = slice(int(bounds[lo]), int(bounds[hi]))
        body = _npz({name: a[part] for name, a in c.items()})
        name = f"shard-{len(shards):05d}.npz"
        _put(os.path.join(folder, name), body)
        shards.append(
            {
                "file": name,
                "rows": part.stop - part.start,
                "first_episode": lo,
                "episodes": hi - lo,
                "action_counts": np.bincount(c["action"][part], minlength=k).tolist(),
                "sha256": hashlib.sha256(body).hexdigest(),
            }
        )
        lo = hi
    hashes = "".join(s["sha256"] + "\n" for s in shards)
    manifest: dict[str, Any] = {"format": FORMAT, "hop": __version__}
    manifest |= {"game": data.game, "seed": data.seed}
    for key in ("mix", "team", "population"):
        if data.made.get(key):
            manifest[key] = data.made[key]
    if not any(k in manifest for k in ("mix", "team", "population")):
        manifest["population"] = list(data.bots)
    manifest |= {
        "wanted_rows": int(data.made.get("wanted_rows", len(data))),
        "shard_rows": most,
        "bots": list(data.bots),
        "layout": data.layout._json(),
        "rows": len(data),
        "episodes": len(starts),
        "action_counts": np.bincount(c["action"], minlength=k).tolist(),
        "shards": shards,
        "sha256": hashlib.sha256(hashes.encode()).hexdigest(),
    }
    manifest["checksum"] = _checksum(manifest)
    text = json.dumps(manifest, indent="\t", ensure_ascii=False)
    _put(os.path.join(folder, _MANIFEST), (text + "\n").encode())


def _npz(columns: Mapping[str, np.ndarray]) -> bytes:
    """Returns arrays as np.savez would, with the same bytes on every day."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for name, a in columns.items():
            body = io.BytesIO()
            np.lib.format.write_array(body, np.ascontiguousarray(a), version=(1, 0))
            z.writestr(zipfile.ZipInfo(name + ".npy"), body.getvalue())
    return out.getvalue()


def _put(path: str, body: bytes) -> None:
    """Writes a file whole or not at all."""
    half = path + ".part"
    with open(half, "wb") as f:
        f.write(body)
        f.flush()
        os.fsync(f.fileno())
    os.replace(half, path)


def _checksum(manifest: Mapping[str, Any]) -> str:
    """Returns the SHA-256 of the manifest as JSON without spaces, its checksum empty."""
    text = json.dumps({**manifest, "checksum": ""}, separators=(",", ":"), ensure_ascii=False)
    for letter in "<>&\u2028\u2029":  # as hop writes them
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return hashlib.sha256(text.encode()).hexdigest()


def rows(
    episodes: Sequence[Mapping[str, Any]],
    *,
    actions: Sequence[str] | int,
    planes: Sequence[str] = (),
    goals: Sequence[str] = (),
    horizon: int = 0,
) -> tuple[Layout, dict[str, np.ndarray]]:
    """Turns trajectories into rows: the layout and the columns that `write` takes.

    Args:
        episodes: for each a mapping of arrays, T steps of A agents:
            obs: what was seen, one more than there are steps. [T+1, A, H, W, C] boards as each
                agent sees them, its own plane first, then the next agents' in order, wrapping; or
                [T+1, H, W, C] one board for all with a plane for each agent first, which is put
                into that order here; or [T+1, A, F] numbers.
            features: [T+1, A, F] further numbers beside boards; may be missing.
            actions: [T, A]; not looked at where an agent has left.
            rewards: [T, A]
            terminated: [T, A] the agent left in this step, by the rules; may be missing.
            truncated: [T, A] an outside limit stopped it; may be missing. Whoever neither left nor
                was stopped at the last step counts as stopped there.
            legal: [T+1, A, K] masks; may be missing: everything is legal.
            reached: [T, A] the goal that was reached in this step, -1: none; may be missing.
            bots: [A] of which kind each agent is, an index; may be missing: 0.
        actions: names of the actions, or how many there are.
        planes: names of the planes; those of the agents need none.
        goals: names of the goals that `reached` counts.
        horizon: the most steps of an episode; 0: those of the longest one here.

    Raises ValueError that names everything that is wrong, at once.
    """
    names = [f"action_{i}" for i in range(actions)] if isinstance(actions, int) else list(actions)
    lives = [_Episode(i, e, len(names), len(goals)) for i, e in enumerate(episodes)]
    faults = [f for e in lives for f in e.faults]
    if not lives:
        faults.append("there are no episodes")
    sizes = {(e.agents, e.board, e.features) for e in lives if not e.faults}
    if len(sizes) > 1:
        faults.append(f"episodes have different sizes (agents, board, features): {sorted(sizes)}")
    if faults:
        raise ValueError("these episodes cannot become rows:\n- " + "\n- ".join(faults))
    agents, (height, width, channels), features = next(iter(sizes))
    layout = Layout(
        seats=agents,
        actions=names,
        horizon=horizon or max(e.steps for e in lives),
        height=height,
        width=width,
        planes=_plane_names(planes, agents, channels),
        goals=list(goals),
        features=features,
        legal=len(names),
        time=1,
        last=agents,
    )
    if faults := layout._faults():
        raise ValueError("these episodes cannot become rows:\n- " + "\n- ".join(faults))
    parts: dict[str, list[np.ndarray]] = {name: [] for name in layout.columns()}
    for e in lives:
        for name, a in e.rows(layout).items():
            parts[name].append(a)
    kinds = layout.columns()
    return layout, {k: np.concatenate(v).astype(kinds[k][0], copy=False) for k, v in parts.items()}


def _plane_names(given: Sequence[str], agents: int, channels: int) -> list[str]:
    """Names all planes: those given last, the agents' first."""
    if channels == 0 or len(given) == channels:
        return list(given)
    mine = ["self"] + [f"other_{i}" for i in range(1, agents)]
    rest = [f"plane_{i}" for i in range(len(mine), channels)]
    if given:
        rest[len(rest) - len(given) :] = list(given)
    return (mine + rest)[:channels]


class _Episode:
    """One trajectory, checked."""

    def __init__(self, number: int, given: Mapping[str, Any], actions: int, goals: int) -> None:
        self.number, self.faults = number, []
        self.agents = self.steps = self.features = 0
        self.board: tuple[int, int, int] = (0, 0, 0)
        known = "obs features actions rewards terminated truncated legal reached bots".split()
        for name in given:
            if name not in known:
                self._wrong(f"{name!r} is none of {', '.join(known)}")
        for name in ("obs", "actions", "rewards"):
            if name not in given:
                self._wrong(f"{name!r} is missing")
        if self.faults:
            return
        act = np.asarray(given["actions"])
        if act.ndim != 2 or act.dtype.kind not in "iu" or len(act) == 0:
            self._wrong(f"actions has shape {act.shape} of {act.dtype}, want [T, A] whole numbers")
            return
        self.steps, self.agents = act.shape
        t, a = act.shape

        def take(name: str, shape: tuple[int, ...], kind: Any, default: Any) -> np.ndarray:
            if given.get(name) is None:
                return np.full(shape, default, kind)
            x = np.asarray(given[name])
            if x.shape != shape:
                self._wrong(f"{name} has shape {x.shape}, want {shape}")
                return np.full(shape, default, kind)
            return x.astype(kind)

        self.rewards = take("rewards", (t, a), np.float32, 0)
        self.terminated = take("terminated", (t, a), bool, False)
        self.truncated = take("truncated", (t, a), bool, False)
        self.legal = take("legal", (t + 1, a, actions), bool, True)
        self.reached = take("reached", (t, a), int, -1)
        self.bots = take("bots", (a,), int, 0)
        self._look(np.asarray(given["obs"]), given.get("features"))
        self._live(act)
        if self.faults:
            return
        bad = self.alive[:-1] & ((act < 0) | (act >= actions))
        if bad.any():
            s, who = np.argwhere(bad)[0]
            self._wrong(f"agent {who} plays {act[s, who]} at step {s}, want 0 to {actions - 1}")
        else:
            may = np.take_along_axis(self.legal[:-1], np.clip(act, 0, None)[..., None], 2)[..., 0]
            if (self.alive[:-1] & ~may).any():
                s, who = np.argwhere(self.alive[:-1] & ~may)[0]
                self._wrong(f"agent {who} plays {act[s, who]} at step {s}, which legal forbids")
        if (self.reached >= goals).any() or (self.reached < -1).any():
            self._wrong(f"reached holds something else than -1 to {goals - 1}; goals names {goals}")
        self.actions = np.where(self.alive[:-1], act, -1)

    def _wrong(self, words: str) -> None:
        self.faults.append(f"episode {self.number}: {words}")

    def _look(self, obs: np.ndarray, features: Any) -> None:
        """Takes the observations, boards ego-first."""
        t, a = self.steps, self.agents
        self.boards: np.ndarray | None = None
        self.numbers: np.ndarray | None = None
        if obs.ndim == 4 and len(obs) == t + 1:  # one board for all
            if obs.shape[-1] < a:
                self._wrong(f"obs has {obs.shape[-1]} planes, want one for each of {a} agents")
                return
            things = list(range(a, obs.shape[-1]))
            order = [[(i + j) % a for j in range(a)] + things for i in range(a)]
            obs = np.stack([obs[..., o] for o in order], 1)
        if obs.ndim == 5 and obs.shape[:2] == (t + 1, a):
            self.board = obs.shape[2:]
            if not np.isin(obs, (0, 1)).all():
                self._wrong("boards hold something else than 0 and 1; a plane shows what is there")
            self.boards = obs.astype(np.uint8)
        elif obs.ndim == 3 and obs.shape[:2] == (t + 1, a) and features is None:
            features = obs
        else:
            self._wrong(
                f"obs has shape {obs.shape}, want [{t + 1}, {a}, H, W, C], [{t + 1}, H, W, C] or "
                f"[{t + 1}, {a}, F]: one more than there are steps"
            )
            return
        if features is not None:
            x = np.asarray(features)
            if x.ndim != 3 or x.shape[:2] != (t + 1, a):
                self._wrong(f"features has shape {x.shape}, want [{t + 1}, {a}, F]")
                return
            self.numbers, self.features = x.astype(np.float32), x.shape[2]

    def _live(self, act: np.ndarray) -> None:
        """Finds out who is alive when, and how each life ends."""
        t, a = self.steps, self.agents
        self.alive = np.zeros((t + 1, a), bool)
        self.end = np.zeros((t, a), np.uint8)
        now = np.ones(a, bool)
        for s in range(t):
            self.alive[s] = now
            if not now.any():
                self._wrong(f"nobody is left after step {s - 1}, but there are {t} steps")
                return
            self.end[s] = np.where(self.truncated[s], CUT, GOING)
            self.end[s] = np.where(self.terminated[s], EXITED, self.end[s])
            if s == t - 1:
                self.end[s] = np.where(self.end[s] == GOING, CUT, self.end[s])
            now = now & (self.end[s] == GOING)

    def _ego(self, x: np.ndarray, agent: int) -> np.ndarray:
        """Puts the agents' axis, the last, into the agent's order."""
        return np.roll(x, -agent, axis=-1)

    def rows(self, layout: Layout) -> dict[str, np.ndarray]:
        """Returns the rows of all agents, one after another."""
        parts: dict[str, list[np.ndarray]] = {name: [] for name in layout.columns()}
        for i in range(self.agents):
            n = int(self.alive[:-1, i].sum())  # its life: steps 0 to n-1
            last = np.full((n, self.agents), -1)
            last[1:] = self.actions[: n - 1]
            goal = np.full(n, -1)
            after_that = -1
            for s in reversed(range(n)):
                if self.reached[s, i] >= 0:
                    after_that = self.reached[s, i]
                goal[s] = after_that
            after = self.alive[1 : n + 1]
            row: dict[str, Any] = {
                "legal": self.legal[:n, i],
                "t": np.arange(n),
                "last": self._ego(last, i),
                "alive": self._ego(self.alive[:n], i),
                "action": self.actions[:n, i],
                "joint": self._ego(self.actions[:n], i),
                "reward": self.rewards[:n, i],
                "rewards": self._ego(np.where(self.alive[:n], self.rewards[:n], 0), i),
                "next_legal": self.legal[1 : n + 1, i] & after[:, i : i + 1],
                "next_alive": self._ego(after, i),
                "end": self.end[:n, i],
                "over": ~after.any(1),
                "goal": goal,
                "episode": np.full(n, self.number),
                "agent": np.full(n, i),
                "seat": np.full(n, i),
                "bot": np.full(n, self.bots[i]),
            }
            if self.boards is not None:
                row["obs"], row["next_obs"] = self.boards[:n, i], self.boards[1 : n + 1, i]
                if self.numbers is not None:
                    row["features"] = self.numbers[:n, i]
                    row["next_features"] = self.numbers[1 : n + 1, i]
            else:
                row["obs"], row["next_obs"] = self.numbers[:n, i], self.numbers[1 : n + 1, i]
            for name, x in row.items():
                parts[name].append(x)
        return {name: np.concatenate(x) for name, x in parts.items()}
