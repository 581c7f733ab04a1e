"""What a client sees of any agent server when something breaks; profiles say how each server is asked."""
