"""The history of a campaign: one JSON object per line, in the order that clients observed."""
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from .target import Event


class History:
    """`events` and `runs` count what was recorded; the verdict is computed from the file alone."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("w", encoding="utf-8")
        self._began = time.monotonic()
        self.events = 0

    def now(self) -> float:
        return time.monotonic() - self._began

    def record(self, kind: str, **fields: Any) -> None:
        self._file.write(json.dumps({"t": round(self.now(), 4), "kind": kind, **fields}) + "\n")

    def event(self, reader: str, run: str, event: Event) -> None:
        """`run` is the one that was asked for."""
        self.events += 1
        self.record(
            "event",
            reader=reader,
            run=run,
            of=event.run,
            index=event.index,
            type=event.type,
            raw=event.raw.decode("utf-8", "backslashreplace"),
        )

    def close(self) -> None:
        self._file.close()


def read(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
