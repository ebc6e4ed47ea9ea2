"""Every block of Python in docs/python.md runs, one after the other, as a reader would run them."""

import pathlib
import re
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def blocks(kind: str) -> list[str]:
    """The blocks of a language: "python" runs with the package's extras, "py" needs larger libraries."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def runs(folder: pathlib.Path, code: str) -> str:
    script = folder / "page.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def test_the_blocks_of_the_page_run(tmp_path):
    for library in ("pettingzoo", "pandas", "matplotlib"):
        pytest.importorskip(library)
    assert len(blocks("python")) >= 8
    said = runs(tmp_path, "\n".join(blocks("python")))
    assert "step " in said and "rows" in said


def test_the_recipe_for_stable_baselines_runs(tmp_path):
    pytest.importorskip("sb3_contrib")
    (recipe,) = blocks("py")
    runs(tmp_path, "import hop_marl as hop\n" + recipe)
