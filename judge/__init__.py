"""A black-box checker of durable runs: it uses only a server's HTTP interface, and shares no code with it."""
