"""The server of a peer as a process of its own, which can be killed, frozen and started again at its address."""
import asyncio
import os
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from .profile import Profile

READY_S = 180.0


@dataclass
class Server:
    """`{port}`, `{model}` and `{folder}` in the command and its environment are filled in."""

    command: list[str]
    env: dict[str, str]
    cwd: str
    ready: str
    model: str
    folder: str
    headers: dict[str, str]
    """Its log file; the last lines are shown if it does not start."""
    log: str
    """Processes that do part of its work, such as Redis: their CPU and memory count too."""
    beside: list[int]

    @classmethod
    def of(cls, start: dict[str, Any], profile: Profile, model: str, folder: str, log: Path) -> "Server":
        return cls(
            command=start["command"],
            env=start.get("env", {}),
            cwd=start.get("cwd", folder),
            ready=profile.ready,
            model=model,
            folder=folder,
            headers=getattr(profile, "headers", {}),
            log=str(log),
            beside=start.get("beside", []),
        )

    def __post_init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: asyncio.subprocess.Process | None = None

    def _fill(self, text: str) -> str:
        return text.replace("{port}", str(self.port)).replace("{model}", self.model).replace("{folder}", self.folder)

    async def start(self) -> None:
        """In a process group of its own, so that a kill reaches all of it."""
        env = {**os.environ, **{name: self._fill(value) for name, value in self.env.items()}}
        with open(self.log, "ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *[self._fill(part) for part in self.command],
                cwd=self.cwd,
                env=env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(READY_S):
                await self._answers()
        except TimeoutError:
            raise RuntimeError(f"{self.command[0]} is not ready after {READY_S} s:\n{self._tail()}") from None

    async def _answers(self) -> None:
        async with httpx.AsyncClient(trust_env=False, timeout=5) as http:
            while True:
                if self._process is None or self._process.returncode is not None:
                    raise RuntimeError(f"{self.command[0]} exited:\n{self._tail()}")
                try:
                    if (await http.get(self.url + self.ready, headers=self.headers)).status_code < 500:
                        return
                except httpx.HTTPError:
                    pass
                await asyncio.sleep(0.1)

    def _tail(self) -> str:
        with open(self.log, encoding="utf-8", errors="replace") as output:
            return output.read()[-2000:]

    def cpu_seconds(self) -> float:
        """Of the whole process group, including ended processes."""
        ticks = sum(sum(map(int, stat[11:15])) for stat in self._stats())
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory_bytes(self) -> int:
        return sum(int(stat[21]) for stat in self._stats()) * os.sysconf("SC_PAGE_SIZE")

    def _stats(self) -> list[list[str]]:
        """Fields of /proc/PID/stat from the state on: the name before it may hold spaces."""
        assert self._process is not None
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended meanwhile
            if int(fields[2]) == self._process.pid or int(entry.name) in self.beside:
                found.append(fields)
        return found

    async def ensure_running(self) -> bool:
        """Starts it again if it has exited; returns whether it had not."""
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=READY_S) as http:
                await http.get(self.url + self.ready, headers=self.headers)
            return True
        except httpx.HTTPError:
            await self.kill()
            await self.start()
            return False

    async def kill(self) -> None:
        if self._process is None or self._process.returncode is not None:
            return
        self._signal(signal.SIGKILL)
        await self._process.wait()

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, which: signal.Signals) -> None:
        assert self._process is not None
        try:
            os.killpg(self._process.pid, which)
        except ProcessLookupError:
            print(f"{self.command[0]} has exited already", file=sys.stderr)
