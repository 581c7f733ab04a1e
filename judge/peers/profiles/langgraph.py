"""The LangGraph server (`langgraph dev`, in memory) with a resumable run that continues when its client leaves."""
import json
from typing import Any

from ...sse import Frame
from ..profile import Defaults, Reading, Request


class LangGraph(Defaults):
    name = "langgraph"
    ready = "/ok"
    replays = False
    """Its SDK treats a stream that ends without an error as a finished run."""
    end_of_stream = "completed"

    def prepare(self, script: str) -> Request | None:
        return Request("/threads", json={})

    def prepared(self, body: Any, reading: Reading) -> None:
        reading.handle["thread"] = body["thread_id"]

    def start(self, script: str, reading: Reading) -> Request:
        body = {
            "assistant_id": "writer",
            "input": {"messages": [{"role": "user", "content": script}]},
            "stream_mode": ["messages-tuple"],
            "stream_resumable": True,
            "on_disconnect": "continue",
        }
        return Request(f"/threads/{reading.handle['thread']}/runs/stream", json=body)

    def read(self, frame: Frame, reading: Reading) -> None:
        if frame.id is not None:
            reading.handle["cursor"] = frame.id
        body = json.loads(frame.data) if frame.data.strip() else None
        if frame.event == "metadata" and body:
            reading.handle["run"] = body["run_id"]
        elif frame.event == "error":
            reading.end = "failed"
        elif frame.event == "messages" and body[0].get("type") in ("AIMessageChunk", "ai"):
            reading.add_text(body[0].get("content"))

    def resume(self, reading: Reading) -> Request | None:
        if "run" not in reading.handle:
            return None
        cursor = reading.handle.get("cursor") or "-1"
        path = f"/threads/{reading.handle['thread']}/runs/{reading.handle['run']}/stream?stream_mode=messages-tuple"
        return Request(path, "GET", {"last-event-id": cursor})

    def result(self, reading: Reading) -> Request | None:
        return Request(f"/threads/{reading.handle['thread']}/runs/{reading.handle['run']}", "GET")

    def read_result(self, body: Any, reading: Reading) -> None:
        if body.get("status") in ("error", "timeout", "interrupted"):
            reading.end = "failed"
        elif body.get("status") == "success":
            reading.end = "completed"
