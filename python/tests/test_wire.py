"""The protocol, with a guest in Python at the other end."""

import glob
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

from hop_marl import HopError, PeerDied, _wire

GUEST = """
import os, sys, time
from hop_marl import _wire
class Doubler:
    def call(self, op, args):
        if op == "echo":
            print("this is not for the pipe")
            return args
        if op == "die":
            sys.stderr.write("out of luck")
            os._exit(3)
        if op == "sleep":
            time.sleep(args["s"])
            return {}
        raise KeyError(op)
    def share(self, arrays): self.a = arrays
    def tick(self, code):
        if code == 7: raise _wire.HopError("seven is not for doubling")
        if code == 9: os._exit(4)
        self.a["out"][:] = 2 * self.a["in"].reshape(-1)
_wire.serve(Doubler())
"""
ARRAYS = [
    {"name": "in", "type": "f4", "shape": [3, 5]},
    {"name": "flag", "type": "b1", "shape": [3]},
    {"name": "out", "type": "f4", "shape": [15]},
]
PATH = os.path.dirname(os.path.dirname(os.path.abspath(_wire.__file__)))


def guest() -> _wire.Peer:
    env = {**os.environ, "PYTHONPATH": PATH}
    return _wire.Peer([sys.executable, "-c", GUEST], env=env)


def memory_files(pid: int) -> set:
    """Files of shared memory that a process made and that have a name; tests run side by side."""
    return {f for d in ("/dev/shm", tempfile.gettempdir()) for f in glob.glob(f"{d}/hop-bridge-py{pid}-*.mem")}


def gone(pid: int, within: float = 1.5) -> bool:
    """Whether a process ends within so many seconds."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


def test_a_host_and_its_guest_share_arrays():
    p = guest()
    assert p.call("echo", a=3) == {"a": 3}
    a = p.share(ARRAYS)
    assert not memory_files(os.getpid()) or os.name == "nt", "the file still has a name: a crash would leave it behind"
    a["in"][:] = np.arange(15).reshape(3, 5)
    p.tick(1)
    assert (a["out"] == 2 * np.arange(15)).all() and a["flag"].dtype == bool
    pid = p.pid
    p.close()
    p.close()
    assert gone(pid)
    with pytest.raises(HopError, match="was closed"):
        p.tick(1)
    assert a["out"][1] == 2, "arrays stay readable after the guest has gone"


def test_what_a_guest_refuses_is_said_and_the_talk_goes_on():
    p = guest()
    with pytest.raises(HopError, match="KeyError: 'fly'"):
        p.call("fly")
    p.share(ARRAYS)
    with pytest.raises(HopError, match="^seven is not for doubling$"):
        p.tick(7)
    p.tick(1)


@pytest.mark.parametrize(
    "do, said",
    [
        (lambda p: p.call("die"), "exit code 3; it wrote last:\nout of luck"),
        (lambda p: p.tick(9), "exit code 4"),
        (lambda p: (os.kill(p.pid, signal.SIGKILL), p.tick(1)), "signal 9"),
    ],
)
def test_a_dead_guest_is_seen_within_a_second(do, said):
    p = guest()
    p.share(ARRAYS)
    start = time.monotonic()
    with pytest.raises(PeerDied) as e:
        do(p)
    assert said in str(e.value) and time.monotonic() - start < 1
    with pytest.raises(PeerDied):
        p.call("echo")


@pytest.mark.parametrize("late", [0, 0.5])
def test_a_stranger_is_refused_with_what_it_said(monkeypatch, late):
    start = _wire.subprocess.Popen

    def slow(*args, **more):  # it has said all and is gone before it is asked
        process = start(*args, **more)
        time.sleep(late)
        return process

    monkeypatch.setattr(_wire.subprocess, "Popen", slow)
    with pytest.raises(PeerDied, match="does not follow the protocol.*Welcome"):
        _wire.Peer([sys.executable, "-c", "print('Welcome to something else')"])
    with pytest.raises(PeerDied, match="no-such-program"):
        _wire.Peer(["no-such-program"])


def test_another_protocol_is_refused_with_both_versions():
    other = GUEST.replace("_wire.serve", "_wire.PROTOCOL, _wire.__version__ = 99, '9.9.9'\n_wire.serve")
    with pytest.raises(PeerDied, match="hop 9.9.9 and speaks protocol 99.*install the same version"):
        _wire.Peer([sys.executable, "-c", other], env={**os.environ, "PYTHONPATH": PATH})


def test_a_guest_dies_with_a_killed_host_even_if_the_host_was_forked():
    host = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"""
import os, sys, time
sys.path.insert(0, {PATH!r})
sys.path.insert(0, {os.path.dirname(__file__)!r})
import test_wire
p = test_wire.guest()
p.share(test_wire.ARRAYS)
child = os.fork()
if child == 0:
    time.sleep(30)
print(p.pid, child, flush=True)
time.sleep(30)
""",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    pid, fork = map(int, host.stdout.readline().split())
    host.kill()
    host.wait()
    try:
        assert gone(pid), "the guest lives on without its host"
    finally:
        os.kill(fork, signal.SIGKILL)


def test_nothing_is_left_of_a_peer_that_was_forgotten():
    p = guest()
    pid = p.pid
    del p
    assert gone(pid)


def _in_a_fork(p, out):
    try:
        p.tick(1)
    except _wire.Forked as e:
        out.put(str(e))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no fork")
def test_a_fork_is_told_and_does_the_host_no_harm():
    p = guest()
    a = p.share(ARRAYS)
    ctx = multiprocessing.get_context("fork")
    out = ctx.Queue()
    child = ctx.Process(target=_in_a_fork, args=(p, out))
    child.start()
    assert "forked" in out.get(timeout=10)
    child.join(10)
    a["in"][:] = 1
    p.tick(1)
    assert a["out"][0] == 2


def test_ctrl_c_while_waiting_does_not_mix_up_answers():
    p = guest()
    # A shell's background job ignores it otherwise, and so do these tests when run as one.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            p.call("sleep", s=1.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert p.call("echo", a=1) == {"a": 1}


def test_a_full_disk_is_a_sentence_and_leaves_nothing():
    script = f"""
import os, resource, sys
print(os.getpid())
sys.path[:0] = [{PATH!r}, {os.path.dirname(__file__)!r}]
import test_wire
p = test_wire.guest()
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    p.share([{{"name": "x", "type": "f4", "shape": [1 << 20]}}])
except OSError as e:
    print(e)
p.share(test_wire.ARRAYS)
"""
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert "no room for 4.2 MB of shared memory" in out.stdout and "TMPDIR" in out.stdout, out
    assert not memory_files(int(out.stdout.split()[0]))
