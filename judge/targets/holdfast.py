"""Holdfast, by its native protocol; the server must serve the lab agents (`--lab`)."""
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import httpx

from .. import sse
from ..target import Conflict, CursorRefused, Event, Missing, NothingMore, Unavailable, Work

PAGE_RUNS = 200
PAGES_MAX = 1000
# Codes for a log that no longer has, or cannot return, events that it returned before.
REFUSALS = {"cursor_invalid", "cursor_expired", "log_changed", "log_damaged"}
TERMINAL = {"run.completed", "run.failed", "run.cancelled", "run.rejected"}

# Each with the number of its texts. Those that pause and those that never end need a client that answers or stops.
SCRIPTS = [
    Work({"input": "text 40 every 50"}, frozenset({"completed"}), 40),
    Work({"input": "text 100 every 100"}, frozenset({"completed"}), 100),
    Work({"input": "text 300"}, frozenset({"completed"}), 300),
    Work({"input": "text 10 every 30; step one 50; text 10 every 30; step two 100; text 5"}, frozenset({"completed"}), 25),
    Work({"input": "tool search idempotent 100; text 20 every 20; big 48; text 5 every 50"}, frozenset({"completed"}), 25),
    Work({"input": "text 5; ask Go on?; text 20 every 30"}, frozenset({"completed"}), 25, answers=True),
    Work({"input": "text 20 every 30; hang"}, frozenset({"cancelled"}), 20, stops_at=19),
    Work({"input": "text 10 every 40; throw boom"}, frozenset({"failed:agent_failed"}), 10),
]
# Every second run is long, if runs must be in progress for as long as a fault lasts.
LONG_SHARE = 0.5
# Only a run of the first may end because its process died.
COMPONENTS = ["lab", "lab-retry", "lab-resume", "lab-resume"]


def _long_scripts(seconds: int) -> list[Work]:
    completed = frozenset({"completed"})
    return [
        Work({"input": f"text 3 every 30; sleep {seconds * 1000}; text 3 every 30"}, completed, 6),
        Work({"input": f"text {seconds} every 1000"}, completed, seconds),
    ]


class Holdfast:
    name = "holdfast"

    def draw_work(self, random: Random, long_s: int) -> Work:
        component = random.choice(COMPONENTS)
        is_long = long_s > 0 and random.random() < LONG_SHARE
        work = random.choice(_long_scripts(long_s) if is_long else SCRIPTS)
        interrupted = frozenset({"failed:interrupted"} if component == "lab" else ())
        return replace(work, request={"component": component, **work.request}, outcomes_of_death=interrupted)

    async def start(self, http: httpx.AsyncClient, node: str, work: Work, key: str, group: str) -> str:
        body = {**work.request, "session": group}
        response = await _send(http, "POST", f"{node}/runs", body, {"idempotency-key": key})
        if response.status_code == 409 and _code(response) == "idempotency_conflict":
            raise Conflict
        return _json(response)["id"]

    async def events(self, http: httpx.AsyncClient, node: str, run: str, after: int) -> AsyncIterator[Event]:
        headers = {"accept": "text/event-stream", **({} if after < 0 else {"last-event-id": str(after)})}
        async with http.stream("GET", f"{node}/runs/{run}/events", headers=headers) as response:
            if response.status_code == 204:
                raise NothingMore
            if response.status_code != 200:
                await response.aread()
                _refuse(response)
            async for frame in sse.frames(response):
                if frame.id is None:
                    continue  # a frame about the stream, not an event of the log
                body = json.loads(frame.data)
                yield Event(body["run"], int(frame.id), body["type"], frame.raw)

    async def answer(self, http: httpx.AsyncClient, node: str, run: str) -> None:
        response = await _send(http, "POST", f"{node}/runs/{run}/answers", {"answer": "yes"})
        if response.status_code != 409:
            _json(response)
        elif await self.outcome(http, node, run) == "paused":
            raise Unavailable(f"the run waits for an answer, and the answer is a conflict: {response.text[:200]}")

    async def stop(self, http: httpx.AsyncClient, node: str, run: str) -> None:
        _json(await _send(http, "POST", f"{node}/runs/{run}/stop", {"reason": "seen enough"}))

    async def outcome(self, http: httpx.AsyncClient, node: str, run: str) -> str:
        body = _json(await _send(http, "GET", f"{node}/runs/{run}"))
        return _outcome(body["status"], body.get("error"))

    async def list_runs(self, http: httpx.AsyncClient, node: str, group: str) -> list[str]:
        found: list[str] = []
        query: dict[str, Any] = {"session": group, "limit": PAGE_RUNS}
        for _ in range(PAGES_MAX):
            body = _json(await _send(http, "GET", f"{node}/runs", query=query))
            found += [run["id"] for run in body["runs"]]
            if body.get("cursor") is None:
                return found
            query["cursor"] = body["cursor"]
        raise Unavailable(f"more than {PAGES_MAX} pages of runs")

    def other_work(self, work: Work) -> Work:
        return replace(work, request={**work.request, "input": "text 1"})

    def asks(self, event: Event) -> bool:
        return event.type == "run.paused"

    def text_number(self, event: Event) -> int | None:
        if event.type != "text.delta":
            return None
        head, bracket, _ = _data(event)["text"].partition("]")
        return int(head[1:]) if bracket and head[1:].isdigit() else None

    def outcome_of(self, event: Event) -> str | None:
        if event.type not in TERMINAL:
            return None
        return _outcome(event.type.removeprefix("run."), _data(event).get("error"))

    def attempt_of(self, event: Event) -> int | None:
        return _data(event)["attempt"] if event.type == "run.started" else None

    def standing_numbers(self, log: Sequence[Event]) -> list[int]:
        retracted: set[int] = set()
        for event in log:
            if event.type == "attempt.discarded":
                retracted.update(range(_data(event)["from"], event.index))
        numbers = [self.text_number(event) for event in log if event.index not in retracted]
        return [number for number in numbers if number is not None]


def _data(event: Event) -> dict[str, Any]:
    frame = sse.parse(event.raw)
    assert frame is not None
    return json.loads(frame.data)["data"]


def _outcome(status: str, error: dict[str, Any] | None) -> str:
    return f"failed:{error['code']}" if status == "failed" and error else status


async def _send(
    http: httpx.AsyncClient,
    method: str,
    url: str,
    body: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
    query: dict[str, Any] | None = None,
) -> httpx.Response:
    return await http.request(method, url, json=body, headers=headers, params=query)


def _json(response: httpx.Response) -> dict[str, Any]:
    if response.status_code >= 300:
        _refuse(response)
    return response.json()


def _refuse(response: httpx.Response) -> None:
    code = _code(response)
    if response.status_code == 404:
        raise Missing
    if code in REFUSALS:
        raise CursorRefused(code)
    raise Unavailable(f"{response.status_code} {code}: {response.text[:300]}")


def _code(response: httpx.Response) -> str:
    try:
        return str(response.json()["type"]).rpartition(":")[2]
    except (ValueError, KeyError, TypeError):
        return "no problem JSON"
