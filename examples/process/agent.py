"""An agent in Python: it is started for each run, reads JSON lines and writes JSON lines."""

import json
import sys


def say(**message):
    print(json.dumps(message), flush=True)


def hear():
    return json.loads(sys.stdin.readline())


start = hear()
say(text=f"You want to know about {start['input']}. ")
say(type="tool.called", data={"call": "1", "name": "look-up", "input": {"word": start["input"]}})
say(type="tool.completed", data={"call": "1", "name": "look-up", "output": "an alga"})
say(type="ask", id="depth", prompt="How deep do you want to go?", schema={"type": "integer"})
answer = hear()["answer"]
say(text=f"At {answer} metres it is still green.")
say(type="result", output={"word": start["input"], "depth": answer})
