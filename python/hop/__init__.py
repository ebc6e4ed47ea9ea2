"""hop for Python: mixed-motive games, agents that infer and plan, and an audit of runs."""

from ._version import __version__ as __version__
