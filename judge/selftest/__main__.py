"""Judges all broken servers concurrently, and prints one line of JSON for each: the violations found, and those expected."""
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

from ..campaign import Options, run_campaign
from ..target import Work
from ..targets import TARGETS
from ..targets.holdfast import Holdfast
from .broken_server import TEXTS, BrokenServer

# Each defect with the verdicts that must be red; all others must be green.
EXPECTED: dict[str, set[str]] = {
    "none": set(),
    "drops an event": {"LOG-1", "RUN-3"},
    "repeats an event": {"LOG-1"},
    "changes an event": {"LOG-1", "LOG-5"},
    "writes other bytes": {"LOG-5"},
    "takes back": {"LOG-2", "RUN-1", "RUN-3"},
    "loses a start": {"LOG-2", "RUN-1"},
    "ends twice": {"LOG-3"},
    "goes on after the end": {"LOG-3"},
    "never ends": {"RUN-1", "RUN-3"},
    "completes without the work": {"RUN-3"},
    "lies about the outcome": {"RUN-3"},
    "starts twice": {"RUN-1", "RUN-4"},
    "takes any body": {"RUN-4"},
    "mixes runs": {"LOG-1", "RUN-3", "STO-2"},
    "interrupts in an outage": {"RUN-3"},
    "attempts again in an outage": {"RUN-3"},
    "interrupts after a death": set(),
    "attempts again after a death": set(),
}


class Simple(Holdfast):
    """The broken servers do one kind of work."""

    name = "selftest"

    def draw_work(self, random: Random, long_s: int) -> Work:
        request = {"component": "lab", "input": f"text {TEXTS}"}
        return Work(request, frozenset({"completed"}), TEXTS, frozenset({"failed:interrupted"}))


async def fault_of(defect: str) -> AsyncIterator[str]:
    """One fault for as long as there is load: one that ends workers, or one that ends none."""
    yield "fault kill" if defect.endswith("after a death") else "outage crash"
    await asyncio.Event().wait()


async def examine(defect: str, folder: Path) -> bool:
    with BrokenServer(defect) as server:
        options = Options(
            target=Simple.name,
            nodes=[server.url],
            history=folder / f"{defect}.jsonl",
            clients=2,
            runs_max=4,
            seconds=1,
            # Timeout of runs that never end: long enough to detect every other violation on a busy machine.
            bound_s=12 if "RUN-1" in EXPECTED[defect] else 60,
            seed=1,
            told=True,
        )
        verdict = await run_campaign(options, fault_of(defect))
    red = {name for name, found in verdict.violations.items() if found}
    passed = red == EXPECTED[defect] and verdict.runs > 0
    result = {"defect": defect, "passed": passed, "red": sorted(red), "expected": sorted(EXPECTED[defect])}
    print(json.dumps({**result, "examples": verdict.as_json()["examples"]}), flush=True)
    return passed


async def main() -> int:
    TARGETS[Simple.name] = Simple()
    with tempfile.TemporaryDirectory(prefix="judge-selftest-") as folder:
        passed = await asyncio.gather(*(examine(defect, Path(folder)) for defect in EXPECTED))
    return 0 if all(passed) else 1


sys.exit(asyncio.run(main()))
