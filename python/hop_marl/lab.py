"""Experiments as Python calls, for notebooks and scripts: train, look at the numbers, ask what they are worth.

    runs = hop.train("ppo-4x4", seeds=range(1, 4))      # at once; it trains in a process of its own
    runs.wait()
    hop.plot(runs, "return/mean")

Each call is a command of the `hop` program with `--json`; what it prints is what is returned. pandas
and matplotlib are needed by `metrics` and `plot` alone.
"""

from __future__ import annotations

import collections
import csv
import html
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ._binary import binary
from ._html import Result, bar, table
from ._wire import HopError

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas

# What a line of `hop train` says of a seed.
_SEED = re.compile(r"^(?:seed (\d+)\s+)?(\d+) %\s+(.*)$")  # of a single one without its number
_FOLDER = re.compile(r"^training .*, in (.+)$")


class Training:
    """A training that runs in a process of its own. Make it with `hop.train`.

    In a notebook it shows a bar for each seed, which moves.

    Attributes:
        run: the folder of the runs; None until it is known.
        lines: what the program has said, the newest last.
        result: what `hop train --json` prints, once it is done.
    """

    def __init__(self, args: list[str], cwd: str | None = None):
        self.run: str | None = None
        self.lines: collections.deque[str] = collections.deque(maxlen=1000)
        self.result: Result | None = None
        self._cwd = cwd or os.getcwd()
        self._start(args)

    def _start(self, args: list[str]) -> None:
        self.seeds: dict[int, tuple[int, str]] = {}
        group: dict[str, Any] = {"start_new_session": True}  # Ctrl-C and a kernel's interrupt are not for it
        if os.name == "nt":
            group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        self._process = subprocess.Popen(
            [binary(), "train", *args, "--json"], cwd=self._cwd, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", **group,
        )
        self._shown: Any = None
        self._threads = [threading.Thread(target=f, daemon=True) for f in (self._read, self._hear)]
        for t in self._threads:
            t.start()
        self._shown = _display(self)

    def _read(self) -> None:
        self._said = self._process.stdout.read()

    def _hear(self) -> None:
        newest = 0.0
        for line in self._process.stderr:
            line = line.rstrip()
            self.lines.append(line)
            if found := _FOLDER.match(line):
                self.run = self.run or found[1]
            if found := _SEED.match(line):
                self.seeds[int(found[1] or 0)] = int(found[2]), " ".join(found[3].split())
            if self._shown and time.monotonic() - newest > 0.5:
                newest = time.monotonic()
                self._shown.update(self)
        self._process.wait()
        self._threads[0].join()
        if self._process.returncode == 0:
            self.result = Result(json.loads(self._said), "train")
            self.run = self.result.get("run", self.run)
        if self._shown:
            self._shown.update(self)

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._threads[1].is_alive()

    @property
    def progress(self) -> float:
        """How much is done, 0 to 1, over the seeds that have begun."""
        if self.result is not None:
            return 1.0
        done = [p for p, _ in self.seeds.values()]
        return sum(done) / len(done) / 100 if done else 0.0

    def wait(self, timeout: float | None = None) -> Training:
        """Waits until it is done, and returns itself. An interrupt ends the waiting, not the training.

        Raises HopError with what the program said if it failed, TimeoutError if it takes longer.
        """
        self._threads[1].join(timeout)
        if self.running:
            raise TimeoutError(f"{self!r} is not done after {timeout} s; it goes on, .stop() saves and ends it")
        if self._process.returncode not in (0, None) and not self.stopped:
            raise HopError("\n".join(list(self.lines)[-20:]) or f"hop train ended with code {self._process.returncode}")
        return self

    stopped = False

    def stop(self) -> Training:
        """Saves and stops, as Ctrl-C does, and returns itself; `.resume()` goes on."""
        if self.running:
            self.stopped = True
            self._process.send_signal(signal.SIGINT if os.name != "nt" else signal.CTRL_BREAK_EVENT)
            self._threads[1].join()
        return self

    def resume(self, *, steps: int | None = None) -> Training:
        """Goes on where it was stopped, or with steps trains to so many in all; returns itself."""
        if self.running:
            raise HopError("it is running")
        if self.run is None:
            raise HopError("it was ended before it had a folder: train anew")
        self.stopped, self.result = False, None
        self._start(["--resume", self.run, *([] if steps is None else ["--steps", str(steps)])])
        return self

    def __fspath__(self) -> str:
        if self.run is None:
            raise HopError(f"{self!r} has no folder yet: .wait() for it")
        return self.run

    @property
    def _state(self) -> str:
        if self.running:
            return "training"
        if self.result is not None:
            return "done"
        return "stopped" if self.stopped else f"failed: {self.lines[-1] if self.lines else 'it said nothing'}"

    def __repr__(self) -> str:
        return f"<hop.train {self.run or '...'}: {self._state}, {self.progress:.0%}>"

    def _repr_html_(self) -> str:
        if self.result is not None:
            return self.result._repr_html_()
        rows = [[f"seed {s}" if s else "", bar(p / 100), said] for s, (p, said) in sorted(self.seeds.items())]
        last = html.escape(self.lines[-1]) if self.lines and not rows else ""
        return f"<p><b>{html.escape(self.run or 'hop train')}</b>: {html.escape(self._state)} {last}</p>" + table([], rows)


