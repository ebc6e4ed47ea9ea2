"""What users name on a command line: MODULE:FUNCTION."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Callable

from ._copies import raised
from ._spaces import Refusal


def find(name: str, what: str, example: str, want: str, python: str) -> Callable[..., Any]:
    """The function that `module:function` names; modules of the current folder come first.

    what, example, want: for refusals: what it is to be, one of these, and what it must be.
    python: how another interpreter is named.
    """
    module, colon, path = name.partition(":")
    if not colon or not module or not path:
        raise Refusal(f"{name!r} names no {what}; want MODULE:FUNCTION, such as {example}")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as e:
        if e.name and (module == e.name or module.startswith(e.name + ".")):
            raise Refusal(
                f"there is no Python module {e.name}, neither in the current folder nor installed for "
                f"{sys.executable}; install it there, or name another interpreter with {python}"
            ) from None
        raise Refusal(raised(f"importing {module}", e)) from None
    except BaseException as e:
        raise Refusal(raised(f"importing {module}", e)) from None
    for part in path.split("."):
        if not hasattr(found, part):
            near = [
                n for n in dir(found) if not n.startswith("_") and callable(getattr(found, n, None))
            ]
            raise Refusal(
                f"{module} has no {path}; it has {', '.join(near[:12]) or 'no functions'}"
            )
        found = getattr(found, part)
    if not callable(found):
        raise Refusal(f"{name} is a {type(found).__name__}, want {want}")
    return found
