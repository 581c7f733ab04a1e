"""`python -m judge.peers --profile NAME --command JSON`: tries every fault on a peer, and prints one line of JSON for each."""
import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

from .client import PATIENCE_S, open_http
from .faults import FAULTS, World
from .model import Model
from .profiles import PROFILES
from .server import Server


async def main() -> int:
    parser = argparse.ArgumentParser(prog="judge.peers", description=__doc__)
    parser.add_argument("--profile", choices=sorted(PROFILES), required=True)
    parser.add_argument("--command", required=True, help='{"command": […], "env": {…}, "cwd": "…"}; {port}, {model} and {folder} are filled in')
    parser.add_argument("--only", action="append", default=[], help="a fault; all if not given")
    parser.add_argument("--patience", type=float, default=PATIENCE_S, help="seconds without a byte after which a client gives up")
    args = parser.parse_args()
    profile = PROFILES[args.profile]
    model = Model()
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        server = Server.of(json.loads(args.command), profile, await model.open(), folder, Path(folder) / "server.log")
        try:
            await server.start()
            async with open_http(args.patience) as http:
                for name, fault in FAULTS.items():
                    if not args.only or name in args.only:
                        outcome = await fault(World(http, server, profile))
                        survived = await server.ensure_running()
                        print(json.dumps({"fault": name, **vars(outcome), "survived": survived}), flush=True)
        finally:
            await server.kill()
            model.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
