"""agno's AgentOS with a database: runs in the background, resumed as its documentation's scripts do."""
import json
from typing import Any
from uuid import uuid4

from ...sse import Frame
from ..profile import Defaults, Reading, Request

RUNS = "/agents/writer/runs"


class Agno(Defaults):
    name = "agno"
    ready = "/health"
    replays = False

    def start(self, script: str, reading: Reading) -> Request:
        session = str(uuid4())
        reading.handle["session"] = session
        return Request(RUNS, form={"message": script, "stream": "true", "background": "true", "session_id": session})

    def read(self, frame: Frame, reading: Reading) -> None:
        event = json.loads(frame.data)
        if event.get("run_id"):
            reading.handle["run"] = event["run_id"]
        if event.get("event_index") is not None:
            reading.handle["cursor"] = event["event_index"]
        match event.get("event"):
            case "RunContent":
                reading.add_text(event.get("content"))
            case "RunCompleted":
                reading.end = "completed"
            case "RunError" | "RunCancelled" | "error":
                reading.end = "failed"

    def resume(self, reading: Reading) -> Request | None:
        cursor = reading.handle.get("cursor")
        form = {"session_id": reading.handle["session"]}
        if cursor is not None:
            form["last_event_index"] = str(cursor)
        return Request(f"{RUNS}/{reading.handle['run']}/resume", form=form)

    def result(self, reading: Reading) -> Request | None:
        return Request(f"{RUNS}/{reading.handle['run']}?session_id={reading.handle['session']}", "GET")

    def read_result(self, body: Any, reading: Reading) -> None:
        status = str(body.get("status", "")).lower()
        if status == "completed":
            reading.set_text(body.get("content") or "")
            reading.end = "completed"
        elif status in ("error", "cancelled"):
            reading.end = "failed"
