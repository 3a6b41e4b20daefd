"""``python -m tileproof`` is the command line."""

from __future__ import annotations

from tileproof.cli import main

if __name__ == "__main__":
    main()
