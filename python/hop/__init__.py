"""hop: games with mixed motives, agents that infer, plan and learn, and what ails a run."""

from ._version import __version__
from ._binary import BinaryError
from ._wire import HopError, PeerDied
from . import dataset
from .agents import bot, bots, load
from .envs import games, parallel_env, vec_env

__all__ = [
    "BinaryError",
    "HopError",
    "PeerDied",
    "__version__",
    "bot",
    "bots",
    "dataset",
    "games",
    "load",
    "parallel_env",
    "vec_env",
]
