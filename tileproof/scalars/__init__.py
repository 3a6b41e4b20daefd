"""Typed scalars: values of one element type, as expressions."""