def train(
    what: str | os.PathLike[str] = "",
    /,
    *,
    seeds: int | Iterable[int] = 1,
    steps: int | None = None,
    env: str | None = None,
    out: str | os.PathLike[str] = "runs",
    workers: int = 0,
    set: dict[str, Any] | None = None,
    **game: Any,
) -> Training:
    """Begins to train a preset or a spec file, and returns at once: hop.train("hop+", stags=2, seeds=range(1, 6)).

    Args:
        what: as `hop train` takes it; nothing: HOP+ end to end. `hop list presets` lists them.
        seeds: one, or several, which train side by side.
        steps: env steps of each seed; None: what the preset says.
        env: an environment of yours, "module:function".
        out: the folder that runs are put in.
        workers: cores to use; 0: all.
        set: fields of the spec, such as {"ppo.lr": 1e-3}; `hop list fields` lists them.
        game: parameters of the game, such as stags=2.
    """
    args = [os.fspath(what)] if what else []
    args += ["--seeds", _seeds(seeds), "--out", os.fspath(out), "--workers", str(workers)]
    if steps is not None:
        args += ["--steps", str(int(steps))]
    if env is not None:
        args += ["--env", env]
    return Training(args + _sets(set, game))


def _seeds(seeds: int | Iterable[int]) -> str:
    if isinstance(seeds, str):
        return seeds
    return ",".join(str(int(s)) for s in ([seeds] if isinstance(seeds, int) else seeds))


def _sets(fields: dict[str, Any] | None, game: dict[str, Any]) -> list[str]:
    fields = {**(fields or {}), **{f"game.{k}": v for k, v in game.items()}}
    return [w for k, v in fields.items() for w in ("--set", f"{k}={v if isinstance(v, str) else json.dumps(v)}")]


def _flags(flags: dict[str, Any]) -> list[str]:
    """Arguments of a call as flags of its command: learn_best=True is --learn-best."""
    out: list[str] = []
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            out.append(flag)
        elif value is not None and value is not False:
            several = isinstance(value, (list, tuple, range))
            out += [flag, ",".join(map(str, value)) if several else str(value)]
    return out


