"""Solvers that read SMT-LIB 2 text, each behind the same small interface and within the same limits.

Nothing of tileproof but its errors is imported here. A solver that is not installed is told by its extra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from tileproof.errors import TileproofError

Z3_UNITS = 5_000_000
"""Z3's resource units for one question; some seconds."""

CVC5_UNITS = 300_000
"""cvc5's resource units for one question; some seconds."""

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


Asker = Callable[[str], Reply]
"""Answers scripts that end in ``(check-sat)``, each for itself."""


def _z3() -> Asker:
    import z3

    context = z3.Context()  # costly to make, and nobody else's

    def used(solver: z3.Solver) -> int:
        statistics = solver.statistics()
        return int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118 - Z3's statistics are no mapping

    def answer(text: str) -> Reply:
        try:
            solver = z3.Solver(ctx=context)
            solver.set("rlimit", Z3_UNITS)
            solver.set("timeout", LONGEST_MS)
            before = used(solver)
            solver.from_string(text)
            said = solver.check()
        except z3.Z3Exception as error:
            raise SolverError(f"z3 cannot read the question: {_words(error)}") from None
        if said != z3.unknown:
            return Reply("sat" if said == z3.sat else "unsat", resources=used(solver) - before)
        reason = solver.reason_unknown()
        if "interrupted" in reason:  # Z3 takes the signal of Ctrl-C itself
            raise KeyboardInterrupt
        return Reply("unknown", reason)

    return answer


def _cvc5() -> Asker:
    import cvc5

    def answer(text: str) -> Reply:
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
                    # An assertion that failed is not asserted: what would come next answers another question.
                    raise SolverError(f"cvc5 cannot read the question: {said}")
        except RuntimeError as error:
            raise SolverError(f"cvc5 cannot read the question: {_words(error)}") from None
        if said in ("sat", "unsat"):
            return Reply("sat" if said == "sat" else "unsat")
        return Reply("unknown", said.removeprefix("unknown").strip(" ()").lower())

    return answer


def _bitwuzla() -> Asker:
    import bitwuzla

    def answer(text: str) -> Reply:
        if not text.startswith("(set-logic QF_BV)"):
            return Reply("inexpressible", "not a bit-vector question")
        options = bitwuzla.Options()
        options.set(bitwuzla.Option.TIME_LIMIT_PER, LONGEST_MS)
        options.set(bitwuzla.Option.MEMORY_LIMIT, MOST_MEGABYTES)
        try:
            parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
            parser.parse(text, True, False)  # only parsed, and a text, not the name of a file
            said = parser.bitwuzla().check_sat()
        except bitwuzla.BitwuzlaException as error:
            raise SolverError(f"bitwuzla cannot read the question: {_words(error)}") from None
        if said in (bitwuzla.Result.SAT, bitwuzla.Result.UNSAT):
            return Reply("sat" if said == bitwuzla.Result.SAT else "unsat")
        return Reply("unknown", "time or memory is spent")

    return answer


def _words(error: Exception) -> str:
    text = error.args[0] if error.args else error
    return " ".join((text.decode(errors="replace") if isinstance(text, bytes) else str(text)).split())


_PACKAGES: Mapping[str, tuple[str, Callable[[], Asker]]] = {
    "z3": ("z3-solver", _z3),
    "cvc5": ("cvc5", _cvc5),
    "bitwuzla": ("bitwuzla", _bitwuzla),
}

SOLVERS = tuple(_PACKAGES)
"""The names of all solvers, installed or not."""


def asker(solver: str) -> Asker:
    """Who answers questions with a solver. The same questions in the same order cost it the same resources.

    Raises :class:`SolverError` for a solver that is unknown or not installed; asking raises it for text that
    the solver cannot read.
    """
    try:
        return _package(solver)[1]()
    except ImportError:
        raise SolverError(_missing(solver)) from None


def version(solver: str) -> str:
    """The installed version. Raises :class:`SolverError` when there is none."""
    try:
        return metadata.version(_package(solver)[0])
    except metadata.PackageNotFoundError:
        raise SolverError(_missing(solver)) from None


def _package(solver: str) -> tuple[str, Callable[[], Asker]]:
    if solver not in _PACKAGES:
        raise SolverError(f"unknown solver {solver!r}; the solvers are {', '.join(_PACKAGES)}")
    return _PACKAGES[solver]


def _missing(solver: str) -> str:
    return f"{solver} is not installed; pip install 'tileproof[audit]'"
