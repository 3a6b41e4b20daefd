"""Calls made up from sequences of choices."""