def _hop(kind: str, args: list[str]) -> Result:
    """Runs a command and returns its JSON. What it says meanwhile is kept for the error."""
    done = subprocess.run(
        [binary(), *args, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", check=False
    )
    try:
        return Result(json.loads(done.stdout), kind)
    except ValueError:
        said = done.stderr.strip().splitlines()
        raise HopError("\n".join(said[-20:]) or f"hop {' '.join(args)} ended with code {done.returncode}") from None


def adapt(
    *runs: str | os.PathLike[str], vs: str | Sequence[str] | None = None, set: dict[str, Any] | None = None, **flags: Any
) -> Result:
    """Lets runs' agents live among co-players: hop.adapt("runs/hop-4x4-001", vs="ns,nh,nh").

    vs: the co-players: bots, texts of the game's language, RUN#AGENT, py:module:function, FILE.onnx.
    set: fields that change, such as {"game.stags": 2}.
    flags: those of `hop adapt`, such as steps=2400, seeds=range(1, 6), strangers="test".
    """
    who = vs if vs is None or isinstance(vs, str) else ",".join(vs)
    return _hop("adapt", ["adapt", *map(os.fspath, runs), *_flags({"vs": who, **flags}), *_sets(set, {})])


def audit(what: str | os.PathLike[str] = "", /, *, set: dict[str, Any] | None = None, **flags: Any) -> Result:
    """Asks which module is at fault: of a preset, a run, or a recording (a file .npz of hop.Recorder).

    flags: those of `hop audit`, such as seeds="1-5".
    """
    what = os.fspath(what)
    args = ["--trajectories", what] if what.endswith(".npz") else [what] if what else []
    return _hop("audit", ["audit", *args, *_flags(flags), *_sets(set, {})])


def compare(
    *variants: str | os.PathLike[str], seeds: int | Iterable[int] = range(1, 6), set: dict[str, Any] | None = None, **flags: Any
) -> Result:
    """Compares presets or specs over the same seeds, and trains first what is missing.

    flags: those of `hop compare`, such as out="runs/compare", threshold=2.8.
    """
    args = ["compare", *map(os.fspath, variants), "--seeds", _seeds(seeds)]
    return _hop("compare", [*args, *_flags(flags), *_sets(set, {})])


Runs = Any  # a folder, a Training, or several of these


def _folders(runs: Runs) -> list[tuple[str, int, str]]:
    """The seeds of some runs: the run's name, the seed and the folder."""
    out = []
    for run in [runs] if isinstance(runs, (str, os.PathLike)) else runs:
        folder = os.path.abspath(os.fspath(run))
        name = os.path.basename(folder)
        seeds = sorted(d for d in (os.listdir(folder) if os.path.isdir(folder) else []) if re.fullmatch(r"seed-\d+", d))
        if found := re.fullmatch(r"seed-(\d+)", name):
            out.append((os.path.basename(os.path.dirname(folder)), int(found[1]), folder))
        elif seeds:
            out += [(name, int(d[5:]), os.path.join(folder, d)) for d in sorted(seeds, key=lambda d: int(d[5:]))]
        else:
            raise FileNotFoundError(f"{folder} is no run: name a folder such as runs/ppo-4x4-001, or seed-1 in it")
    return out


def metrics(runs: Runs, names: str | Iterable[str] | None = None) -> pandas.DataFrame:
    """What runs have measured, a row a number: run, seed, step, name, agent, value, n.

    Args:
        runs: a folder such as "runs/ppo-4x4-001", one of its seeds, a Training, or several of these.
        names: those metrics alone, such as "return/mean"; None: all.

    agent is missing in what is of all agents; n is how many rows or episodes stand behind a number. A
    run that is still training gives what it has so far.
    """
    pandas = _needed("pandas", "hop.metrics")
    wanted = {names} if isinstance(names, str) else None if names is None else {*names}
    rows = []
    for run, seed, folder in _folders(runs):
        with open(os.path.join(folder, "metrics.csv"), newline="", encoding="utf-8") as f:
            for row in csv.DictReader(f):
                if None not in row.values() and (wanted is None or row["name"] in wanted):
                    agent = int(row["agent"]) if row["agent"] else None
                    rows.append((run, seed, int(row["step"]), row["name"], agent, float(row["value"]), int(row["n"])))
    if wanted and not rows:
        there = sorted(metrics(runs)["name"].unique())
        raise KeyError(f"{', '.join(sorted(wanted))} was not measured; there are {', '.join(there)}")
    out = pandas.DataFrame(rows, columns=["run", "seed", "step", "name", "agent", "value", "n"])
    return out.astype({"agent": "Int64"})


def plot(
    runs: Runs, name: str = "return/mean", *, agent: int | None = None, ax: matplotlib.axes.Axes | None = None
) -> matplotlib.axes.Axes:
    """Draws a metric of one or several runs over env steps; returns matplotlib's axes.

    Each run is a colour: seeds as thin lines, their mean as a thick one, and where there are several
    the mean's 95 % interval by Student's t as a band.
    """
    _needed("matplotlib", "hop.plot")
    import matplotlib.pyplot as plt
    import numpy as np

    data = metrics(runs, name)
    if agent is not None:
        data = data[data.agent == agent]
    elif data.agent.notna().any():
        data = data.groupby(["run", "seed", "step"], as_index=False)["value"].mean()  # of the agents
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for run, of in data.groupby("run", sort=False):
        seeds = [(x.step.to_numpy(), x.value.to_numpy()) for _, x in of.sort_values("step").groupby("seed")]
        low, high = max(s[0] for s, _ in seeds), min(s[-1] for s, _ in seeds)
        steps = np.unique(np.concatenate([s for s, _ in seeds]))
        steps = steps[(steps >= low) & (steps <= high)]
        many = len(seeds)
        (line,) = ax.plot([], [], label=f"{run}, {many} seed{'s' if many > 1 else ''}")
        if many == 1 or len(steps) == 0:
            for s, v in seeds:
                ax.plot(s, v, color=line.get_color(), linewidth=2)
            continue
        curves = np.stack([np.interp(steps, s, v) for s, v in seeds])
        for c in curves:
            ax.plot(steps, c, color=line.get_color(), linewidth=0.6, alpha=0.5)
        mean, wide = curves.mean(0), _t(many - 1) * curves.std(0, ddof=1) / many**0.5
        ax.plot(steps, mean, color=line.get_color(), linewidth=2)
        ax.fill_between(steps, mean - wide, mean + wide, color=line.get_color(), alpha=0.2, linewidth=0)
    ax.set_xlabel("env steps")
    ax.set_ylabel(name if agent is None else f"{name} of agent {agent}")
    ax.legend(frameon=False)
    return ax


# Student's t, 97.5 %, for 1 to 30 degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
      2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)


def _t(free: int) -> float:
    return _T[free - 1] if free <= len(_T) else 1.96


def _needed(library: str, what: str) -> Any:
    try:
        return __import__(library)
    except ImportError as err:
        raise ImportError(f"{what} needs {library} ({err}): pip install 'hop-marl[notebook]'") from err


def _display(what: Any) -> Any:
    """Shows something in the notebook's cell that can be changed later; None elsewhere."""
    if "ipykernel" not in sys.modules:
        return None
    try:
        from IPython.display import display

        return display(what, display_id=True)
    except Exception:
        return None
