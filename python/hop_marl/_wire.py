"""How Python and hop talk: messages on a pipe, arrays in shared memory.

One process, the host, starts the other, the guest, and asks; the guest answers
every question before the next one. Both directions are the same: `Peer` hosts a
guest, `serve` is one. docs/bridge.md describes the protocol; the Go package
`bridge` is its other half.

A frame is the length of its body (4 bytes, little endian), its kind (1 byte) and
the body: a JSON object, or a tick, a number whose arguments and results stand in
shared memory.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import weakref
from typing import Any, Protocol

import numpy as np

from ._version import __version__

PROTOCOL = 1
_JSON, _TICK = 0, 1
_HEAD = struct.Struct("<IB")
_TICK_FRAME = struct.Struct("<IBI")
_MAX_BODY = 64 << 20
_ALIGN = 64
_TYPES = {"f4", "f8", "i1", "i2", "i4", "i8", "u1", "b1"}
_HELLO_PATIENCE = 30.0
_CLOSE_PATIENCE = 1.0


class HopError(RuntimeError):
    """What the other end answered instead of doing what it was asked."""


class PeerDied(HopError):
    """The process at the other end is gone, or does not follow the protocol."""


class Forked(HopError):
    """The process was forked: the other end belongs to the parent."""


def place(arrays: list[dict]) -> tuple[list[dict], int]:
    """Gives every array its place in the file; returns them and the bytes they take."""
    out, at = [], 0
    for a in arrays:
        if a["type"] not in _TYPES:
            raise ValueError(f"array {a['name']} has type {a['type']}, want one of {sorted(_TYPES)}")
        out.append({**a, "shape": [int(d) for d in a["shape"]], "at": at})
        size = int(np.prod(a["shape"], dtype=np.int64)) * int(a["type"][1])
        at += -(-size // _ALIGN) * _ALIGN
    return out, max(at, _ALIGN)


def views(memory: mmap.mmap, arrays: list[dict]) -> dict[str, np.ndarray]:
    """The arrays of mapped memory, by name. They keep it mapped."""
    out = {}
    for a in arrays:
        kind = np.dtype(np.bool_) if a["type"] == "b1" else np.dtype("<" + a["type"])
        count = int(np.prod(a["shape"], dtype=np.int64))
        flat = np.frombuffer(memory, kind, count, a["at"]) if count else np.zeros(0, kind)
        out[a["name"]] = flat.reshape(a["shape"])
    return out


def _create(size: int) -> tuple[int, str]:
    """A file whose bytes are really there: one with holes would kill whoever finds the disk full."""
    dirs = ["/dev/shm"] if os.path.isdir("/dev/shm") else []
    faults = []
    for folder in [*dirs, tempfile.gettempdir()]:
        if os.name == "nt":
            _sweep(folder)
        try:
            fd, path = tempfile.mkstemp(prefix=f"hop-bridge-py{os.getpid()}-", suffix=".mem", dir=folder)
        except OSError as e:
            faults.append(str(e))
            continue
        try:
            zeros, left = bytes(min(size, 1 << 20)), size
            while left > 0:
                left -= os.write(fd, zeros[: min(len(zeros), left)])
            return fd, path
        except OSError as e:
            os.close(fd)
            os.unlink(path)
            faults.append(f"{folder}: {e.strerror}")
    raise OSError(
        f"there is no room for {size / 1e6:.1f} MB of shared memory: {'; '.join(faults)}; "
        "free some space, or let TMPDIR name a folder that has it"
    )


def _sweep(folder: str) -> None:
    """Removes files whose processes died; Windows refuses to remove those in use."""
    for name in os.listdir(folder):
        if name.startswith("hop-bridge-") and name.endswith(".mem"):
            try:
                os.unlink(os.path.join(folder, name))
            except OSError:
                pass


class _Frames:
    """Frames over two file descriptors. A read that is interrupted can be gone on with."""

    def __init__(self, into: int, out_of: int):
        self.into, self.out_of = into, out_of
        self.got = b""

    def send_json(self, value: dict) -> None:
        body = json.dumps(value, separators=(",", ":")).encode()
        self._write(_HEAD.pack(len(body), _JSON) + body)

    def send_tick(self, code: int) -> None:
        self._write(_TICK_FRAME.pack(4, _TICK, code))

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.into, data) :]

    def receive(self) -> tuple[int, Any]:
        """The next frame: its kind, and an object or a number. EOFError: the other end has closed."""
        self._fill(5)
        size, kind = _HEAD.unpack_from(self.got)
        if size > _MAX_BODY or kind > _TICK or (kind == _TICK and size != 4):
            raise ValueError(f"what came does not follow the protocol: it begins with {self.got[:80]!r}")
        self._fill(5 + size)
        body, self.got = self.got[5 : 5 + size], self.got[5 + size :]
        if kind == _TICK:
            return kind, int.from_bytes(body, "little")
        return kind, json.loads(body)

    def _fill(self, size: int) -> None:
        while len(self.got) < size:
            more = os.read(self.out_of, max(4096, size - len(self.got)))
            if not more:
                raise EOFError
            self.got += more


class Peer:
    """A guest process, seen by its host. Not for several threads at once."""

    def __init__(self, argv: list[str], env: dict[str, str] | None = None):
        self.argv = argv
        self.owner = os.getpid()
        self._failed: HopError | None = None
        self._owed = False  # an answer has not been read yet
        self._errors = tempfile.TemporaryFile()
        kept_from_ctrl_c: dict[str, Any] = {"start_new_session": True}
        if os.name == "nt":
            kept_from_ctrl_c = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        try:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                bufsize=0, env=env, **kept_from_ctrl_c,
            )
        except OSError as e:
            self._errors.close()
            raise PeerDied(f"starting {argv[0]}: {e}") from None
        self._frames = _Frames(self._process.stdin.fileno(), self._process.stdout.fileno())
        self._finish = weakref.finalize(self, _finish, self._process, self._errors, self.owner)
        late = threading.Timer(_HELLO_PATIENCE, self._process.kill)
        late.daemon = True
        late.start()
        try:
            answer = self.call("hello", protocol=PROTOCOL, version=__version__)
        except BaseException:
            self.close()
            raise
        finally:
            late.cancel()
        if answer.get("protocol") != PROTOCOL:
            self.close()
            raise PeerDied(
                f"{argv[0]} is hop {answer.get('version')} and speaks protocol {answer.get('protocol')}; "
                f"this Python package is {__version__} and speaks {PROTOCOL}: install the same version of both"
            )
        self.version: str = answer["version"]

    def call(self, op: str, **args: Any) -> dict:
        """Asks a question and returns the answer. HopError: the other end's sentence."""
        self._ready()
        self._ask(self._frames.send_json, {"op": op, "args": args})
        kind, answer = self._answer()
        if kind != _JSON:
            raise self._lost(f"{op} was answered by a tick")
        return answer

    def share(self, arrays: list[dict]) -> dict[str, np.ndarray]:
        """Makes memory for arrays that the guest sees too, and returns them by name."""
        placed, size = place(arrays)
        fd, path = _create(size)
        memory = None
        try:
            memory = mmap.mmap(fd, size)
            self.call("share", path=path, bytes=size, arrays=placed)
        finally:
            os.close(fd)
            if os.name == "nt" and memory is not None:
                weakref.finalize(self, _remove, path)  # not while it is mapped
            else:
                _remove(path)
        return views(memory, placed)

    def tick(self, code: int) -> None:
        """Asks by a number alone: arguments and results stand in shared memory."""
        self.send(code)
        self.wait()

    def send(self, code: int) -> None:
        """Sends a tick; `wait` must follow before anything else is asked."""
        self._ready()
        self._ask(self._frames.send_tick, code)

    def wait(self) -> None:
        """Waits until the guest has done what was sent."""
        kind, answer = self._answer()
        if kind != _TICK:
            raise self._lost(f"a tick was answered by {answer!r:.200}")

    def _ready(self) -> None:
        if os.getpid() != self.owner:
            raise Forked("this process was forked from the one that started hop; make a new one here")
        if self._failed is not None:
            raise self._failed
        if self._owed:  # Ctrl-C came while an answer was awaited: it is of no use now
            try:
                self._answer()
            except PeerDied:
                raise
            except HopError:
                pass

    def _ask(self, send: Any, what: Any) -> None:
        self._owed = True
        try:
            send(what)
        except OSError:
            self._answer()  # it is gone; what it said before is why
            raise self._lost("") from None

    def _answer(self) -> tuple[int, Any]:
        try:
            kind, answer = self._frames.receive()
        except (EOFError, OSError):
            raise self._lost("") from None
        except ValueError as e:
            raise self._lost(str(e)) from None
        self._owed = False
        if kind == _JSON and "error" in answer:
            raise HopError(answer["error"] + ("\n" + answer["trace"] if answer.get("trace") else ""))
        return kind, answer

    def _lost(self, why: str) -> PeerDied:
        """What there is to say of a guest that does not answer any more."""
        if why:
            self._process.kill()
        try:
            code = self._process.wait(_CLOSE_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 4096))
        said = self._errors.read().decode(errors="replace").strip()
        text = why or (f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}")
        self._failed = PeerDied(f"{self.argv[0]} is gone: {text}" + (f"; it wrote last:\n{said}" if said else ""))
        return self._failed

    def close(self) -> None:
        """Lets the guest end, and ends it if it does not. More than once does no harm."""
        if self._failed is None:
            self._failed = HopError(f"{self.argv[0]} was closed")
        self._finish()

    @property
    def failed(self) -> bool:
        """Whether nothing can be asked any more: the guest is gone, or was closed."""
        return self._failed is not None

    @property
    def pid(self) -> int:
        """The guest's process."""
        return self._process.pid


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _finish(process: subprocess.Popen, errors: Any, owner: int) -> None:
    """Ends a guest. In a fork of its host only the fork's own ends of the pipe are closed."""
    for f in (process.stdin, process.stdout):
        try:
            f.close()
        except OSError:
            pass
    if os.getpid() != owner:
        process.returncode = 0  # it is not this process's child; nothing is to be waited for
    else:
        try:
            process.wait(_CLOSE_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    errors.close()


class Handler(Protocol):
    """Answers a host."""

    def call(self, op: str, args: dict) -> dict | None:
        """Answers a question. An exception goes back as a sentence with its traceback."""

    def share(self, arrays: dict[str, np.ndarray]) -> None:
        """Takes memory that the host has made, of arrays that were agreed on before."""

    def tick(self, code: int) -> None:
        """Does what a number says, with arguments and results in shared memory."""


def serve(handler: Handler) -> None:
    """Answers the host at the other end of stdin and stdout until it closes them or is gone.

    What the handler's code prints goes to stderr: stdout is the pipe.
    """
    frames = _Frames(os.dup(1), os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    if os.name == "nt":
        import msvcrt

        msvcrt.setmode(frames.into, os.O_BINARY)
        msvcrt.setmode(frames.out_of, os.O_BINARY)
    else:
        _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the host's to answer
    while True:
        try:
            kind, what = frames.receive()
        except (EOFError, OSError):
            return
        try:
            if kind == _TICK:
                handler.tick(what)
                answer = None
            else:
                answer = _reply(handler, what["op"], what.get("args") or {}) or {}
        except Exception as e:
            text = str(e) if isinstance(e, HopError) else f"{type(e).__name__}: {e}"
            trace = "" if isinstance(e, HopError) else traceback.format_exc()
            answer = {"error": text, "trace": trace}
        try:
            frames.send_tick(0) if answer is None else frames.send_json(answer)
        except OSError:
            return


def _reply(handler: Handler, op: str, args: dict) -> dict | None:
    if op == "hello":
        return {"protocol": PROTOCOL, "version": __version__}
    if op == "share":
        fd = os.open(args["path"], os.O_RDWR)
        try:
            memory = mmap.mmap(fd, args["bytes"])
        finally:
            os.close(fd)
        return handler.share(views(memory, args["arrays"]))
    return handler.call(op, args)


def _end_with_parent() -> None:
    """Ends this process soon after its parent: a fork of the parent may hold the pipe open."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
