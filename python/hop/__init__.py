"""hop: games with mixed motives, agents that infer, imagine, plan and learn, and what is wrong with a run."""

from ._version import __version__
from ._wire import HopError, PeerDied

__all__ = ["HopError", "PeerDied", "__version__"]
