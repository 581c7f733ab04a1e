"""Runs the checks against a server: `python -m checks URL`. One line of JSON for each, as soon as it is known."""

import asyncio
import inspect
import json
import sys

from . import lifecycle, library, pauses, reconnect, sessions, sockets

MODULES = [library, lifecycle, reconnect, pauses, sessions, sockets]
CHECK_SECONDS = 60


def checks_of(module):
    """Its functions, in the order in which they are written; each says in a sentence what it shows."""
    found = [value for name, value in vars(module).items() if name.startswith("check_")]
    return [(inspect.getdoc(check), check) for check in found]


def say(**line):
    print(json.dumps(line), flush=True)


async def main(url):
    for module in MODULES:
        for title, check in checks_of(module):
            try:
                await asyncio.wait_for(check(url), CHECK_SECONDS)
                say(title=title)
            except Exception as problem:  # one that does not pass does not keep the others from being tried
                say(title=title, problem=f"{type(problem).__name__}: {problem}")


asyncio.run(main(sys.argv[1]))
