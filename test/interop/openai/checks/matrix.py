"""Each way to ask × each way to end: failures raise in every client, successes in none, and the text is the log's."""

import asyncio
from dataclasses import dataclass

from .either import CLIENTS, call
from .resume import check_resume
from .ways import SUCCESS, WAYS, Asked
from .world import expect, failed, passed

# Shorter than the silence of the server, and much longer than a heartbeat: without those, a stream is given up.
PATIENCE_SECONDS = 4


@dataclass
class Case:
    name: str
    input: str
    fails: bool = False
    model: str = "lab"
    # Stopped by somebody else, as soon as it has said something.
    stopped: bool = False
    split: bool = False
    impatient: bool = False


CASES = [
    Case("success", "text 3; sleep 5; usage 3 4; text 3"),
    Case("reasoning and tools", "reason 2; text 2; tool search; text 2"),
    Case("a throw before the first token", "throw boom", fails=True),
    Case("a throw midway", "text 3; throw boom", fails=True),
    Case("something unserializable midway", "text 3; circular; text 2", fails=True),
    Case("a rejection", "text 1; reject not this", fails=True),
    Case("a stop", "text 3; hang", fails=True, stopped=True),
    Case("a deadline", "text 3; hang", fails=True, model="lab-hurried"),
    Case("long silence with heartbeats", "sleep 5000; text 2; sleep 5000; text 1", impatient=True),
    Case("unicode split over chunks", 'say "dünen 🌊 und 海藻"; say " é🏴‍☠️"', split=True),
]


async def check_matrix(world):
    for case in CASES:
        stopping = asyncio.create_task(stop_all(world)) if case.stopped else None
        asked = Asked(case.model, case.input)
        ways = [check(world, case, asked, kind, way) for kind in CLIENTS for way in WAYS]
        await asyncio.gather(*ways, *(check_resume(world, case, kind) for kind in CLIENTS))
        if stopping is not None:
            stopping.cancel()


async def check(world, case, asked, kind, way):
    title = f"{case.name}: {kind}, {way.name}"
    patience = {"timeout": PATIENCE_SECONDS} if case.impatient and way.streams else {}
    client = world.client(kind, world.relay if case.split else None, **patience)
    got = await way.ask(client, asked)
    try:
        if case.fails:
            expect(got.raised is not None, f"nothing was raised; it ended with {got.finish}")
            expect(got.finish not in SUCCESS, f"it raised {got.raised!r}, but ended with {got.finish}")
        else:
            expect(got.raised is None, f"raised {got.raised!r}")
            expect(got.finish in SUCCESS, f"ended with {got.finish}")
        # What came before a failure is not lost to those who watched.
        logged = await world.text(got.run) if way.streams or got.text else ""
        expect(got.text == logged, f"the text is {got.text!r}, and that of the log {logged!r}")
        passed(title)
    except Exception as problem:
        failed(title, problem)
    finally:
        await call(client.close)


async def stop_all(world):
    """Whatever has said something, until this is cancelled."""
    while True:
        for run in await world.runs():
            if run["status"] == "running" and run["events"] >= 5:
                await world.stop(run["id"])
        await asyncio.sleep(0.05)
