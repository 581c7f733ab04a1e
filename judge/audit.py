"""The audit after the faults: reads every run again, from every node, and repeats every start."""
import asyncio

from .load import CONNECTION_FAULTS, RETRY_S, Load, Started, describe
from .target import Conflict, CursorRefused, Missing, NothingMore

AT_ONCE = 8
READ_S = 60
MOMENT_S = 2


async def audit(load: Load, within_s: float) -> None:
    """A run without a response in time is recorded as unreadable."""
    free = asyncio.Semaphore(AT_ONCE)
    deadline = load.history.now() + within_s

    async def one(run: Started, node: str) -> None:
        async with free:
            await _insist(load, f"replay of {run.run}", run.run, node, deadline, lambda: _replay(load, run, node, -1))
            await _insist(load, f"outcome of {run.run}", run.run, node, deadline, lambda: _outcome(load, run, node))

    async def once(run: Started) -> None:
        async with free:
            node = load.random.choice(load.nodes)
            # An event that a client has seen, before the last one: the last one may return nothing more.
            cursor = load.random.randrange(-1, max(run.cursor, 0))
            await _insist(load, f"resume of {run.run}", run.run, node, deadline, lambda: _replay(load, run, node, cursor))
            await _insist(load, f"repeated start {run.key}", run.run, node, deadline, lambda: _repeat(load, run, node))

    async with asyncio.TaskGroup() as group:
        for run in load.started:
            group.create_task(once(run))
            for node in load.nodes:
                group.create_task(one(run, node))
    for node in load.nodes:
        await _insist(load, "list of runs", None, node, deadline, lambda node=node: _list(load, node))


async def _insist(load: Load, what: str, run: str | None, node: str, deadline: float, attempt) -> None:
    while True:
        try:
            await attempt()
            return
        except (Missing, CursorRefused, NothingMore):
            return  # recorded, and final
        except (*CONNECTION_FAULTS, TimeoutError) as cause:
            if load.history.now() > deadline:
                load.history.record("unreadable", what=what, run=run, node=node, cause=describe(cause))
                return
        await asyncio.sleep(RETRY_S)


async def _replay(load: Load, run: Started, node: str, after: int) -> None:
    """A run that has not ended streams on: what it has so far is read for a moment only."""
    reader = load.new_reader("audit")
    terminal = False
    try:
        async with asyncio.timeout(READ_S if run.ended else MOMENT_S):
            async for event in load.open(reader, run.run, node, after):
                terminal = terminal or load.target.outcome_of(event) is not None
    except TimeoutError:
        if run.ended:
            raise
        return
    if run.ended and not terminal:
        raise ValueError("the stream of a run that has ended stopped before its terminal event")
    load.history.record("replayed", reader=reader, run=run.run, node=node, after=after)


async def _outcome(load: Load, run: Started, node: str) -> None:
    try:
        outcome = await load.target.outcome(load.http, node, run.run)
    except Missing:
        load.history.record("missing", run=run.run, node=node)
        raise
    load.history.record("outcome", run=run.run, node=node, outcome=outcome)


async def _repeat(load: Load, run: Started, node: str) -> None:
    try:
        again = await load.target.start(load.http, node, run.work, run.key, load.group)
        load.history.record("accepted", key=run.key, run=again, node=node)
    except Conflict:
        load.history.record("conflict", key=run.key, node=node)
    try:
        other = await load.target.start(load.http, node, load.target.other_work(run.work), run.key, load.group)
        load.history.record("no_conflict", key=run.key, run=other, node=node)
    except Conflict:
        return


async def _list(load: Load, node: str) -> None:
    load.history.record("listed", node=node, runs=await load.target.list_runs(load.http, node, load.group))
