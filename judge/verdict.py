"""Verdicts from a history file alone, one for each invariant."""
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from . import history
from .sse import parse
from .target import Event, Target
from .targets import TARGETS

INVARIANTS = {
    "LOG-1": "events are numbered without a gap or a repeat and never change",
    "LOG-2": "nothing that a client has seen is taken back",
    "LOG-3": "one terminal event, and it is the last",
    "LOG-5": "the same bytes live, on replay and on every node",
    "RUN-1": "every accepted run ends within the bound",
    "RUN-3": "outcomes are honest and the same everywhere",
    "RUN-4": "a repeated start is one run",
    "STO-2": "no event of another run",
}
EXAMPLES_MAX = 5


@dataclass
class Seen:
    """One event as the first reader got it; later readers are compared with it."""

    event: Event
    digest: bytes


@dataclass
class RunRecord:
    """`deaths`: events that say that a worker of the run died, each with when it was first seen."""

    accepted_at: float
    key: str
    deaths: dict[int, tuple[float, str]] = field(default_factory=dict)
    ended_at: float | None = None
    log: dict[int, Seen] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)
    """Highest index of each replay from the beginning, by reader."""
    replays: dict[str, int] = field(default_factory=dict)


@dataclass
class Verdict:
    violations: dict[str, list[str]]
    runs: int
    events: int
    outcomes: Counter[str]
    """Runs that lost a worker: they were interrupted or attempted again."""
    lost: int
    """Longest time between the start of a run, or the end of the faults, and the run's end."""
    slowest_s: float
    """Longest time between the end of the faults and when a client saw that a run which lost its worker was attempted again or had failed."""
    slowest_recovery_s: float

    @property
    def ok(self) -> bool:
        return not any(self.violations.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "runs": self.runs,
            "events": self.events,
            "outcomes": dict(sorted(self.outcomes.items())),
            "lost": self.lost,
            "slowest_s": round(self.slowest_s, 2),
            "slowest_recovery_s": round(self.slowest_recovery_s, 2),
            "violations": {name: len(found) for name, found in self.violations.items()},
            "examples": {name: found[:EXAMPLES_MAX] for name, found in self.violations.items() if found},
        }


def judge(path: Path) -> Verdict:
    return _Judge(path).verdict()


