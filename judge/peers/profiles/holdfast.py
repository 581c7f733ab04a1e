"""Holdfast by its native protocol, on SQLite, with an agent that streams the model's words."""
import json
from typing import Any

from ...sse import Frame
from ..profile import Defaults, Reading, Request


class Holdfast(Defaults):
    name = "holdfast"
    ready = "/health"
    replays = False

    def start(self, script: str, reading: Reading) -> Request:
        return Request("/runs?stream=true", json={"component": "writer", "input": script})

    def read(self, frame: Frame, reading: Reading) -> None:
        event = json.loads(frame.data)
        if frame.id is None or "type" not in event:
            return
        reading.handle |= {"run": event["run"], "cursor": frame.id}
        self._fold(event, reading)

    def _fold(self, event: dict[str, Any], reading: Reading) -> None:
        data = event["data"]
        positions = reading.handle.setdefault("positions", [])
        if event["type"] == "text.delta":
            before = len(reading.words)
            reading.add_text(data["text"])
            positions += [event["index"]] * (len(reading.words) - before)
        elif event["type"] == "attempt.discarded":
            standing = sum(position < data["from"] for position in positions)
            del reading.words[standing:], positions[standing:]
        elif event["type"] in ("run.completed", "run.failed", "run.cancelled", "run.rejected"):
            reading.end = "completed" if event["type"] == "run.completed" else "failed"

    def resume(self, reading: Reading) -> Request | None:
        cursor = reading.handle.get("cursor")
        headers = {} if cursor is None else {"last-event-id": cursor}
        return Request(f"/runs/{reading.handle['run']}/events", "GET", headers)

    def result(self, reading: Reading) -> Request | None:
        return Request(f"/runs/{reading.handle['run']}", "GET")

    def read_result(self, body: Any, reading: Reading) -> None:
        if body["status"] in ("failed", "cancelled"):
            reading.end = "failed"
