"""`python -m judge.peers.bench --profile NAME --command JSON`: CPU, memory and time of a peer's server, one line of JSON for each figure."""
import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import monotonic

import httpx

from .client import ask, read
from .faults import World
from .model import Model
from .profile import Profile, Reading
from .profiles import PROFILES
from .server import Server

RUNS = 100
WORDS = 100
LONG = 10_000
VIEWERS = 50
IDLE = 100
REPEATS = 5
STREAM_S = 120.0
FIGURES = (
    "first_word_ms",
    "words_per_cpu_second",
    "fan_out_words_per_cpu_second",
    "long_run_words_per_cpu_second",
    "catch_up_ms",
    "late_viewer_ms",
    "idle_viewer_kb",
)


class Incomplete(Exception):
    """A client did not get every word, so the figure cannot be compared."""


class Bench:
    def __init__(self, server: Server, profile: Profile, http: httpx.AsyncClient) -> None:
        self.server = server
        self.profile = profile
        self.world = World(http, server, profile)
        self._long: Reading | None = None

    async def _run(self, script: str, reading: Reading | None = None) -> Reading:
        reading, how = await self.world.begin(script, None, reading)
        expected = int(script.split()[1])
        if len(reading.words) != expected:
            raise Incomplete(f"{len(reading.words)} of {expected} words, {reading.end or how}")
        return reading

    async def first_word_ms(self) -> float:
        """From the request to the first word, one run at a time."""
        return median([await self._first_word() for _ in range(REPEATS * 2)]) * 1000

    async def _first_word(self) -> float:
        since = monotonic()
        await self.world.begin("words 3 every 0", 1)
        return monotonic() - since

    async def words_per_cpu_second(self) -> float:
        """100 runs at once, a viewer each."""
        await asyncio.gather(*[self._run(f"words {WORDS} every 0") for _ in range(10)])
        before = self.server.cpu_seconds()
        await asyncio.gather(*[self._run(f"words {WORDS} every 0") for _ in range(RUNS)])
        return RUNS * WORDS / (self.server.cpu_seconds() - before)

    async def fan_out_words_per_cpu_second(self) -> float | None:
        """One run, 50 viewers that join at its beginning."""
        first = Reading()
        before = self.server.cpu_seconds()
        run = asyncio.create_task(self._run(f"words {WORDS * 5} every 4", first))
        while not first.words and not run.done():
            await asyncio.sleep(0.005)
        if self.profile.watch(first) is None:
            await run
            return None
        viewers = [self._watch(first, WORDS * 5) for _ in range(VIEWERS - 1)]
        await asyncio.gather(run, *viewers)
        return VIEWERS * WORDS * 5 / (self.server.cpu_seconds() - before)

    async def _watch(self, first: Reading, expected: int) -> Reading:
        request = self.profile.watch(first)
        assert request is not None
        reading = Reading(handle=dict(first.handle))
        how = await read(self.world.http, self.server.url, self.profile, request, reading)
        if len(set(reading.words)) != expected:
            raise Incomplete(f"a viewer got {len(set(reading.words))} of {expected} words, {reading.end or how}")
        return reading

    async def long_run_words_per_cpu_second(self) -> float:
        """One run of 10,000 words."""
        before = self.server.cpu_seconds()
        self._long = await self._run(f"words {LONG} every 0")
        return LONG / (self.server.cpu_seconds() - before)

    async def catch_up_ms(self) -> float | None:
        """The same run, which has ended, read from its beginning: CPU of the server."""
        reading = self._long
        if reading is None or self.profile.watch(reading) is None:
            return None
        await self._read_ended(reading)
        before = self.server.cpu_seconds()
        for _ in range(REPEATS):
            await self._read_ended(reading)
        return (self.server.cpu_seconds() - before) / REPEATS * 1000

    async def _read_ended(self, run: Reading) -> None:
        if self.profile.streams_ended:
            await self._watch(run, LONG)
            return
        request = self.profile.result(run)
        assert request is not None
        reading = Reading(handle=dict(run.handle))
        self.profile.read_result(await ask(self.world.http, self.server.url, request), reading)
        if len(set(reading.words)) != LONG:
            raise Incomplete(f"the result has {len(set(reading.words))} of {LONG} words")

    async def late_viewer_ms(self) -> float | None:
        """A run that has 10,000 words and goes on, read from its beginning by a viewer that joins: CPU of the server."""
        first = Reading()
        run = asyncio.create_task(self.world.begin(f"hold {LONG} every 0", None, first))
        try:
            while len(first.words) < LONG:
                if run.done():
                    raise Incomplete(f"{len(first.words)} of {LONG} words, {first.end or run.result()[1]}")
                await asyncio.sleep(0.05)
            if self.profile.watch(first) is None:
                return None
            await self._join(first)
            before = self.server.cpu_seconds()
            for _ in range(REPEATS):
                await self._join(first)
            return (self.server.cpu_seconds() - before) / REPEATS * 1000
        finally:
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)

    async def _join(self, first: Reading) -> None:
        request = self.profile.watch(first)
        assert request is not None
        reading = Reading(handle=dict(first.handle))
        how = await read(
            self.world.http, self.server.url, self.profile, request, reading, lambda seen: len(seen.words) >= LONG
        )
        if reading.words != list(range(LONG)):
            raise Incomplete(f"a viewer that joins got {len(reading.words)} of {LONG} words, {reading.end or how}")

    async def idle_viewer_kb(self) -> float:
        """Memory of a viewer whose run is silent; each has a run of its own."""
        before = self.server.memory_bytes()
        readings = [Reading() for _ in range(IDLE)]
        viewers = [asyncio.create_task(self.world.begin("words 2 every 600000", None, reading)) for reading in readings]
        while not all(reading.words for reading in readings):
            if any(viewer.done() for viewer in viewers):
                raise Incomplete("a viewer left")
            await asyncio.sleep(0.05)
        grown = self.server.memory_bytes() - before
        for viewer in viewers:
            viewer.cancel()
        await asyncio.gather(*viewers, return_exceptions=True)
        return grown / IDLE / 1024


async def main() -> int:
    parser = argparse.ArgumentParser(prog="judge.peers.bench", description=__doc__)
    parser.add_argument("--profile", choices=sorted(PROFILES), required=True)
    parser.add_argument("--command", required=True)
    args = parser.parse_args()
    profile = PROFILES[args.profile]
    model = Model()
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        server = Server.of(json.loads(args.command), profile, await model.open(), folder, Path(folder) / "server.log")
        since = monotonic()
        try:
            await server.start()
            tell("start_ms", (monotonic() - since) * 1000)
            limits = httpx.Limits(max_connections=RUNS * 2, max_keepalive_connections=0)
            timeout = httpx.Timeout(STREAM_S, connect=30.0)
            async with httpx.AsyncClient(timeout=timeout, limits=limits, trust_env=False) as http:
                bench = Bench(server, profile, http)
                for figure in FIGURES:
                    try:
                        async with asyncio.timeout(STREAM_S):
                            tell(figure, await getattr(bench, figure)())
                    except (Incomplete, TimeoutError, KeyError) as cause:
                        tell(figure, None, f"{cause}" or "no end")
                tell("memory_mb", server.memory_bytes() / 2**20)
        finally:
            await server.kill()
            model.close()
    return 0


def tell(figure: str, value: float | None, problem: str | None = None) -> None:
    print(json.dumps({"figure": figure, "value": value, **({} if problem is None else {"problem": problem})}), flush=True)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
