"""`python -m judge --url http://…`: judges a running server; `--check FILE` judges a history again."""
import argparse
import asyncio
import json
import sys
from pathlib import Path

from .campaign import Options, no_commands, run_campaign, stdin_lines
from .targets import TARGETS
from .verdict import INVARIANTS, Verdict, judge


def main() -> int:
    parser = argparse.ArgumentParser(prog="judge", description=__doc__)
    parser.add_argument("--target", choices=sorted(TARGETS), default="holdfast")
    parser.add_argument("--url", action="append", default=[], help="a node; several share one store")
    parser.add_argument("--history", type=Path, default=Path("judge-history.jsonl"))
    parser.add_argument("--check", type=Path, help="judge this history file, and do nothing else")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--runs", type=int, default=10_000, help="most runs that are started")
    parser.add_argument("--seconds", type=float, default=30, help="how long runs are started")
    parser.add_argument("--bound", type=float, default=60, help="seconds in which a run must end after the faults")
    parser.add_argument("--long", type=int, default=0, help="half of the runs last for so many seconds, silent or slow")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commands", action="store_true", help="read fault, outage, healed and finish from standard input")
    parser.add_argument("--json", action="store_true", help="print the verdict as one line of JSON")
    args = parser.parse_args()
    if args.check is not None:
        return report(judge(args.check), args.json)
    if not args.url:
        parser.error("--url is needed")
    options = Options(
        target=args.target,
        nodes=args.url,
        history=args.history,
        clients=args.clients,
        runs_max=args.runs,
        seconds=args.seconds,
        bound_s=args.bound,
        seed=args.seed,
        long_s=args.long,
        told=args.commands,
    )
    commands = stdin_lines() if args.commands else no_commands()
    return report(asyncio.run(run_campaign(options, commands)), args.json)


def report(verdict: Verdict, as_json: bool) -> int:
    if as_json:
        print(json.dumps(verdict.as_json()))
    else:
        print(f"{verdict.runs} runs, {verdict.events} events, outcomes {dict(verdict.outcomes)}")
        for name, meaning in INVARIANTS.items():
            found = verdict.violations[name]
            print(f"{name}  {'held' if not found else f'VIOLATED {len(found)} times'}: {meaning}")
            for example in found[:5]:
                print(f"       {example}")
    return 0 if verdict.ok else 1


if __name__ == "__main__":
    sys.exit(main())
