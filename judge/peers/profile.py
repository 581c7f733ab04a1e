"""Profile of a peer: the documented requests with which a client starts, resumes and gets a run."""
import re
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..sse import Frame

_WORD = re.compile(r"w(\d+)(?= |$)")


@dataclass(frozen=True)
class Request:
    path: str
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    json: dict[str, Any] | None = None
    form: dict[str, str] | None = None


@dataclass
class Reading:
    """
    What one client has on its screen. `end`: how the server says that the run ended, `completed` or `failed`; None while it says nothing.
    `refusal`: the server's error instead of a stream or a run. `handle`: what the profile keeps for coming back, such as a run's id or a cursor.
    """

    words: list[int] = field(default_factory=list)
    end: str | None = None
    refusal: str | None = None
    handle: dict[str, Any] = field(default_factory=dict)

    def add_text(self, text: Any) -> None:
        if isinstance(text, str):
            self.words += [int(number) for number in _WORD.findall(text)]

    def set_text(self, text: str) -> None:
        """For a server that sends the whole text so far."""
        self.words = []
        self.add_text(text)


class Profile(Protocol):
    name: str
    """A path that responds once the server is ready."""
    ready: str
    """Resuming sends the run from its beginning; otherwise only what follows the cursor in the handle."""
    replays: bool
    """How the server's own clients interpret a clean end of the stream without an outcome; None if they do not."""
    end_of_stream: str | None
    """Whether a run that has ended can still be streamed; otherwise clients ask for its result."""
    streams_ended: bool

    def prepare(self, script: str) -> Request | None:
        """A request before the start whose JSON goes to `prepared`, such as one that creates a thread; None for most."""

    def prepared(self, body: Any, reading: Reading) -> None: ...

    def start(self, script: str, reading: Reading) -> Request: ...

    def read(self, frame: Frame, reading: Reading) -> None: ...

    def resume(self, reading: Reading) -> Request | None:
        """None if the server has no documented way back to a stream."""

    def watch(self, reading: Reading) -> Request | None:
        """How a second client follows the same run from its beginning."""

    def result(self, reading: Reading) -> Request | None:
        """Request for the run without its stream; None if the server has none."""

    def read_result(self, body: Any, reading: Reading) -> None: ...


class Defaults:
    """For features that a profile does not have."""

    end_of_stream: str | None = None
    streams_ended = True

    def prepare(self, script: str) -> Request | None:
        return None

    def prepared(self, body: Any, reading: Reading) -> None:
        return

    def resume(self, reading: Reading) -> Request | None:
        return None

    def watch(self, reading: Reading) -> Request | None:
        return self.resume(Reading(handle={**reading.handle, "cursor": None}))

    def result(self, reading: Reading) -> Request | None:
        return None

    def read_result(self, body: Any, reading: Reading) -> None:
        return
