"""A black-box checker of durable runs: it knows a server only by its HTTP interface, and shares no code with it."""
