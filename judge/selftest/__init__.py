"""Whether the judge notices: servers that break one promise each, and one that breaks none."""
