"""The package uses nothing that Python 3.10 does not have."""

import pathlib
import subprocess
import sys

import pytest


def test_python_3_10_has_all_that_is_used():
    pytest.importorskip("vermin")
    import hop_marl as hop

    folder = pathlib.Path(hop.__file__).parent
    start = [sys.executable, "-c", "from vermin import main; main()"]
    flags = ["--no-tips", "--eval-annotations", "-t=3.10-", "--violations"]
    done = subprocess.run([*start, *flags, str(folder)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
