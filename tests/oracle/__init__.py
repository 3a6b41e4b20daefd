"""A second opinion on ``tileproof.check``: plain descriptions of calls, brute force over every point, and a
generator.

Nothing here except :mod:`tests.oracle.as_tileproof` and :mod:`tests.oracle.agreement` imports the library.
The demands are written anew from the PTX ISA and from the contract reference, over plain integers.
"""
