"""Set-up shared by all tests: the same inputs on every run and machine, and a header that says which."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# How long inputs take to make depends on what else the machine does, so no test is judged by it.
settings.register_profile(
    "ci", derandomize=True, deadline=None, database=None, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.register_profile("explore", max_examples=2000, deadline=None, print_blob=True)

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
settings.load_profile(PROFILE)


def pytest_report_header() -> str:
    now = settings()
    inputs = "the same on every run" if now.derandomize else "new on every run"
    return f"tileproof: hypothesis profile {PROFILE!r}: {now.max_examples} inputs a property, {inputs}"
