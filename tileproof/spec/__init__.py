"""Files that hold calls to check: specs in TOML, and Python programs."""
