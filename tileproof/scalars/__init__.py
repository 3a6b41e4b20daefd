"""Typed scalar expressions: what ``ewise`` computes at each register coordinate."""
