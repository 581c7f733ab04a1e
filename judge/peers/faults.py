"""The faults, each with what the client shows afterwards."""
import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx

from .client import ask, read
from .profile import Profile, Reading
from .server import Server

WORDS = 40
EVERY_MS = 100
LEAVE_AT = 10
FROZEN_S = 5.0
# Longer than the whole run.
AWAY_S = WORDS * EVERY_MS / 1000 + 3
# Time that a server may need after a restart before it can report a run.
ASK_AGAIN_S = 30.0


@dataclass(frozen=True)
class Outcome:
    """
    `ok`: every word once, and the true end. `honest`: less than that, and the server says so. `lost`: the client cannot get what is missing.
    `doubled`: words come twice. `lied`: an incomplete answer is called complete. `hung`: neither words nor an end.
    """

    verdict: str
    words: int
    """The outcome that the client sees."""
    said: str


@dataclass
class World:
    http: httpx.AsyncClient
    server: Server
    profile: Profile

    async def begin(self, script: str, leave_at: int | None = None, reading: Reading | None = None) -> tuple[Reading, str]:
        reading = Reading() if reading is None else reading
        prepare = self.profile.prepare(script)
        if prepare is not None:
            self.profile.prepared(await ask(self.http, self.server.url, prepare), reading)
        request = self.profile.start(script, reading)
        how = await read(self.http, self.server.url, self.profile, request, reading, _at(leave_at))
        return reading, how

    async def come_back(self, reading: Reading) -> str:
        """Resumes as documented. A replay replaces the client's words; without one, the client keeps them."""
        request = self.profile.resume(reading)
        if request is None:
            return "no way back"
        shown = reading.words
        reading.refusal = None
        if self.profile.replays:
            reading.words = []
        how = await read(self.http, self.server.url, self.profile, request, reading)
        if not reading.words:
            reading.words = shown
        return how

    async def ask_for_result(self, reading: Reading) -> str:
        """Reads until the server reports an outcome, or the timeout."""
        request = self.profile.result(reading)
        if request is None:
            return "cannot be asked"
        deadline = asyncio.get_running_loop().time() + ASK_AGAIN_S
        while asyncio.get_running_loop().time() < deadline:
            body = await ask(self.http, self.server.url, request)
            if body is None:
                return "not found"
            reading.refusal = None
            self.profile.read_result(body, reading)
            if reading.refusal is not None:
                return "not found"
            if reading.end is not None:
                return "said"
            await asyncio.sleep(0.5)
        return "never ends"


def _at(count: int | None) -> Callable[[Reading], bool]:
    return lambda reading: count is not None and len(reading.words) >= count


def _script(kind: str = "words", count: int = WORDS) -> str:
    return f"{kind} {count} every {EVERY_MS}"


def _judge(reading: Reading, how: str, whole: int = WORDS) -> Outcome:
    numbers = reading.words
    said = reading.end if reading.end is not None else how
    count = len(set(numbers))
    if len(numbers) > count:
        return Outcome("doubled", count, said)
    complete = numbers == list(range(whole))
    if reading.end == "completed":
        return Outcome("ok" if complete else "lied", count, said)
    if reading.end == "failed":
        return Outcome("honest", count, said)
    return Outcome("hung" if how in ("silence", "never ends") else "lost", count, said)


async def undisturbed(world: World) -> Outcome:
    return _judge(*await world.begin(_script()))


async def reload(world: World) -> Outcome:
    reading, _ = await world.begin(_script(), LEAVE_AT)
    return _judge(reading, await world.come_back(reading))


async def away(world: World) -> Outcome:
    """The page was closed until the run had ended."""
    reading, _ = await world.begin(_script(), LEAVE_AT)
    await asyncio.sleep(AWAY_S)
    return _judge(reading, await _return(world, reading, "left"))


async def _instead(world: World, reading: Reading, how: str) -> str:
    asked = await world.ask_for_result(reading)
    return how if asked in ("cannot be asked", "not found") else asked


async def second_viewer(world: World) -> Outcome:
    """Returns the words of the second client; the first keeps reading."""
    first = Reading()
    reading_first = asyncio.create_task(world.begin(_script(), None, first))
    while len(first.words) < LEAVE_AT and not reading_first.done():
        await asyncio.sleep(0.02)
    second = Reading(handle=dict(first.handle))
    request = world.profile.watch(first)
    how = "no way to join"
    if request is not None:
        how = await read(world.http, world.server.url, world.profile, request, second)
    await reading_first
    return _judge(second, how)


async def model_dies(world: World) -> Outcome:
    """A complete response is impossible: a server that reports `completed` reports a crash as success."""
    reading, how = await world.begin(_script("cut", LEAVE_AT))
    return _judge(reading, await _return(world, reading, how), whole=-1)


async def frozen(world: World) -> Outcome:
    return await _during(world, _freeze)


async def _freeze(world: World) -> None:
    world.server.freeze()
    await asyncio.sleep(FROZEN_S)
    world.server.thaw()


async def killed(world: World) -> Outcome:
    """`kill -9` of the server, and its restart on the same data."""
    return await _during(world, _kill)


async def _kill(world: World) -> None:
    await world.server.kill()
    await world.server.start()


async def _during(world: World, fault: Callable[[World], Awaitable[None]]) -> Outcome:
    reading = Reading()
    task = asyncio.create_task(world.begin(_script(), None, reading))
    while len(reading.words) < LEAVE_AT and not task.done():
        await asyncio.sleep(0.02)
    await fault(world)
    _, how = await task
    return _judge(reading, await _return(world, reading, how))


async def _return(world: World, reading: Reading, how: str) -> str:
    """A client whose connection ended without an outcome reconnects, and gets the run if that returns none."""
    if reading.end is None:
        how = await world.come_back(reading)
    if reading.end is None:
        how = await _instead(world, reading, how)
    return how


FAULTS: dict[str, Callable[[World], Awaitable[Outcome]]] = {
    "none": undisturbed,
    "the page is reloaded midway": reload,
    "the page is opened again after the run": away,
    "a second viewer joins midway": second_viewer,
    "the model's connection breaks midway": model_dies,
    "the server is frozen for 5 s": frozen,
    "`kill -9` of the server midway, and restart": killed,
}
