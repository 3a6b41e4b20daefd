"""Solvers that read SMT-LIB 2 text, each behind the same small interface and within the same limits.

Nothing of tileproof but its errors is imported here. A solver that is not installed is told by its extra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from tileproof.errors import TileproofError

Z3_UNITS = 20_000_000
"""Z3's resource units for one question; some ten seconds."""

CVC5_UNITS = 500_000
"""cvc5's resource units for one question; some ten seconds."""

LONGEST_MS = 60_000
"""Milliseconds for one question, for what no solver's units count. Machines differ, so units come first."""

MOST_MEGABYTES = 4096
"""Memory for one question, where a solver can be told."""


class SolverError(TileproofError):
    """A solver that is unknown or not installed, or a question that it cannot read."""


@dataclass(frozen=True)
class Reply:
    """What a solver answers. ``reason`` says why it does not know; ``resources`` counts Z3's units, else zero.

    ``"inexpressible"`` is a question outside the logics that the solver has.
    """

    answer: Literal["sat", "unsat", "unknown", "inexpressible"]
    reason: str = ""
    resources: int = 0


def _z3(text: str) -> Reply:
    import z3

    try:
        solver = z3.Solver(ctx=z3.Context())
        solver.set("rlimit", Z3_UNITS)
        solver.set("timeout", LONGEST_MS)
        solver.from_string(text)
        answer = str(solver.check())
    except z3.Z3Exception as error:
        raise SolverError(f"z3 cannot read the question: {_words(error)}") from None
    statistics = solver.statistics()
    used = int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118 - Z3's statistics are no mapping
    if answer != "unknown":
        return Reply("sat" if answer == "sat" else "unsat", resources=used)
    reason = solver.reason_unknown()
    if "interrupted" in reason:  # Z3 takes the signal of Ctrl-C itself
        raise KeyboardInterrupt
    return Reply("unknown", reason)


def _cvc5(text: str) -> Reply:
    import cvc5

    try:
        solver = cvc5.Solver(cvc5.TermManager())
        solver.setOption("rlimit", str(CVC5_UNITS))
        solver.setOption("tlimit-per", str(LONGEST_MS))
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question")
        symbols, said = parser.getSymbolManager(), ""
        while not (command := parser.nextCommand()).isNull():
            said = command.invoke(solver, symbols).strip()
            if said.startswith("(error"):
                # An assertion that failed is not asserted, so what would come next answers another question.
                raise SolverError(f"cvc5 cannot read the question: {_words(RuntimeError(said))}")
    except RuntimeError as error:
        raise SolverError(f"cvc5 cannot read the question: {_words(error)}") from None
    if said in ("sat", "unsat"):
        return Reply("sat" if said == "sat" else "unsat")
    return Reply("unknown", said.removeprefix("unknown").strip(" ()").lower())


def _bitwuzla(text: str) -> Reply:
    import bitwuzla

    if not text.startswith("(set-logic QF_BV)"):
        return Reply("inexpressible", "not a bit-vector question")
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, LONGEST_MS)
    options.set(bitwuzla.Option.MEMORY_LIMIT, MOST_MEGABYTES)
    try:
        parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
        parser.parse(text, True, False)  # as text and not as a file's name; without answering to stdout
        answer = str(parser.bitwuzla().check_sat()).rpartition(".")[2].lower()
    except bitwuzla.BitwuzlaException as error:
        raise SolverError(f"bitwuzla cannot read the question: {_words(error)}") from None
    if answer in ("sat", "unsat"):
        return Reply("sat" if answer == "sat" else "unsat")
    return Reply("unknown", "time or memory is spent")


def _words(error: Exception) -> str:
    text = error.args[0] if error.args else error
    return " ".join((text.decode(errors="replace") if isinstance(text, bytes) else str(text)).split())


_ASK: Mapping[str, tuple[str, Callable[[str], Reply]]] = {
    "z3": ("z3-solver", _z3),
    "cvc5": ("cvc5", _cvc5),
    "bitwuzla": ("bitwuzla", _bitwuzla),
}

SOLVERS = tuple(_ASK)
"""The names of all solvers, installed or not."""


def ask(solver: str, text: str) -> Reply:
    """What a solver says of a script that ends in ``(check-sat)``.

    Raises :class:`SolverError` for a solver that is unknown or not installed, and for text that it cannot
    read.
    """
    try:
        return _known(solver)[1](text)
    except ImportError:
        raise SolverError(_missing(solver)) from None


def version(solver: str) -> str:
    """The installed version. Raises :class:`SolverError` when there is none."""
    try:
        return metadata.version(_known(solver)[0])
    except metadata.PackageNotFoundError:
        raise SolverError(_missing(solver)) from None


def _known(solver: str) -> tuple[str, Callable[[str], Reply]]:
    if solver not in _ASK:
        raise SolverError(f"unknown solver {solver!r}; the solvers are {', '.join(_ASK)}")
    return _ASK[solver]


def _missing(solver: str) -> str:
    return f"{solver} is not installed; pip install 'tileproof[audit]'"
