"""What agno's clients need of an AgentOS, written down as checks that run on agno's own package."""
