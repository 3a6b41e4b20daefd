"""What a store says, in numbers: read by queries alone, so that any store can be reported on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from tileproof.fuzz.failures import kind_of
from tileproof.fuzz.store import Store
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
    """Faults of one kind: how many views have one, and the first of them."""

    kind: str
    views: int
    family: str
    number: int


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


def summary(store: Store) -> Summary:
    """Raises :class:`StoreError` for a store that cannot be read."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for family, opcode, verdict, n in store.query(
        "SELECT family.name, opcode, verdict, count(*) FROM view JOIN form ON form.id = view.form "
        "JOIN family ON family.id = form.family GROUP BY form, verdict ORDER BY family.name, opcode, verdict"
    ):
        own = counts.setdefault(family, {"verdicts": {}, "forms": {}})
        own["verdicts"][verdict] = own["verdicts"].get(verdict, 0) + n
        own["forms"][opcode] = own["forms"].get(opcode, 0) + n
    found: dict[str, dict[str, dict[str, int]]] = {}
    for family, kind, name, n in store.query(
        "SELECT family.name, kind, obligation, count(*) FROM finding JOIN family ON family.id = finding.view >> 40 "
        "GROUP BY family.name, kind, obligation ORDER BY family.name, obligation"
    ):
        found.setdefault(family, {}).setdefault(kind, {})[name] = n
    families = {
        family: FamilySummary(
            sum(own["verdicts"].values()), _most_first(own["verdicts"]), own["forms"],
            dict.fromkeys(_obligations(family), 0) | found.get(family, {}).get("refuted", {}),
            found.get(family, {}).get("hazards", {}), found.get(family, {}).get("undecided", {}),
        )
        for family, own in counts.items()
    }  # fmt: skip
    executed: dict[str, dict[str, int]] = {}
    for what, result, n in store.query(
        "SELECT executed, result, count(*) FROM view WHERE executed <> '' GROUP BY executed, result"
    ):
        # A trap is told with its address, which is nobody's business here.
        own_results = executed.setdefault(what, {})
        short = result.partition(":")[0]
        own_results[short] = own_results.get(short, 0) + n
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
        executed,
        _disagreements(store),
    )


def _disagreements(store: Store) -> list[Disagreement]:
    kinds: dict[str, set[tuple[str, int]]] = {}
    for family, number, text in store.query("SELECT family, number, text FROM faults"):
        kinds.setdefault(kind_of(text), set()).add((family, number))
    found = [Disagreement(kind, len(views), *min(views)) for kind, views in kinds.items()]
    return sorted(found, key=lambda d: (-d.views, d.kind))


def _most_first(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


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
        (what, result or "no result", str(n))
        for what, own_results in found.executed.items()
        for result, n in own_results.items()
    ]
    if executed:
        sections.append(Section("Executed", tuple(executed)))
    if found.disagreements:
        rows = [
            (str(d.views), d.kind, f"tileproof fuzz show {d.family} {found.seed} {d.number}")
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
