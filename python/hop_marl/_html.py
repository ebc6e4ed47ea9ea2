"""How results look in a notebook: `_repr_html_` of what commands return, of decisions and boards."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import Any

import numpy as np


class Html(str):
    """Text that is HTML already; all other text is escaped."""


def table(head: list[str], rows: list[list[Any]]) -> str:
    """An HTML table."""

    def cell(x: Any, tag: str) -> str:
        text = f"{x:.3g}" if isinstance(x, float) else "" if x is None else str(x)
        text = "" if text == "nan" else text
        return f'<{tag} style="text-align:left">{x if isinstance(x, Html) else html.escape(text)}</{tag}>'

    top = "<tr>" + "".join(cell(x, "th") for x in head) + "</tr>" if head else ""
    return f"<table>{top}" + "".join("<tr>" + "".join(cell(x, "td") for x in r) + "</tr>" for r in rows) + "</table>"


def bar(share: float) -> Html:
    """A bar that is filled to a share, 0 to 1."""
    wide = max(0.0, min(1.0, float(share))) * 100
    return Html(
        '<div style="width:9em;background:#8883"><div style="background:#3b7dd8;height:.9em;'
        f'width:{wide:.0f}%"></div></div>'
    )


def png(pixels: np.ndarray) -> str:
    """A picture [height][width][3] as an HTML image."""
    tall, wide, _ = pixels.shape
    lines = np.concatenate([np.zeros((tall, 1), np.uint8), pixels.reshape(tall, -1)], 1).tobytes()

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", wide, tall, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return f'<img src="data:image/png;base64,{base64.b64encode(data).decode()}">'


class Result(dict):
    """What a command of hop returned: its JSON, and in a notebook a table.

    Keys are attributes too: result.verdict is result["verdict"].
    """

    def __init__(self, got: dict[str, Any], kind: str):
        super().__init__(got)
        self._kind = kind

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            kind = self.__dict__.get("_kind")
            raise AttributeError(f"hop {kind} returned no {name!r}; it returned {', '.join(self)}") from None

    def frame(self) -> Any:
        """The rows that the result is about, as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        for key in ("findings", "variants", "table", "seeds"):
            if key in self:
                return [r for r in self[key] if isinstance(r, dict)]
        return [dict(self)]

    def __repr__(self) -> str:
        return f"<hop {self._kind}: {self._title()}>"

    def _title(self) -> str:
        if self._kind == "audit":
            return f"{self['verdict']}. {self['says']}"
        if self._kind == "train":
            return f"{self['run']}, mean return {self['mean']:.3g} over {len(self['seeds'])} seeds"
        if self._kind == "adapt" and "table" not in self:
            return f"{self['run']} among {', '.join(self['vs'])}: {self['score']:.3g}"
        return ", ".join(f"{len(self[k])} {k}" for k in ("variants", "table") if k in self)

    def _repr_html_(self) -> str:
        return f"<p><b>hop {self._kind}</b>: {html.escape(self._title())}</p>" + getattr(self, f"_{self._kind}", self._plain)()

    def _plain(self) -> str:
        flat = [{k: v for k, v in r.items() if not isinstance(v, (dict, list))} for r in self._rows()]
        head = list(dict.fromkeys(k for r in flat for k in r))
        return table(head, [[r.get(k) for k in head] for r in flat])

    def _audit(self) -> str:
        colour = {"fail": "#c33", "warn": "#b70"}
        worst = [f for f in self["findings"] if f["status"] in colour]
        rows = [
            [Html(f'<b style="color:{colour[f["status"]]}">{f["status"]}</b>'), f["module"], f["says"], f["next"]]
            for f in worst
        ]
        return table(["", "module", "what was found", "where to look"], rows) if rows else ""

    def _compare(self) -> str:
        rows = [[v["name"], v["mean"], _range(v["ci"]), v["diff"], _range(v["diff_ci"])] for v in self["variants"]]
        return table(["", "mean return", "95 %", "less the first", "95 %"], rows)

    def _train(self) -> str:
        rows = [
            [s["seed"], s["mean"], s["greedy_mean"], ", ".join(f"{a:.3g}" for a in s["agents"] or []), s["env_steps"]]
            for s in self["seeds"]
        ]
        return table(["seed", "mean return", "greedy", "by agent", "env steps"], rows)

    def _adapt(self) -> str:
        rows = []
        for r in self.get("table") or [self]:
            share = r["normalised"]
            rows.append([r["run"], ", ".join(r["vs"]), r["score"], r["best_response"], r["random"], share, bar(share or 0)])
        return table(["", "among", "score", "best response", "random play", "normalised", ""], rows)


def _range(ci: list[float | None]) -> str:
    return "" if None in ci else f"{ci[0]:.3g} to {ci[1]:.3g}"


def look(x: Any) -> str:
    """A decision: beliefs over each co-player's goals as bars, and what each action is worth."""
    out = [f"<p><b>{html.escape(str(x).splitlines()[0])}</b></p>"]
    rows = []
    for name, o in x.others.items():
        if o.left:
            rows.append([name, "has left", "", ""])
            continue
        for n, i in enumerate(np.argsort(-o.beliefs, kind="stable")):
            then = ""
            if n == 0 and o.predicted is not None:
                k = int(o.predicted.argmax())
                then = f"{x.actions[k]} {o.predicted[k]:.0%}"
            rows.append([name if n == 0 else "", o.goals[i], bar(o.beliefs[i]), then])
    if rows:
        out.append(table(["co-player", "is after", "", "expected next"], rows))
    columns = [("policy", x.policy), ("visits", x.visits), ("value", x.q), ("prior", x.prior)]
    there = [(n, c) for n, c in columns if c is not None]
    rows = [[a, *(bar(c[k]) if n in ("policy", "prior") else float(c[k]) for n, c in there)] for k, a in enumerate(x.actions)]
    if there:
        out.append(table(["action", *(n for n, _ in there)], rows))
    return "".join(out)
