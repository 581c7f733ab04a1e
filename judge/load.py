"""Clients that start runs and follow them to their end, whatever happens to their connections."""
import asyncio
import json
from dataclasses import dataclass, field
from random import Random

import httpx

from .history import History
from .target import Conflict, CursorRefused, Event, Missing, NothingMore, Target, Unavailable, Work

# Idle timeout after which a connection counts as dead. Servers must send heartbeats more often.
SILENCE_S = 15.0
RETRY_S = 0.2
WATCHED_SHARE = 0.3
DOUBLED_SHARE = 0.1
CONNECTION_FAULTS = (Unavailable, httpx.HTTPError, httpx.StreamError, ValueError, KeyError, json.JSONDecodeError)


def open_http(connections: int) -> httpx.AsyncClient:
    """Opens a connection per request: a broken one must not be reused."""
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=0)
    timeout = httpx.Timeout(SILENCE_S, connect=5.0, pool=60.0)
    return httpx.AsyncClient(timeout=timeout, limits=limits, trust_env=False)


@dataclass
class Started:
    """A run that the server has accepted."""

    key: str
    run: str
    work: Work
    ended: bool = False
    """The highest index that a follower has seen."""
    cursor: int = -1


@dataclass
class Load:
    target: Target
    nodes: list[str]
    http: httpx.AsyncClient
    history: History
    random: Random
    group: str
    runs_max: int
    long_s: int
    started: list[Started] = field(default_factory=list)
    finishing: bool = False
    _keys: int = 0
    _readers: int = 0

    async def client(self) -> None:
        """Starts one run after the other until the load is to finish."""
        while not self.finishing and self._keys < self.runs_max:
            self._keys += 1
            key = f"{self.group}-{self._keys}"
            work = self.target.draw_work(self.random, self.long_s)
            run = Started(key, await self._start(key, work), work)
            self.started.append(run)
            if len(self.nodes) > 1 and self.random.random() < WATCHED_SHARE:
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._follow(run, acts=True))
                    both.create_task(self._follow(run, acts=False))
            else:
                await self._follow(run, acts=True)
            run.ended = True

    async def _start(self, key: str, work: Work) -> str:
        """Repeats the start until it is accepted; now and then twice at the same time."""
        self.history.record(
            "start",
            key=key,
            request=work.request,
            outcomes=sorted(work.outcomes),
            outcomes_of_death=sorted(work.outcomes_of_death),
            texts=work.texts,
        )
        while True:
            attempts = 2 if self.random.random() < DOUBLED_SHARE else 1
            tries = [self.try_start(key, work, self.random.choice(self.nodes)) for _ in range(attempts)]
            accepted = [run for run in await asyncio.gather(*tries) if run is not None]
            if accepted:
                return accepted[0]
            await asyncio.sleep(RETRY_S)

    async def try_start(self, key: str, work: Work, node: str) -> str | None:
        try:
            run = await self.target.start(self.http, node, work, key, self.group)
        except Conflict:
            self.history.record("conflict", key=key, node=node)
            return None
        except (Missing, *CONNECTION_FAULTS) as cause:
            self.history.record("unavailable", what=f"start {key}", node=node, cause=describe(cause))
            return None
        self.history.record("accepted", key=key, run=run, node=node)
        return run

    def new_reader(self, name: str) -> str:
        self._readers += 1
        return f"{name}-{self._readers}"

    async def _follow(self, run: Started, *, acts: bool) -> None:
        """Reads to the terminal event, over as many connections as it takes. `acts`: answers and stops the run too."""
        reader = self.new_reader("reader")
        cursor = -1
        deeds: list[asyncio.Task[None]] = []
        while True:
            node = self.random.choice(self.nodes)
            try:
                async for event in self.open(reader, run.run, node, cursor):
                    cursor = max(cursor, event.index)
                    run.cursor = max(run.cursor, cursor)
                    if acts:
                        deeds += self._react(run, event)
                    if self.target.outcome_of(event) is not None:
                        self.history.record("ended", reader=reader, run=run.run)
                        await asyncio.gather(*deeds)
                        return
            except NothingMore:
                return
            except (Missing, CursorRefused, *CONNECTION_FAULTS):
                pass
            await asyncio.sleep(RETRY_S)

    async def open(self, reader: str, run: str, node: str, cursor: int):
        """Reads one connection; records everything received, and how it ended."""
        self.history.record("open", reader=reader, run=run, node=node, after=cursor)
        try:
            async for event in self.target.events(self.http, node, run, cursor):
                self.history.event(reader, run, event)
                yield event
        except Missing:
            self.history.record("missing", run=run, node=node)
            raise
        except CursorRefused as cause:
            self.history.record("refused", run=run, node=node, after=cursor, cause=str(cause))
            raise
        except NothingMore:
            self.history.record("nothing_more", run=run, node=node, after=cursor)
            raise
        except CONNECTION_FAULTS as cause:
            self.history.record("broken", reader=reader, node=node, cause=describe(cause))
            raise

    def _react(self, run: Started, event: Event) -> list[asyncio.Task[None]]:
        if run.work.answers and self.target.asks(event):
            return [asyncio.create_task(self._insist("answer", run.run))]
        if run.work.stops_at is not None and self.target.text_number(event) == run.work.stops_at:
            return [asyncio.create_task(self._insist("stop", run.run))]
        return []

    async def _insist(self, deed: str, run: str) -> None:
        """Sends a command until a node accepts it, or the run has ended."""
        while True:
            node = self.random.choice(self.nodes)
            try:
                if deed == "answer":
                    await self.target.answer(self.http, node, run)
                else:
                    await self.target.stop(self.http, node, run)
                self.history.record(deed, run=run, node=node)
                return
            except (Missing, *CONNECTION_FAULTS) as cause:
                self.history.record("unavailable", what=f"{deed} {run}", node=node, cause=describe(cause))
            await asyncio.sleep(RETRY_S)


def describe(cause: BaseException) -> str:
    return f"{type(cause).__name__}: {cause}"[:300]
