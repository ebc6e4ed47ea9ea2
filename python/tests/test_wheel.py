"""The wheel: what is in it, that it is the same twice, and that it installs and runs.

Needs the Go toolchain; without it these tests are left out.
"""

import base64
import csv
import email
import functools
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "python" / "wheels"

pytestmark = pytest.mark.skipif(
    shutil.which("go") is None or not TOOL.exists(),
    reason="wheels are built with the Go toolchain, from a checkout",
)

SYSTEM = {"Linux": "linux", "Darwin": "darwin", "Windows": "windows"}.get(platform.system(), "")
MACHINE = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(
    platform.machine().lower(), ""
)


def tool():
    """python/wheels as a module."""
    loader = importlib.machinery.SourceFileLoader("wheels", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("wheels", loader))
    loader.exec_module(module)
    return module


@functools.cache
def version():
    """The version of the checkout, with its commit."""
    return tool().version()


def build(out, *only):
    """Runs python/wheels and returns what it printed."""
    command = [sys.executable, str(TOOL), "--out", str(out), "--only", ",".join(only)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this system: that of the folder HOP_WHEELS if it is of this tree, else built once for all tests."""
    for path in pathlib.Path(os.environ.get("HOP_WHEELS", "nowhere")).glob(f"hop_marl-{version()}-*.whl"):
        return path
    out = tmp_path_factory.mktemp("wheels")
    said = build(out, f"{SYSTEM}-{MACHINE}")
    (path,) = out.iterdir()
    assert path.name in said and " MB" in said
    return path


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A fresh virtual environment with the wheel and nothing but numpy."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(scripts / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "-q", "--no-index", "--no-deps", str(wheel)], check=True)
    import numpy

    numpys = pathlib.Path(numpy.__file__).parent.parent
    lent = tmp_path_factory.mktemp("numpy")
    for name in ("numpy", "numpy.libs"):
        if (numpys / name).exists():
            shutil.copytree(numpys / name, lent / name, ignore=shutil.ignore_patterns("tests"))
    env = {k: v for k, v in os.environ.items() if k not in ("HOP_BINARY", "PYTHONHOME")}
    env["PYTHONPATH"] = str(lent)
    return scripts, env


def test_the_name_and_the_size(wheel):
    assert wheel.name.startswith(f"hop_marl-{version()}-py3-none-")
    assert 3e6 < wheel.stat().st_size < 20e6
    if SYSTEM == "linux":
        assert "manylinux_2_17" in wheel.name and "musllinux_1_1" in wheel.name


def test_the_record_tells_the_truth(wheel):
    with zipfile.ZipFile(wheel) as z:
        names = z.namelist()
        record = f"hop_marl-{version()}.dist-info/RECORD"
        rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(z.read(record).decode()))}
        assert sorted(rows) == sorted(names) and len(names) == len(set(names))
        assert rows.pop(record) == ["", ""]
        for name, (digest, size) in rows.items():
            data = z.read(name)
            want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert digest == "sha256=" + want and int(size) == len(data), name


def test_the_contents(wheel):
    exe = "hop-marl.exe" if SYSTEM == "windows" else "hop-marl"
    info = f"hop_marl-{version()}.dist-info/"
    with zipfile.ZipFile(wheel) as z:
        names = set(z.namelist())
        program = z.getinfo(f"hop_marl-{version()}.data/scripts/{exe}")
        assert program.external_attr >> 16 & 0o777 == 0o755
        assert os.fsencode(ROOT) not in z.read(program)  # nor where it was built
        package = {
            p.relative_to(ROOT / "python").as_posix()
            for p in (ROOT / "python/hop_marl").rglob("*")
            if p.suffix == ".py" or p.name == "py.typed"
        }
        assert package <= names and "hop_marl/envs.py" in package
        rest = names - package - {program.filename}
        assert rest == {info + f for f in ("METADATA", "WHEEL", "RECORD", "LICENSE", "entry_points.txt")}
        head = email.message_from_bytes(z.read(info + "METADATA"))
        tags = email.message_from_bytes(z.read(info + "WHEEL"))
    assert head["Name"] == "hop-marl" and head["Version"] == version()
    assert head["Requires-Python"] == ">=3.10"
    needs = head.get_all("Requires-Dist")
    assert [n for n in needs if "extra" not in n] == ["numpy>=1.22"]
    assert "pettingzoo" in head.get_all("Provides-Extra")
    assert head.get_payload().startswith("# hop")
    assert tags["Root-Is-Purelib"] == "false"
    platforms = wheel.name.removesuffix(".whl").split("-")[-1].split(".")
    assert tags.get_all("Tag") == [f"py3-none-{p}" for p in platforms]


def test_the_version_says_which_commit(wheel):
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if head.returncode != 0:
        pytest.skip("not a checkout")
    number, _, commit = version().partition("+g")
    assert re.fullmatch(r"\d+\.\d+\.\d+", number) and head.stdout.startswith(commit.removesuffix(".edited"))
    with zipfile.ZipFile(wheel) as z:
        assert f'__version__ = "{version()}"' in z.read("hop_marl/_version.py").decode()


def test_links_and_pictures_of_the_description_work_elsewhere(wheel):
    with zipfile.ZipFile(wheel) as z:
        head = email.message_from_bytes(z.read(f"hop_marl-{version()}.dist-info/METADATA"))
    assert len(head.get_all("Project-URL")) == 3
    links = re.findall(r"\]\(([^)]*)\)", head.get_payload())
    assert len(links) > 30 and all(x.startswith(("https://", "#")) for x in links), links
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", head.get_payload())
    assert pictures and all(x.startswith("https://raw.githubusercontent.com/hop-marl/hop/main/docs/") for x in pictures)
    for x in links:  # what they name is there
        path = re.sub(r"^https://[^/]*/hop-marl/hop/(blob/)?main/|#.*", "", x)
        assert path.startswith("https://") or not path or (ROOT / path).exists(), x


def test_somebody_elses_hop_does_no_harm(environment, tmp_path):
    """As hop-client does: another package has a module hop and a command hop."""
    scripts, env = environment
    (tmp_path / "hop").mkdir()
    (tmp_path / "hop" / "__init__.py").write_text("publish = None\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "hop").write_text("#!/bin/sh\necho another hop\n")
    (tmp_path / "bin" / "hop").chmod(0o755)
    env = {**env, "PYTHONPATH": os.pathsep.join([str(tmp_path), env["PYTHONPATH"]]),
           "PATH": os.pathsep.join([str(tmp_path / "bin"), env["PATH"]])}
    run = functools.partial(subprocess.run, env=env, capture_output=True, text=True, check=False, cwd=tmp_path)
    python = str(scripts / "python")
    ours = run([python, "-W", "error", "-c", "import hop_marl as hop; print(len(hop.games()))"])
    assert ours.returncode == 0 and int(ours.stdout) > 3, ours.stderr
    both = run([python, "-W", "error", "-c", "import hop, hop_marl"])
    assert "is not of this package" in both.stderr and "import hop_marl as hop" in both.stderr
    (tmp_path / "mine.py").write_text("import hop\ndef act(o, m, i): return 0\nenv = hop.parallel_env\n")
    said = run([str(scripts / "hop-marl"), "eval", "--team", "py:mine:act,ns,ns,ns", "--episodes", "1"])
    assert said.returncode != 0 and "import hop_marl as hop" in said.stderr, said.stderr


def test_pips_own_reader_takes_the_metadata(wheel):
    metadata = pytest.importorskip("packaging.metadata")
    utils = pytest.importorskip("packaging.utils")
    with zipfile.ZipFile(wheel) as z:
        text = z.read(f"hop_marl-{version()}.dist-info/METADATA")
    read = metadata.Metadata.from_email(text, validate=True)
    assert str(read.version) == version()
    name, number, _, tags = utils.parse_wheel_filename(wheel.name)
    assert name == "hop-marl" and str(number) == version() and tags


def test_it_is_the_same_twice(wheel, tmp_path):
    build(tmp_path, f"{SYSTEM}-{MACHINE}")
    (again,) = tmp_path.iterdir()
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_every_system(tmp_path):
    """The wheels of all systems, with a few bytes for the program: building it takes minutes."""
    wheels = tool()
    assert len(wheels.TARGETS) == 6
    for target in wheels.TARGETS:
        path = wheels.write(target, b"program", tmp_path)
        with zipfile.ZipFile(path) as z:
            (program,) = [n for n in z.namelist() if "/scripts/" in n]
            assert z.testzip() is None and z.read(program) == b"program"
        assert program.endswith("/hop-marl.exe" if target.startswith("windows") else "/hop-marl")
    assert len(list(tmp_path.iterdir())) == 6


def test_the_program_with_a_card(tmp_path):
    """hop-marl-cuda has one program and says where it runs; musl, which it cannot, is not among it."""
    wheels = tool()
    for target in wheels.CUDA_TARGETS:
        path = wheels.write(target, b"program", tmp_path, cuda=True)
        with zipfile.ZipFile(path) as z:
            (program,) = [n for n in z.namelist() if "/scripts/" in n]
            assert z.testzip() is None and z.read(program) == b"program"
            (meta,) = [n for n in z.namelist() if n.endswith("/METADATA")]
            assert b"Name: hop-marl-cuda" in z.read(meta)
        assert program.endswith("/hop-cuda") and "manylinux" in path.name and "musl" not in path.name


def test_a_wrong_system_is_refused(tmp_path):
    command = [sys.executable, str(TOOL), "--out", str(tmp_path), "--only", "plan9-mips"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "there are linux-amd64" in done.stderr


def test_hop_is_on_the_path(environment):
    scripts, env = environment
    for name in ("hop", "hop-marl"):
        exe = scripts / (name + ".exe" if os.name == "nt" else name)
        said = subprocess.run([str(exe), "version", "--json"], env=env, check=True, capture_output=True)
        assert json.loads(said.stdout)["version"] == version()
    python = [str(scripts / "python"), "-m", "hop_marl", "version"]
    said = subprocess.run(python, env=env, check=True, capture_output=True, text=True)
    assert said.stdout.startswith(f"hop {version()},")
    wrong = subprocess.run([*python, "--bogus"], env=env, capture_output=True, check=False)
    assert wrong.returncode == 2


def test_import_needs_numpy_alone(environment, tmp_path):
    scripts, env = environment
    code = """
import importlib.util, os, sys
import hop_marl as hop
assert importlib.util.find_spec("pettingzoo") is None
assert importlib.util.find_spec("gymnasium") is None
from hop_marl._binary import binary
scripts = os.path.dirname(sys.executable)
assert os.path.samefile(os.path.dirname(binary()), scripts), binary()
env = hop.vec_env("staghunt", 8)
env.reset(seed=1)
for _ in range(10):
    env.step(env.random_actions())
print(sorted(m for m in sys.modules if m.split(".")[0] in ("gymnasium", "pettingzoo", "torch")))
"""
    # PATH must not matter: the program lies beside the interpreter.
    said = subprocess.run(
        [str(scripts / "python"), "-c", code], env={**env, "PATH": str(tmp_path)}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize("how", ["--target", "--prefix"])
def test_other_kinds_of_installs_find_their_program(wheel, environment, tmp_path, how):
    scripts, env = environment
    python = str(scripts / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    subprocess.run(
        [*pip, "--ignore-installed", "--no-index", "--no-deps", how, tmp_path / "in", wheel],
        check=True,
    )
    (package,) = (tmp_path / "in").rglob("hop_marl/_binary.py")
    # Not the venv's own program: as if the venv had none.
    code = f"""
import os, hop_marl._binary as b
mine = [p for p in b._folders() if p.startswith({str(tmp_path)!r})]
assert [p for p in mine if os.path.isfile(os.path.join(p, b._NAME))], b._folders()
"""
    env = {**env, "PYTHONPATH": os.pathsep.join([str(package.parent.parent), env["PYTHONPATH"]])}
    command = [python, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def release(out, *more):
    """Runs python/release of this system."""
    command = [sys.executable, str(TOOL.parent / "release"), "--out", str(out), "--only", f"{SYSTEM}-{MACHINE}", *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_release_is_whole(tmp_path, wheel):
    """Sums, wheel, archive, bill of materials and notes; what is unpacked runs and says its version."""
    done = release(tmp_path / "made")
    assert done.returncode == 0, done.stderr
    made = {p.name: p for p in (tmp_path / "made").iterdir()}
    sums = dict(reversed(line.split("  ")) for line in made["SHA256SUMS"].read_text().splitlines())
    assert set(sums) == set(made) - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256(made[name].read_bytes()).hexdigest() == digest
    assert made[wheel.name].read_bytes() == wheel.read_bytes()
    name = f"hop-{version()}-{SYSTEM}-{MACHINE}"
    bill = json.loads(made[name + ".cdx.json"].read_text())
    assert bill["bomFormat"] == "CycloneDX" and any("kong" in c["name"] for c in bill["components"])
    (packed,) = [p for p in made.values() if p.name in (name + ".tar.gz", name + ".zip")]
    shutil.unpack_archive(packed, tmp_path / "unpacked")
    said = subprocess.run([tmp_path / "unpacked" / name / "hop", "version"], capture_output=True, text=True, check=True, env={}).stdout
    assert version() in said
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff"} <= {p.name for p in (tmp_path / "unpacked" / name).iterdir()}


def test_versions_agree():
    """The number stands in _version.py; the citation and the newest part of the changelog have the same."""
    number = tool().released()
    assert f"\nversion: {number}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.split("\n## ")[1].split()[0] == number
