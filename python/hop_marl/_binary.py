"""Finds the `hop` program that came with this package.

The wheel puts it where commands go (`bin` or `Scripts`), as `hop-marl`: other packages have a command
`hop` too, and pip lets whoever is installed last have it. In this order:

1. the file that the environment variable HOP_BINARY names,
2. the scripts folder of this interpreter, of the user's installs, and the one beside the
   folder that this package lies in (`pip install --target` and `--prefix`),
3. the PATH: `hop-marl`, then `hop`, which `go install` calls it.

What is found is asked once for its version, so that a program of another name or of another
version is refused with a sentence instead of misbehaving later.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from functools import lru_cache

from ._version import __version__

_NAME = "hop-marl.exe" if os.name == "nt" else "hop-marl"


class BinaryError(RuntimeError):
    """There is no `hop` program, or the one that was found is not this package's."""


def binary(names: tuple[str, ...] = ("hop-marl", "hop")) -> str:
    """Returns the path of the `hop` program.

    names: what it may be called on the PATH.

    Raises BinaryError if there is none, or if it is of another version than this package.
    """
    named = os.environ.get("HOP_BINARY")
    if named:
        if not os.path.isfile(named):
            raise BinaryError(
                f"HOP_BINARY is {named!r}, and there is no such file. Let it name the hop program, "
                "or unset it to use the one that the wheel installed."
            )
        return _checked(named, "HOP_BINARY names it")
    for folder in _folders():
        path = os.path.join(folder, _NAME)
        if os.path.isfile(path):
            return _checked(path, "it lies in the scripts folder")
    for name in names:
        path = shutil.which(name)
        if path:
            return _checked(path, "it is on the PATH")
    raise BinaryError(
        "the hop program was not found: not in " + ", ".join(_folders()) + " and not on the PATH. "
        "Install the wheel again (pip install --force-reinstall hop-marl), or let the environment "
        "variable HOP_BINARY name the program."
    )


def _folders() -> list[str]:
    """Returns the folders in which pip may have put the program, the likeliest first."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # site-packages
    scripts = "Scripts" if os.name == "nt" else "bin"
    folders = [sysconfig.get_path("scripts")]
    scheme = sysconfig.get_preferred_scheme("user")
    folders.append(sysconfig.get_path("scripts", scheme=scheme))
    folders.append(os.path.join(here, scripts))  # pip install --target
    # pip install --prefix: lib/python3.X/site-packages, on Windows Lib/site-packages.
    up = 2 if os.name == "nt" else 3
    prefix = here
    for _ in range(up):
        prefix = os.path.dirname(prefix)
    folders.append(os.path.join(prefix, scripts))
    return list(dict.fromkeys(folders))


def _checked(path: str, why: str) -> str:
    """Returns the path if the program there is hop and of this package's version."""
    stat = os.stat(path)
    _check(path, why, stat.st_mtime_ns, stat.st_size)
    return path


@lru_cache(maxsize=16)
def _check(path: str, why: str, _mtime: int, _size: int) -> None:
    """Asks the program for its version, once for each file as it lies there."""
    fix = "Install the wheel again, or let HOP_BINARY name the right program."
    try:
        done = subprocess.run(
            [path, "version", "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )
        said = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError) as err:
        raise BinaryError(f"{path} ({why}) is not the hop of this package: {err}. {fix}") from err
    if not isinstance(said, dict) or "version" not in said or "kernels" not in said:
        raise BinaryError(
            f"{path} ({why}) is not the hop of this package: it does not answer `hop version "
            f"--json`{_owner(path)}. {fix}"
        )
    # A program that was built by hand with `go build` says "dev"; the bridge checks its protocol.
    if said["version"] not in (__version__, "dev"):
        raise BinaryError(
            f"{path} ({why}) is hop {said['version']}, and this package is hop {__version__}. {fix}"
        )


def _owner(path: str) -> str:
    """Says which package of this interpreter a command belongs to, if one does."""
    from importlib import metadata

    for dist in metadata.distributions():
        for file in dist.files or []:
            if file.name == os.path.basename(path) and os.path.realpath(dist.locate_file(file)) == os.path.realpath(path):
                return f"; it is the command of {dist.name}"
    return ""


def main() -> int:
    """Runs the program with this process's arguments: `python -m hop_marl ...`."""
    try:
        path = binary(("hop-marl",))  # not "hop": that may be what was called, and would call itself
    except BinaryError as err:
        print(f"hop: {err}", file=sys.stderr)
        return 1
    args = [path, *sys.argv[1:]]
    if os.name != "nt":
        os.execv(path, args)
    # Windows has no exec that keeps the console: wait, and let Ctrl-C reach the program alone.
    child = subprocess.Popen(args)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue
