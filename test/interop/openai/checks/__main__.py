"""Runs a group of checks: `python -m checks answers|deaths URL RELAY`. A line of JSON for each, once it is known."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

from .deaths import check_deaths
from .framework import check_framework
from .matrix import check_matrix
from .tools import check_tools
from .world import World

# Each request of the client that blocks has one, and all ways of a case are asked at once.
THREADS = 64

GROUPS = {"answers": (check_matrix, check_tools, check_framework), "deaths": (check_deaths,)}


async def main(group, url, relay):
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
    world = World(url, relay)
    for check in GROUPS[group]:
        await check(world)


asyncio.run(main(*sys.argv[1:]))
