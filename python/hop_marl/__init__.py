"""hop: games with mixed motives, agents that infer, plan and learn, and what ails a run.

    import hop_marl as hop

What is used is imported then: the `hop` command starts through this package, and needs nothing of it.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import dataset
    from ._binary import BinaryError
    from ._onnx import onnx
    from ._strangers import Strangers, strangers
    from ._wire import HopError, PeerDied
    from .agents import Agent, Look, Other, bot, bots, load
    from .envs import games, parallel_env, vec_env
    from ._html import Result
    from .lab import Training, adapt, audit, compare, metrics, plot, train
    from .recorder import Recorder

# What the package has, and where.
_FROM = {
    "_binary": ["BinaryError"],
    "_onnx": ["onnx"],
    "_strangers": ["Strangers", "strangers"],
    "_wire": ["HopError", "PeerDied"],
    "agents": ["Agent", "Look", "Other", "bot", "bots", "load"],
    "envs": ["games", "parallel_env", "vec_env"],
    "lab": ["Training", "adapt", "audit", "compare", "metrics", "plot", "train"],
    "_html": ["Result"],
    "recorder": ["Recorder"],
}
_WHERE = {name: module for module, names in _FROM.items() for name in names}

__all__ = ["__version__", "dataset", *_WHERE]


def __getattr__(name: str) -> Any:
    """Imports what is asked for the first time."""
    if name in _WHERE:
        found = getattr(importlib.import_module("." + _WHERE[name], __name__), name)
    elif name == "dataset":
        found = importlib.import_module("." + name, __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _not_ours() -> None:
    """Warns of a module `hop` that was imported before: it is somebody else's."""
    other = sys.modules.get("hop")
    if other is not None and other is not sys.modules[__name__]:
        import warnings

        warnings.warn(
            f"the module hop that was imported before, {getattr(other, '__file__', None)}, is not of this package, which is "
            "hop-marl to pip and hop_marl to import: write `import hop_marl as hop`",
            stacklevel=3,
        )


_not_ours()
