"""What OpenAI's Python package, and a framework on top of it, make of every end that a run can have."""
