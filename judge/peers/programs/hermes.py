"""Writes a home directory for hermes-agent that uses the scripted model, and executes its gateway. Arguments: home, URL of the model server."""
import os
import sys
from pathlib import Path
from uuid import uuid4

# A home for each start: one that was killed leaves its process id there.
home = Path(sys.argv[1]) / f"hermes-{uuid4()}"
home.mkdir(parents=True)
settings = ["default: scripted", "provider: custom", f"base_url: {sys.argv[2]}", "api_key: none", "context_length: 131072"]
(home / "config.yaml").write_text("model:\n" + "".join(f"  {line}\n" for line in settings))
hermes = str(Path(sys.executable).parent / "hermes")
os.execve(sys.executable, [sys.executable, hermes, "gateway", "run"], {**os.environ, "HERMES_HOME": str(home)})
