"""One campaign: load, faults that somebody else injects, an audit, and the verdict."""
import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from .audit import audit
from .history import History
from .load import Load, open_http
from .targets import TARGETS
from .verdict import Verdict, judge

LINE_BYTES_MAX = 1000


@dataclass(frozen=True)
class Options:
    target: str
    nodes: list[str]
    history: Path
    clients: int
    """Runs in all; a bound for the history."""
    runs_max: int
    """How long runs are started, unless `finish` is read first."""
    seconds: float
    """A run must end within this time after its start and after the faults are over."""
    bound_s: float
    seed: int
    """Half of the runs last for so many seconds; 0 for none."""
    long_s: int = 0
    """Every fault is announced by a command, so anything that happens without one is caused by the server."""
    told: bool = False


async def run_campaign(options: Options, commands: AsyncIterator[str]) -> Verdict:
    """
    `commands`: `fault NAME`, `outage NAME` and `healed` are recorded, `finish` ends the load. An outage is a fault of the store that
    ends no worker and that the server promises to survive: no run may be interrupted or attempted again because of it.
    """
    history = History(options.history)
    random = Random(options.seed)
    group = f"judge-{random.getrandbits(48):012x}-{os.getpid()}"
    history.record(
        "campaign",
        target=options.target,
        nodes=options.nodes,
        bound_s=options.bound_s,
        seed=options.seed,
        told=options.told,
    )
    # Two readers and two commands for each client, and the audit.
    async with open_http(options.clients * 4 + 32) as http:
        load = Load(TARGETS[options.target], options.nodes, http, history, random, group, options.runs_max, options.long_s)
        clients = [asyncio.create_task(load.client()) for _ in range(options.clients)]
        try:
            async with asyncio.timeout(options.seconds):
                await _obey(commands, history)
        except TimeoutError:
            history.record("timeout")
        load.finishing = True
        finished, late = await asyncio.wait(clients, timeout=options.bound_s)
        history.record("load_over", late=len(late))
        for client in late:
            client.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        for client in finished:
            client.result()  # re-raises errors of the judge itself
        await audit(load, options.bound_s)
    history.close()
    return judge(options.history)


async def _obey(commands: AsyncIterator[str], history: History) -> None:
    async for line in commands:
        command, _, name = line.partition(" ")
        if command == "finish":
            return
        if command in ("fault", "outage", "healed"):
            history.record(command, name=name)
    await asyncio.Event().wait()  # without commands, the time limit ends the load


async def stdin_lines() -> AsyncIterator[str]:
    reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.decode().strip()


async def no_commands() -> AsyncIterator[str]:
    for line in ():
        yield line
