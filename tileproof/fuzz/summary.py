"""What a store says, in numbers: read by queries alone, so that any store can be reported on."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from tileproof.fuzz.failures import kind_of
from tileproof.fuzz.store import KINDS, Store
from tileproof.report.sections import Section

FORMAT = 1
SHOWN = 20
"""Kinds of disagreement that a report lists."""


@dataclass(frozen=True)
class FamilySummary:
    """Counts of views. ``forms`` are opcode spellings; ``refuted``, ``hazards`` and ``undecided`` count by obligation,
    and ``refuted`` has every obligation of the contract, also those that no view refutes.
    """

    views: int
    verdicts: dict[str, int]
    forms: dict[str, int]
    refuted: dict[str, int]
    hazards: dict[str, int]
    undecided: dict[str, int]


@dataclass(frozen=True)
class Disagreement:
    """Faults of one kind: how many views have one, and the first of them with its fault in full.

    ``tallied`` views are not made up like others, so nothing shows them again.
    """

    kind: str
    views: int
    family: str
    number: int
    tallied: bool
    fault: str


@dataclass(frozen=True)
class Summary:
    """``executed`` counts views by what was run and what came of it; ``disagreements`` counts views."""

    seed: int
    backend: str
    views: int
    disagreeing: int
    seconds: float
    runs: list[dict[str, Any]]
    devices: dict[str, int]
    families: dict[str, FamilySummary]
    executed: dict[str, dict[str, int]]
    disagreements: list[Disagreement]

    @property
    def per_second(self) -> float:
        return self.views / self.seconds if self.seconds else 0.0


class _Counts(defaultdict[str, Counter[str]]):
    """Counters by name."""

    def __init__(self) -> None:
        super().__init__(Counter)


def summary(store: Store) -> Summary:
    """Raises :class:`StoreError` for a store that cannot be read."""
    verdicts, forms = _Counts(), _Counts()
    found = {kind: _Counts() for kind in KINDS}
    executed = _Counts()
    for family, opcode, verdict, n in store.query(
        "SELECT family.name, opcode, verdict, count(*) FROM view JOIN form ON form.id = view.form "
        "JOIN family ON family.id = form.family WHERE NOT tallied GROUP BY form, verdict"
    ):
        verdicts[family][verdict] += n
        forms[family][opcode] += n
    for family, kind, name, n in store.query(
        "SELECT family.name, kind, obligation, count(*) FROM finding JOIN view ON view.id = finding.view "
        "JOIN family ON family.id = finding.view >> 40 WHERE NOT tallied GROUP BY family.name, kind, obligation"
    ):
        found[kind][family][name] += n
    for what, result, n in store.query(
        "SELECT executed, result, count(*) FROM view WHERE result <> '' AND NOT tallied GROUP BY executed, result"
    ):
        # What follows a colon is about one view.
        executed[what or "nothing"][result.partition(":")[0]] += n
    for tally in store.tallies():
        verdicts[tally.family][tally.verdict] += tally.views
        forms[tally.family][tally.opcode] += tally.views
        for name in tally.refuted:
            found["refuted"][tally.family][name] += tally.views
        if tally.executed:
            executed[tally.executed]["looked at"] += tally.views
    families = {
        family: FamilySummary(
            verdicts[family].total(),
            dict(verdicts[family].most_common()),
            dict(sorted(forms[family].items())),
            dict.fromkeys(_obligations(family), 0) | dict(sorted(found["refuted"][family].items())),
            dict(sorted(found["hazards"][family].items())),
            dict(sorted(found["undecided"][family].items())),
        )
        for family in sorted(verdicts)
    }
    runs = [
        {
            "started": started, "families": json.loads(names), "wanted": wanted, "processes": processes,
            "versions": json.loads(versions), "seconds": seconds,
            "views": store.query("SELECT coalesce(sum(views), 0) FROM chunk WHERE run = ?", (number,))[0][0],
        }
        for number, started, names, wanted, processes, versions, seconds in store.query("SELECT * FROM run ORDER BY id")
    ]  # fmt: skip
    identity = store.identity
    return Summary(
        identity.seed,
        identity.backend,
        sum(f.views for f in families.values()),
        store.query("SELECT count(DISTINCT view) FROM fault")[0][0],
        sum(run["seconds"] for run in runs),
        runs,
        dict(store.query("SELECT device, count(*) FROM view WHERE device <> '' GROUP BY device")),
        families,
        {what: dict(results) for what, results in sorted(executed.items())},
        _disagreements(store),
    )


def _disagreements(store: Store) -> list[Disagreement]:
    kinds: dict[str, dict[tuple[str, int], tuple[bool, str]]] = {}
    for family, number, tallied, text in store.query("SELECT family, number, tallied, text FROM faults"):
        kinds.setdefault(kind_of(text), {})[family, number] = (bool(tallied), text)
    found = [Disagreement(kind, len(views), *min(views), *views[min(views)]) for kind, views in kinds.items()]
    return sorted(found, key=lambda d: (-d.views, d.kind))


def _obligations(family: str) -> list[str]:
    """What a contract may refute, by the last part of its name."""
    from tileproof.report.catalogue import all_entries

    return sorted({e.id.rpartition(".")[2] for e in all_entries(family) if not e.hazard})


def summary_json(found: Summary) -> str:
    """Keys may be added; when one changes its meaning or goes away, ``format`` counts up."""
    return json.dumps({"format": FORMAT, "per_second": round(found.per_second, 1), **asdict(found)}, indent=1)


def summary_sections(found: Summary) -> list[Section]:
    """The report as tables."""
    sections = [Section(f"Campaign: {found.backend}, seed {found.seed}", tuple(_head(found)))]
    for family, own in found.families.items():
        rows = [(verdict, str(n), _share(n, own.views)) for verdict, n in own.verdicts.items()]
        rows.append(("forms", str(len(own.forms)), f"each at least {min(own.forms.values())} times"))
        sections.append(Section(f"{family}: {own.views} views", tuple(rows)))
        obligations = [
            (
                name,
                str(n),
                str(own.undecided.get(name, 0)),
                "never refuted" if n == 0 else _share(n, own.views),
            )
            for name, n in own.refuted.items()
        ]
        titles = ("obligation", "refuted", "undecided", "refuted of all")
        sections.append(Section(f"{family}: obligations", (titles, *obligations)))
        if own.hazards:
            hazards = tuple((name, str(n), _share(n, own.views)) for name, n in own.hazards.items())
            sections.append(Section(f"{family}: hazards", hazards))
    executed = [
        (what, result, str(n))
        for what, own_results in found.executed.items()
        for result, n in own_results.items()
    ]
    if executed:
        sections.append(Section("Executed", tuple(executed)))
    if found.disagreements:
        rows = [
            (
                str(d.views),
                d.kind,
                d.fault if d.tallied else f"tileproof fuzz show {d.family} {found.seed} {d.number}",
            )
            for d in found.disagreements[:SHOWN]
        ]
        sections.append(Section("DISAGREEMENTS (views, kind, the first one)", tuple(rows)))
    return sections


def _head(found: Summary) -> list[tuple[str, str]]:
    rows = [
        ("views", str(found.views)),
        ("disagreements", str(found.disagreeing)),
        ("time", f"{found.seconds:.1f} s in {len(found.runs)} run{'s' * (len(found.runs) != 1)}"),
        ("throughput", f"{found.per_second:.0f} views per second"),
    ]
    rows += [("device", f"{name}: {n} views") for name, n in found.devices.items()]
    versions = {tuple(run["versions"].items()) for run in found.runs}
    rows += [("versions", ", ".join(f"{name} {number}" for name, number in of)) for of in sorted(versions)]
    return rows


def _share(n: int, views: int) -> str:
    return f"{100 * n / views:.2f} %"