class _Judge:
    def __init__(self, path: Path) -> None:
        # Each once, however many readers met it.
        self.violations: dict[str, dict[str, None]] = {name: {} for name in INVARIANTS}
        self.runs: dict[str, RunRecord] = {}
        self.starts: dict[str, dict[str, Any]] = {}
        self.ids_of: defaultdict[str, set[str]] = defaultdict(set)
        self.cursors: dict[str, int] = {}
        self.ended: set[str] = set()
        self.faults_over = 0.0
        # Times in which workers may have died; the last one may have no end yet.
        self.deadly: list[tuple[float, float]] = []
        self.told = False
        self.bound_s = float("inf")
        self.events = 0
        self.target: Target
        for entry in history.read(path):
            handler = getattr(self, f"on_{entry['kind']}", None)
            if handler is not None:
                handler(entry)

    def violate(self, invariant: str, what: str) -> None:
        self.violations[invariant][what] = None

    # The events of the history, in order.

    def on_campaign(self, entry: dict[str, Any]) -> None:
        self.target = TARGETS[entry["target"]]
        self.bound_s = entry["bound_s"]
        self.told = entry.get("told", False)

    def on_fault(self, entry: dict[str, Any]) -> None:
        self.deadly.append((entry["t"], float("inf")))

    def on_healed(self, entry: dict[str, Any]) -> None:
        self.faults_over = entry["t"]
        if self.deadly and self.deadly[-1][1] == float("inf"):
            self.deadly[-1] = (self.deadly[-1][0], entry["t"])

    def on_start(self, entry: dict[str, Any]) -> None:
        self.starts[entry["key"]] = entry

    def on_accepted(self, entry: dict[str, Any]) -> None:
        key, run = entry["key"], entry["run"]
        if self.ids_of[key] and run not in self.ids_of[key]:
            self.violate("RUN-4", f"start {key} made {run} besides {', '.join(sorted(self.ids_of[key]))}")
        self.ids_of[key].add(run)
        self.runs.setdefault(run, RunRecord(entry["t"], key))

    def on_conflict(self, entry: dict[str, Any]) -> None:
        self.violate("RUN-4", f"start {entry['key']} was repeated unchanged, and {entry['node']} calls it a conflict")

    def on_no_conflict(self, entry: dict[str, Any]) -> None:
        self.violate("RUN-4", f"{entry['node']} accepted another body under the key {entry['key']}")

    def on_listed(self, entry: dict[str, Any]) -> None:
        for run in set(entry["runs"]) - self.runs.keys():
            self.violate("RUN-4", f"{entry['node']} lists {run}, which no start was answered with")
        for run in self.runs.keys() - set(entry["runs"]):
            self.violate("LOG-2", f"{entry['node']} does not list {run}, which was accepted")

    def on_open(self, entry: dict[str, Any]) -> None:
        self.cursors[entry["reader"]] = entry["after"]

    def on_event(self, entry: dict[str, Any]) -> None:
        self.events += 1
        reader, run, index = entry["reader"], entry["run"], entry["index"]
        where = f"{run} event {index} ({reader})"
        if entry["of"] != run:
            self.violate("STO-2", f"{where}: is an event of {entry['of']}")
            return
        expected = self.cursors[reader] + 1
        if index != expected:
            self.violate("LOG-1", f"{where}: index {expected} was due")
        self.cursors[reader] = index
        if reader in self.ended:
            self.violate("LOG-3", f"{where}: comes after the terminal event")
        event = Event(run, index, entry["type"], entry["raw"].encode())
        if self.target.outcome_of(event) is not None:
            self.ended.add(reader)
        self.note_death(entry["t"], event)
        self.compare(where, event)

    def note_death(self, at: float, event: Event) -> None:
        record = self.runs[event.run]
        attempt = self.target.attempt_of(event)
        if attempt is not None and attempt > 1:
            record.deaths.setdefault(event.index, (at, f"attempt {attempt} began"))
        outcome = self.target.outcome_of(event)
        if outcome is not None and outcome in self.starts[record.key].get("outcomes_of_death", []):
            record.deaths.setdefault(event.index, (at, f"it ended as {outcome}"))

    def compare(self, where: str, event: Event) -> None:
        log = self.runs[event.run].log
        digest = blake2b(event.raw, digest_size=16).digest()
        known = log.setdefault(event.index, Seen(event, digest))
        if known.digest == digest:
            return
        self.violate("LOG-5", f"{where}: bytes differ from those that another reader got")
        if _content(known.event) != _content(event):
            self.violate("LOG-1", f"{where}: was {known.event.type} before, and is {event.type}, or has other data")

    def on_ended(self, entry: dict[str, Any]) -> None:
        record = self.runs[entry["run"]]
        record.ended_at = min(entry["t"], record.ended_at or entry["t"])

    def on_missing(self, entry: dict[str, Any]) -> None:
        self.violate("LOG-2", f"{entry['run']}: was accepted, and {entry['node']} says that there is no such run")

    def on_refused(self, entry: dict[str, Any]) -> None:
        what = f"{entry['run']}: a client had event {entry['after']}, and {entry['node']} refuses ({entry['cause']})"
        self.violate("LOG-2", what)

    def on_nothing_more(self, entry: dict[str, Any]) -> None:
        """Checked against the whole log, when that is known."""
        self.runs[entry["run"]].replays[f"{entry['node']} after {entry['after']}"] = entry["after"]

    def on_replayed(self, entry: dict[str, Any]) -> None:
        self.runs[entry["run"]].replays[entry["node"]] = self.cursors[entry["reader"]]

    def on_outcome(self, entry: dict[str, Any]) -> None:
        self.runs[entry["run"]].outcomes[entry["node"]] = entry["outcome"]

    def on_unreadable(self, entry: dict[str, Any]) -> None:
        self.violate("RUN-1", f"{entry['what']} on {entry['node']} did not succeed within the bound: {entry['cause']}")

    # The outcome of each run.

    def verdict(self) -> Verdict:
        outcomes: Counter[str] = Counter()
        slowest = 0.0
        for key in self.starts.keys() - self.ids_of.keys():
            self.violate("RUN-1", f"start {key} was not accepted within the bound")
        for run, record in self.runs.items():
            self.check_whole(run, record)
            self.check_deaths(run, record)
            outcome = self.check_end(run, record)
            outcomes[outcome] += 1
            if record.ended_at is not None:
                took = record.ended_at - max(record.accepted_at, self.faults_over)
                slowest = max(slowest, took)
                if took > self.bound_s:
                    self.violate("RUN-1", f"{run}: ended {took:.1f} s after its start and the faults were over")
            else:
                self.violate("RUN-1", f"{run}: its follower did not see its end; the server says {record.outcomes}")
        found = {name: list(whats) for name, whats in self.violations.items()}
        deaths = [record.deaths for record in self.runs.values() if record.deaths]
        seen = [at - self.faults_over for death in deaths for at, _ in death.values()]
        return Verdict(found, len(self.runs), self.events, outcomes, len(deaths), slowest, max(seen, default=0.0))

    def check_whole(self, run: str, record: RunRecord) -> None:
        """Every replay must contain everything that any client has seen."""
        highest = max(record.log, default=-1)
        for reader, last in record.replays.items():
            if last < highest:
                self.violate("LOG-2", f"{run}: {reader} shows events up to {last}, and a client has seen {highest}")

    def check_deaths(self, run: str, record: RunRecord) -> None:
        """A run may lose its worker only to a fault that ends workers, between its start and when the loss was seen."""
        if not self.told:
            return
        # The response to a start may be lost: the run counts from the first try.
        began = self.starts[record.key]["t"]
        for at, what in record.deaths.values():
            if not any(since <= at and until >= began for since, until in self.deadly):
                self.violate("RUN-3", f"{run}: {what}, and no fault ended its worker")

    def check_end(self, run: str, record: RunRecord) -> str:
        log = [record.log[index].event for index in sorted(record.log)]
        ends = [(event.index, self.target.outcome_of(event)) for event in log]
        ends = [(index, outcome) for index, outcome in ends if outcome is not None]
        if len(ends) > 1 or (ends and ends[0][0] != log[-1].index):
            self.violate("LOG-3", f"{run}: terminal events {ends}, and the last event is {log[-1].index}")
        outcome = ends[0][1] if ends else "none"
        for node, said in record.outcomes.items():
            if said != outcome:
                self.violate("RUN-3", f"{run}: its log says {outcome}, and {node} says {said}")
        start = self.starts[record.key]
        honest = [*start["outcomes"], *start.get("outcomes_of_death", [])]
        if ends and outcome not in honest:
            self.violate("RUN-3", f"{run} {start['request']}: ended as {outcome}, not as {honest}")
        if outcome == "completed":
            numbers = self.target.standing_numbers(log)
            if numbers != list(range(start["texts"])):
                self.violate("RUN-3", f"{run}: completed, and delivered {len(numbers)} of {start['texts']} texts")
        return outcome


def _content(event: Event) -> Any:
    frame = parse(event.raw)
    try:
        return json.loads(frame.data) if frame is not None else None
    except ValueError:
        return event.raw
