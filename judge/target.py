"""Profile of a server: one class for each kind of server."""
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import httpx


class Unavailable(Exception):
    """No usable response: the same request may succeed later, or on another node."""


class Missing(Exception):
    """The server says that there is no such run."""


class CursorRefused(Exception):
    """The server says that its log does not hold the event that the cursor names."""


class NothingMore(Exception):
    """The server says that the run has ended and that the cursor is its last event."""


class Conflict(Exception):
    """The server says that the idempotency key belongs to another request."""


@dataclass(frozen=True)
class Work:
    """A run to start, and its acceptable outcomes."""

    request: dict[str, Any]
    """Acceptable outcomes of this request, such as `completed`."""
    outcomes: frozenset[str]
    """Numbered texts that a completed run must have delivered: 0, 1, 2 … without a gap or a repeat."""
    texts: int
    """Outcomes that are acceptable only if the worker of the run may have died, such as `failed:interrupted`."""
    outcomes_of_death: frozenset[str] = frozenset()
    """The client answers when the run asks."""
    answers: bool = False
    """The client stops the run when it sees this numbered text."""
    stops_at: int | None = None


@dataclass(frozen=True)
class Event:
    run: str
    index: int
    type: str
    """The raw bytes."""
    raw: bytes


class Target(Protocol):
    """Any request may raise `Unavailable`, and any request about a run may raise `Missing`."""

    name: str

    def draw_work(self, random: Random, long_s: int) -> Work:
        """`long_s`: some runs last for so many seconds, silent or slow; 0 for none."""

    async def start(self, http: httpx.AsyncClient, node: str, work: Work, key: str, group: str) -> str:
        """Returns the run's id. Raises `Conflict` if the key was used with another request."""

    def events(self, http: httpx.AsyncClient, node: str, run: str, after: int) -> AsyncIterator[Event]:
        """Streams what follows an index, -1 for everything; ends when the server ends the stream."""

    async def answer(self, http: httpx.AsyncClient, node: str, run: str) -> None: ...

    async def stop(self, http: httpx.AsyncClient, node: str, run: str) -> None: ...

    async def outcome(self, http: httpx.AsyncClient, node: str, run: str) -> str:
        """The status that the server reports besides the log: an outcome, `running` or the like."""

    async def list_runs(self, http: httpx.AsyncClient, node: str, group: str) -> list[str]: ...

    def other_work(self, work: Work) -> Work:
        """The same key with another body."""

    def asks(self, event: Event) -> bool: ...

    def text_number(self, event: Event) -> int | None:
        """The number in a numbered text."""

    def outcome_of(self, event: Event) -> str | None:
        """The outcome that a terminal event states; None for any other event."""

    def attempt_of(self, event: Event) -> int | None:
        """The number of the attempt that the event begins, 1 for the first; None for any other event."""

    def standing_numbers(self, log: Sequence[Event]) -> list[int]:
        """Numbers of the texts that no later event retracts."""
