"""hop: games with mixed motives, agents that infer, plan and learn, and what ails a run."""

from . import dataset
from ._binary import BinaryError
from ._version import __version__
from ._wire import HopError, PeerDied
from .envs import games, parallel_env, vec_env
from .recorder import Recorder

__all__ = [
    "BinaryError",
    "HopError",
    "PeerDied",
    "Recorder",
    "__version__",
    "dataset",
    "games",
    "parallel_env",
    "vec_env",
]
