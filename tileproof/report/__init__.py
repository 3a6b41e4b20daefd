"""Reports for people and programs: plain text, terminal, JSON."""
