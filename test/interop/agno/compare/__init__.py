"""What a client sees of a run when something goes wrong: the same script, the same client, several servers."""
