"""Checks what a client sees of any agent server when something breaks; profiles describe the requests of each server."""
