"""A second opinion on ``tileproof.check``: plain descriptions of calls, and brute force over every point of them.

Nothing here, in :mod:`tileproof.fuzz.generate` or in :mod:`tileproof.fuzz.family` imports the library. The demands are
written anew from the PTX ISA and from the contract reference, over plain integers.
"""
