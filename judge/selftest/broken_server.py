"""A small in-memory server of the native protocol that violates one invariant on purpose."""
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TEXTS = 8
EVENT_EVERY_S = 0.02
STREAM_S_MAX = 10.0


@dataclass
class Run:
    id: str
    body: dict[str, Any]
    created: float = field(default_factory=time.monotonic)
    reads: int = 0

    def log(self) -> list[tuple[str, dict[str, Any]]]:
        texts = [("text.delta", {"text": f"[{number}] "}) for number in range(TEXTS)]
        return [("run.created", self.body), ("run.started", {"attempt": 1}), *texts, ("run.completed", {})]


class BrokenServer(ThreadingHTTPServer):
    """`defect`: the violated invariant; `none` is the control."""

    daemon_threads = True

    def __init__(self, defect: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.defect = defect
        self.runs: dict[str, Run] = {}
        self.keys: dict[str, Run] = {}
        self.lock = threading.Lock()

    def __enter__(self) -> "BrokenServer":
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """Ignores disconnected clients."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: BrokenServer
    protocol_version = "HTTP/1.0"  # the end of the connection ends the stream

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = self.headers["idempotency-key"]
        with self.server.lock:
            known = self.server.keys.get(key)
            if known is not None and known.body != body and self.server.defect != "takes any body":
                return self._problem(409, "idempotency_conflict")
            if known is None or self.server.defect == "starts twice":
                known = Run(f"run_{len(self.server.runs)}", body)
                if self.server.defect != "loses a start":
                    self.server.runs[known.id] = known
                self.server.keys[key] = known
        self._json(201, {"id": known.id})

    def do_GET(self) -> None:
        path = urlsplit(self.path)
        parts = path.path.strip("/").split("/")
        if len(parts) == 1:
            group = parse_qs(path.query)["session"][0]
            return self._json(
                200, {"runs": [{"id": run.id} for run in self.server.runs.values() if run.body["session"] == group]}
            )
        run = self.server.runs.get(parts[1])
        if run is None:
            return self._problem(404, "not_found")
        if len(parts) == 2:
            if self.server.defect.startswith("interrupts"):
                return self._json(200, {"status": "failed", "error": {"code": "interrupted"}})
            status = "cancelled" if self.server.defect == "lies about the outcome" else "completed"
            return self._json(200, {"status": status})
        run.reads += 1
        cursor = self.headers["last-event-id"]
        self._stream(run, -1 if cursor is None else int(cursor))

    def _stream(self, run: Run, after: int) -> None:
        frames = self._frames(run)
        if self.server.defect == "takes back" and run.reads > 1:
            if after >= 4:
                return self._problem(400, "cursor_invalid")
            frames = frames[:4]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            for place, frame in enumerate(frames):
                if place <= after:
                    continue
                time.sleep(max(0.0, run.created + place * EVENT_EVERY_S - time.monotonic()))
                if self.server.defect == "takes back" and run.reads == 1 and place == 6:
                    return
                self.wfile.write(frame)
                self.wfile.flush()
            if self.server.defect == "never ends" or self.server.defect == "takes back":
                self._be_silent()
        except OSError:
            return

    def _be_silent(self) -> None:
        deadline = time.monotonic() + STREAM_S_MAX
        while time.monotonic() < deadline:
            self.wfile.write(b": alive\n\n")
            self.wfile.flush()
            time.sleep(0.2)

    def _frames(self, run: Run) -> list[bytes]:
        defect, again = self.server.defect, run.reads > 1
        log = list(enumerate(run.log()))
        last = log[-1]
        if defect == "drops an event":
            del log[5]
        elif defect == "repeats an event":
            log.insert(5, log[5])
        elif defect == "changes an event" and again:
            log[5] = (5, ("text.delta", {"text": "[3]!"}))
        elif defect == "ends twice":
            log.append((last[0] + 1, last[1]))
        elif defect == "goes on after the end":
            log.append((last[0] + 1, ("text.delta", {"text": "one more thing"})))
        elif defect == "never ends":
            log.pop()
        elif defect.startswith("interrupts"):
            log = log[:6] + [(6, ("run.failed", {"error": {"code": "interrupted"}}))]
        elif defect.startswith("attempts again"):
            second = ("run.started", {"attempt": 2})
            log = log[:6] + [(6, second), *((index + 1, event) for index, event in log[6:])]
        elif defect == "completes without the work":
            log = log[:6] + [(6, last[1])]
        spaces = (", ", ": ") if defect == "writes other bytes" and again else (",", ":")
        owner = "run_other" if defect == "mixes runs" and len(log) > 4 else run.id
        return [
            _frame(owner if index == 4 else run.id, index, type_, data, spaces) for index, (type_, data) in log
        ]

    def _problem(self, status: int, code: str) -> None:
        self._json(status, {"type": f"urn:holdfast:error:{code}"})

    def _json(self, status: int, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def _frame(run: str, index: int, type_: str, data: dict[str, Any], separators: tuple[str, str]) -> bytes:
    body = json.dumps({"run": run, "index": index, "type": type_, "data": data}, separators=separators)
    return f"id: {index}\nevent: {type_}\ndata: {body}\n\n".encode()
