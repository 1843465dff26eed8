"""Key frequencies with undetermined values, against a brute force that lists every possible key.

The reference below is written from the definitions alone (Saoud), one loop per definition, with no
regard for speed. Record by record it must give what the library gives.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.engine.errors import DataError

Value = str | int | None
Key = tuple[Value, ...]

COMPLETING = ("optimistic", "pessimistic")
MODES = ("category", "orthodox", "optimistic", "pessimistic", "conservative")

# Values that a careless encoding would confuse with one another, with a separator or with a null.
TEXTS = [
    *("a", "b", "A", " a", "é", "e\u0301", "日本", "😀", "ß", "ss", "", " ", "|", "a|b", ",", "\x00", "\x1f"),
    *("null", "None", "NA", "nan", "*", "-1", "0", "1"),
]
INTEGERS = [0, 1, 2, 3, -1, -2, -9, 99, -999, 2**31, 2**53, 2**53 + 1, 2**63 - 2, -(2**63)]
STRATA = ["u", "v", "null"]


@pytest.fixture(autouse=True, params=["every cell held", "searched"], scope="module")
def _key_space(request: pytest.FixtureRequest) -> Iterator[None]:
    """Everything is checked twice: with the key space held in memory, and as if it did not fit."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "searched":
            patch.setattr("flou.describe.keyspace.MAX_CELLS", 0)
        yield


# ---------------------------------------------------------------------------------------------- the tables


@dataclass(frozen=True)
class Table:
    """A file, its keys, and what is declared of them."""

    columns: dict[str, list[Value]]
    keys: list[str]
    modalities: dict[str, list[Value]] = field(default_factory=dict)
    rules: list[dict[str, Value]] = field(default_factory=list)
    by: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.columns[self.keys[0]])

    def tuples(self, names: list[str]) -> list[Key]:
        return list(zip(*(self.columns[name] for name in names), strict=True)) if names else [()] * self.size

    def dtype(self, name: str) -> str:
        values = [*self.columns[name], *self.modalities.get(name, [])]
        return "integer" if any(isinstance(value, int) for value in values) else "text"

    def polars(self) -> pl.DataFrame:
        types = {"integer": pl.Int64, "text": pl.String}
        return pl.DataFrame([pl.Series(name, values, types[self.dtype(name)]) for name, values in self.columns.items()])

    def pandas(self) -> pd.DataFrame:
        types = {"integer": "Int64", "text": "object"}
        frame = pd.DataFrame(
            {name: pd.Series(values, dtype=types[self.dtype(name)]) for name, values in self.columns.items()}
        )
        frame.index = pd.Index([7] * self.size)  # labels say nothing of the order of the records
        return frame

    def arrow(self) -> pa.Table:
        types = {"integer": pa.int64(), "text": pa.string()}
        return pa.table({name: pa.array(values, types[self.dtype(name)]) for name, values in self.columns.items()})

    def microdata(self, frame: object = None) -> flou.Microdata:
        frame = self.polars() if frame is None else frame
        return flou.Microdata(frame, keys=self.keys, modalities=self.modalities, incoherent=self.rules)


def measure(table: Table, mode: str, k: int = 1, frame: object = None) -> object:
    options = {"by": table.by} if table.by else {}
    return flou.risk.KAnonymity(k=k, missing=mode, **options).measure(table.microdata(frame))


def units(table: Table, mode: str, frame: object = None) -> list[int]:
    figures = measure(table, mode, frame=frame).units
    assert isinstance(figures, np.ndarray)
    return figures.tolist()


# ------------------------------------------------------------------------------------------ the brute force


class NoCompletionError(Exception):
    """A record that no coherent key is compatible with."""


def compatible(key: Key, complete: Key) -> bool:
    return all(known is None or known == value for known, value in zip(key, complete, strict=True))


def agree(one: Key, other: Key) -> bool:
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def matches(key: Key, rule: dict[str, Value], keys: list[str]) -> bool:
    return all(key[keys.index(name)] == value for name, value in rule.items())


def matches_any(key: Key, table: Table) -> bool:
    return any(matches(key, rule, table.keys) for rule in table.rules)


def modalities(table: Table) -> list[list[Value]]:
    """The modalities of each key: those declared, else those observed."""
    return [
        table.modalities.get(name) or list(dict.fromkeys(v for v in table.columns[name] if v is not None))
        for name in table.keys
    ]


def possible_keys(table: Table) -> Iterator[Key]:
    """The set C of coherent complete keys."""
    return (key for key in itertools.product(*modalities(table)) if not matches_any(key, table))


def completions(key: Key, table: Table) -> Iterator[Key]:
    """The keys of C that are compatible with one key, when C is too large to be listed."""
    choices = [every if known is None else [known] for known, every in zip(key, modalities(table), strict=True)]
    return (complete for complete in itertools.product(*choices) if not matches_any(complete, table))


def brute_force(table: Table, mode: str, *, whole_product: bool = True) -> list[int]:
    """The frequency of each record, straight from the definition of each mode."""
    records = table.tuples(table.keys)
    strata = table.tuples(table.by)
    if any(matches_any(record, table) for record in records):
        raise NoCompletionError
    product = list(possible_keys(table)) if whole_product and mode in COMPLETING else []
    found = []
    for record, stratum in zip(records, strata, strict=True):
        peers = [other for other, theirs in zip(records, strata, strict=True) if theirs == stratum]
        if mode == "category":
            found.append(sum(other == record for other in peers))
        elif mode == "orthodox":
            found.append(sum(agree(record, other) for other in peers))
        elif mode == "conservative":
            found.append(sum(other == record or (None not in other and agree(record, other)) for other in peers))
        else:
            theirs = product if whole_product else completions(record, table)
            counts = [
                sum(compatible(other, complete) for other in peers)
                for complete in theirs
                if compatible(record, complete)
            ]
            if not counts:
                raise NoCompletionError
            found.append(max(counts) if mode == "optimistic" else min(counts))
    return found


def agrees_with_brute_force(table: Table, mode: str, *, whole_product: bool = True) -> None:
    try:
        expected = brute_force(table, mode, whole_product=whole_product)
    except NoCompletionError:
        with pytest.raises(DataError):
            units(table, mode)
    else:
        assert units(table, mode) == expected


def every_record_can_be_completed(table: Table) -> bool:
    records = set(table.tuples(table.keys))
    product = list(possible_keys(table))
    return all(any(compatible(record, complete) for complete in product) for record in records)


# ----------------------------------------------------------------------------------------- random tables


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    rules: bool = True,
    strata: bool = True,
    nulls: bool = True,
    completed: bool = False,
    max_size: int = 12,
) -> Table:
    """Small files; every key has at least one modality. `completed`: no record is without a completion."""
    size = draw(st.integers(1, max_size))
    keys = [f"k{j}" for j in range(draw(st.integers(1, 4)))]
    columns: dict[str, list[Value]] = {}
    declared: dict[str, list[Value]] = {}
    known: dict[str, list[Value]] = {}
    for name in keys:
        text = st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
        one = draw(st.sampled_from([text, st.sampled_from(INTEGERS)]))
        pool = draw(st.lists(one, min_size=1, max_size=4, unique=True))
        cell = st.sampled_from(pool)
        if nulls:
            cell = draw(st.sampled_from([cell | st.none(), cell | cell | cell | st.none(), cell]))
        columns[name] = draw(st.lists(cell, min_size=size, max_size=size))
        observed = list(dict.fromkeys(value for value in columns[name] if value is not None))
        if draw(st.booleans()) or not observed:
            extra = draw(st.lists(one, max_size=2, unique=True))
            declared[name] = draw(st.permutations(list(dict.fromkeys([*pool, *extra]))))
        known[name] = declared.get(name, observed)
    table = Table(columns, keys, declared)
    if rules and len(keys) > 1 and draw(st.integers(0, 2)):
        records = table.tuples(keys)
        candidates = [
            dict(zip(chosen, values, strict=True))
            for width in range(2, min(3, len(keys)) + 1)
            for chosen in itertools.combinations(keys, width)
            for values in itertools.product(*(known[name] for name in chosen))
        ]
        if completed or draw(st.integers(0, 5)):
            # Keep the rules that no record breaks outright: those bear on the completions alone.
            candidates = [rule for rule in candidates if not any(matches(record, rule, keys) for record in records)]
        pairs = [rule for rule in candidates if len(rule) == 2]
        one = st.sampled_from(pairs) | st.sampled_from(candidates) if pairs else st.sampled_from(candidates)
        some = draw(st.lists(one, max_size=8)) if candidates else []
        table = replace(table, rules=some)
        while completed and not every_record_can_be_completed(table):
            table = replace(table, rules=table.rules[1:])
    if strata and draw(st.booleans()):
        by = [f"s{j}" for j in range(draw(st.integers(1, 2)))]
        for name in by:
            columns[name] = draw(st.lists(st.sampled_from([*STRATA, None]), min_size=size, max_size=size))
        table = replace(table, by=by)
    return table


# ------------------------------------------------------------------------------------ the published examples

SEX = ["Masculin", "Féminin", "Masculin", "Féminin", None, None, None]
NATIONALITY = ["Marocaine", "Marocaine", None, None, "Étrangère", "Marocaine", "Marocaine"]
FIRST = Table({"Sexe": SEX, "Nationalité": NATIONALITY}, ["Sexe", "Nationalité"])
STATELESS = replace(FIRST, modalities={"Nationalité": ["Marocaine", "Étrangère", "Apatride"]})
SECOND = Table(
    {
        "Activité": ["Inactif", "Actif", "Actif", "Inactif", "Actif", None, "Actif"],
        "Statut": ["Inactif", "Salarié", None, "Inactif", "Employeur", None, "Indépendant"],
    },
    ["Activité", "Statut"],
    {"Statut": ["Salarié", "Employeur", "Indépendant", "Aide familial", "Inactif"]},
)
COHERENT = replace(
    SECOND,
    rules=[
        {"Activité": "Actif", "Statut": "Inactif"},
        {"Activité": "Inactif", "Statut": "Salarié"},
        {"Activité": "Inactif", "Statut": "Employeur"},
        {"Activité": "Inactif", "Statut": "Indépendant"},
        {"Activité": "Inactif", "Statut": "Aide familial"},
    ],
)


@pytest.mark.parametrize(
    ("table", "mode", "published"),
    [
        (FIRST, "orthodox", [4, 4, 5, 5, 3, 6, 6]),
        (FIRST, "optimistic", [4, 4, 4, 4, 2, 4, 4]),
        (FIRST, "pessimistic", [4, 4, 2, 2, 2, 4, 4]),
        (STATELESS, "orthodox", [4, 4, 5, 5, 3, 6, 6]),
        (STATELESS, "optimistic", [4, 4, 4, 4, 2, 4, 4]),
        (STATELESS, "pessimistic", [4, 4, 1, 1, 2, 4, 4]),
        (SECOND, "pessimistic", [3, 3, 2, 3, 3, 1, 3]),
        (COHERENT, "pessimistic", [3, 3, 2, 3, 3, 2, 3]),
    ],
)
def test_published_tables(table: Table, mode: str, published: list[int]) -> None:
    assert brute_force(table, mode) == published
    assert brute_force(table, mode, whole_product=False) == published
    assert units(table, mode) == published


@pytest.mark.parametrize("mode", ["orthodox", "optimistic"])
def test_second_published_file_is_3_anonymous(mode: str) -> None:
    assert measure(COHERENT, mode).k == 3


# ---------------------------------------------------------------------------------- against the brute force


@pytest.mark.parametrize("mode", MODES)
@examples(100)
@given(table=tables())
def test_every_mode_equals_brute_force(mode: str, table: Table) -> None:
    agrees_with_brute_force(table, mode)


def thick_with_rules(seed: int) -> Table:
    """A few records, half of them holes, under many rules on two and three keys that none breaks outright."""
    chance = random.Random(seed)
    keys = ["a", "b", "c", "d"][: chance.randint(2, 4)]
    values: dict[str, list[Value]] = {name: list(range(chance.choice([1, 2, 2, 3]))) for name in keys}
    size = chance.randint(2, 8)
    holes = chance.choice([0.3, 0.5, 0.7])
    table = Table(
        {
            **{
                name: [None if chance.random() < holes else chance.choice(values[name]) for _ in range(size)]
                for name in keys
            },
            "s": [chance.choice(["u", None]) for _ in range(size)],
        },
        keys,
        values,
        by=chance.choice([[], ["s"]]),
    )
    records = table.tuples(keys)
    rules = []
    for _ in range(chance.randint(1, 12)):
        chosen = chance.sample(keys, min(chance.choice([2, 2, 3]), len(keys)))
        rule = {name: chance.choice(values[name]) for name in chosen}
        if rule not in rules and not any(matches(record, rule, keys) for record in records):
            rules.append(rule)
    return replace(table, rules=rules)


@pytest.mark.parametrize("mode", MODES)
def test_many_rules_equal_brute_force(mode: str) -> None:
    changed = refused = 0
    for seed in range(200):
        table = thick_with_rules(seed)
        agrees_with_brute_force(table, mode)
        try:
            changed += brute_force(table, mode) != brute_force(replace(table, rules=[]), mode)
        except NoCompletionError:
            refused += 1
    # The rules do bear on these tables, in the two modes that they bear on at all.
    assert (changed >= 5 and refused >= 5) if mode in COMPLETING else changed == refused == 0, (changed, refused)


@pytest.mark.parametrize("mode", MODES)
@examples(30)
@given(table=tables(strata=False))
def test_a_stratum_that_is_also_a_key(mode: str, table: Table) -> None:
    agrees_with_brute_force(replace(table, by=table.keys[:1]), mode)


@pytest.mark.parametrize("mode", MODES)
@examples(20)
@given(table=tables(nulls=False))
def test_without_nulls_every_mode_is_the_plain_count(mode: str, table: Table) -> None:
    cells = table.tuples([*table.keys, *table.by])
    if any(matches_any(record, table) for record in table.tuples(table.keys)):
        with pytest.raises(DataError):
            units(table, mode)
    else:
        assert units(table, mode) == [cells.count(cell) for cell in cells]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(4))
def test_larger_files(mode: str, seed: int) -> None:
    chance = random.Random(seed)
    keys = ["a", "b", "c", "d", "e"]
    sizes = [2, 3, 4, 3, 2 + seed]
    rows = 120
    columns: dict[str, list[Value]] = {
        name: [None if chance.random() < 0.25 else chance.randrange(size) for _ in range(rows)]
        for name, size in zip(keys, sizes, strict=True)
    }
    declared: dict[str, list[Value]] = {"c": list(range(5)), "e": list(range(sizes[-1] + 1))}
    table = Table(columns, keys, declared)
    candidates: list[dict[str, Value]] = [
        {name: chance.randrange(sizes[keys.index(name)]) for name in chance.sample(keys, chance.choice([3, 4]))}
        for _ in range(40)
    ]
    records = table.tuples(keys)
    rules = [rule for rule in candidates if not any(matches(record, rule, keys) for record in records)]
    agrees_with_brute_force(replace(table, rules=rules), mode, whole_product=False)


def wide(columns: int, undetermined: int) -> Table:
    """Fifty records of six kinds, nine modalities a key, nulls in the first few keys alone."""
    chance = random.Random(columns)
    keys = [f"k{j}" for j in range(columns)]
    kinds = [[chance.randrange(9) for _ in keys] for _ in range(6)]
    rows: list[list[Value]] = [list(chance.choice(kinds)) for _ in range(50)]
    for row in rows:
        for j in chance.sample(range(undetermined), chance.randrange(3)):
            row[j] = None
    return Table(
        {name: [row[j] for row in rows] for j, name in enumerate(keys)},
        keys,
        {name: list(range(9)) for name in keys},
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("columns", [12, 30])
def test_wide_keys_whose_product_cannot_be_listed(mode: str, columns: int) -> None:
    agrees_with_brute_force(wide(columns, 4), mode, whole_product=False)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("columns", [12, 30])
def test_nulls_in_too_many_keys_are_counted_right_or_refused(mode: str, columns: int) -> None:
    table = wide(columns, columns)
    try:
        found = units(table, mode)
    except flou.FlouError:
        return
    assert found == brute_force(table, mode, whole_product=False)


@pytest.mark.parametrize("mode", MODES)
def test_seventy_binary_keys_do_not_collide(mode: str) -> None:
    keys = [f"k{j}" for j in range(70)]
    rows = [[0] * 70, *([int(i == j) for i in range(70)] for j in range(70)), [0] * 70]
    table = Table({name: [row[j] for row in rows] for j, name in enumerate(keys)}, keys)
    assert units(table, mode) == [2, *([1] * 70), 2]


@pytest.mark.parametrize("rows", [1, 3])
def test_wholly_undetermined_records_may_be_of_a_kind_nobody_has(rows: int) -> None:
    keys = [f"k{j}" for j in range(6)]
    table = Table({name: [*([None] * rows), 0, 1, 1] for name in keys}, keys, {name: [0, 1, 2, 3] for name in keys})
    assert units(table, "pessimistic")[:rows] == [rows] * rows
    assert units(table, "optimistic")[:rows] == [rows + 2] * rows


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_the_extreme_integers(mode: str, value: int) -> None:
    agrees_with_brute_force(Table({"a": [value, None, value]}, ["a"]), mode)
    agrees_with_brute_force(Table({"a": [2**63 - 1, None, -(2**63)]}, ["a"]), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "column",
    [
        pl.Series("k", [True, False, None, True, None]),
        pl.Series("k", [date(2020, 2, 29), date(1970, 1, 1), None, date(2020, 2, 29), None]),
        pl.Series("k", ["é", "b", None, "é", None], dtype=pl.Categorical),
        pl.Series("k", [1, 200, None, 1, None], dtype=pl.UInt8),
        pl.Series("k", [2**63 - 1, 2**63 - 2, None, 2**63 - 1, None], dtype=pl.UInt64),
        pl.Series("k", ["é", "b", None, "é", None], dtype=pl.Enum(["b", "é"])),
    ],
    ids=["boolean", "date", "categorical", "small integers", "unsigned integers", "enumeration"],
)
def test_other_column_types(mode: str, column: pl.Series) -> None:
    frame = pl.DataFrame([column, pl.Series("j", ["x", None, "x", "y", "y"])])
    names = {value: f"v{i}" for i, value in enumerate(column.drop_nulls().unique(maintain_order=True).to_list())}
    plain = Table(
        {
            "k": [None if value is None else names[value] for value in column.to_list()],
            "j": frame["j"].to_list(),
        },
        ["k", "j"],
    )
    found = flou.risk.KAnonymity(k=1, missing=mode).measure(flou.Microdata(frame, keys=["k", "j"]))
    assert found.units.tolist() == brute_force(plain, mode)


def test_integers_beyond_64_bits_with_sign_are_refused() -> None:
    with pytest.raises(DataError, match="'k'"):
        flou.Microdata(pl.DataFrame([pl.Series("k", [2**64 - 1, None], dtype=pl.UInt64)]), keys=["k"])


# ------------------------------------------------------------------------------- records without completion


@pytest.mark.parametrize("mode", MODES)
def test_a_record_that_breaks_a_rule_outright_is_refused(mode: str) -> None:
    for a, b, c in [("x", "y", "z"), ("x", "y", None)]:
        table = Table({"a": [a, "w"], "b": [b, "v"], "c": [c, "z"]}, ["a", "b", "c"], rules=[{"a": "x", "b": "y"}])
        with pytest.raises(DataError):
            units(table, mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_record_whose_every_completion_is_incoherent(mode: str) -> None:
    table = Table(
        {"a": ["x", "w", "w"], "b": [None, "u", "v"]},
        ["a", "b"],
        rules=[{"a": "x", "b": "u"}, {"a": "x", "b": "v"}],
    )
    if mode in COMPLETING:
        with pytest.raises(DataError):
            units(table, mode)
    else:
        assert units(table, mode) == [1, 1, 1]


@pytest.mark.parametrize("mode", MODES)
def test_a_null_declared_as_a_modality_is_refused_or_left_out(mode: str) -> None:
    table = Table({"a": ["x", "x", None]}, ["a"], {"a": ["x", None]})
    try:
        found = units(table, mode)
    except flou.FlouError:
        return
    assert found == brute_force(replace(table, modalities={"a": ["x"]}), mode)


@pytest.mark.parametrize("mode", COMPLETING)
@settings(examples(20), phases=[Phase.generate])
@given(table=tables(rules=False), where=st.integers(0, 4))
def test_a_column_without_a_single_modality_leaves_no_possible_key(mode: str, table: Table, where: int) -> None:
    keys = [*table.keys[:where], "nothing", *table.keys[where:]]
    empty = replace(table, columns={**table.columns, "nothing": [None] * table.size}, keys=keys)
    with pytest.raises(flou.FlouError):
        units(empty, mode)


@pytest.mark.parametrize("mode", sorted(set(MODES) - set(COMPLETING)))
@examples(12)
@given(table=tables(rules=False))
def test_a_column_without_a_single_modality_is_counted_in_the_other_modes(mode: str, table: Table) -> None:
    empty = replace(table, columns={**table.columns, "nothing": [None] * table.size}, keys=[*table.keys, "nothing"])
    assert units(empty, mode) == brute_force(empty, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [pl.Null, pl.String, pl.Int64])
def test_an_undetermined_column_of_any_type(mode: str, kind: type[pl.DataType]) -> None:
    frame = pl.DataFrame([pl.Series("a", ["x", "y", "x"]), pl.Series("b", [None, None, None], dtype=kind)])
    people = flou.Microdata(frame, keys=["a", "b"])
    plain = Table({"a": ["x", "y", "x"], "b": [None, None, None]}, ["a", "b"])
    if mode in COMPLETING:
        with pytest.raises(flou.FlouError):
            _ = flou.risk.KAnonymity(k=1, missing=mode).measure(people).units
    else:
        assert flou.risk.KAnonymity(k=1, missing=mode).measure(people).units.tolist() == brute_force(plain, mode)


# ------------------------------------------------------------------------------------------------- by key


@pytest.mark.parametrize("mode", MODES)
@examples(60)
@given(table=tables(completed=True), data=st.data())
def test_by_key_and_its_completions(mode: str, table: Table, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, table.size))
    by_key = measure(table, mode, k).by_key
    assert isinstance(by_key, pl.DataFrame)
    records, strata = table.tuples(table.keys), table.tuples(table.by)
    cells = list(zip(records, strata, strict=True))
    expected = dict(zip(cells, brute_force(table, mode), strict=True))

    undetermined = [name for name in table.keys if None in table.columns[name]]
    completed = {f"completion.{name}" for name in undetermined} if mode in COMPLETING else set()
    known = {*table.keys, *table.by, "records", "at_risk"}
    assert {name for name in by_key.columns if name.startswith("completion.")} == completed
    (frequency,) = [name for name in by_key.columns if name not in known | completed]

    seen = set()
    for row in by_key.iter_rows(named=True):
        key = tuple(row[name] for name in table.keys)
        stratum = tuple(row[name] for name in table.by)
        assert (key, stratum) not in seen
        seen.add((key, stratum))
        assert row["records"] == cells.count((key, stratum))
        assert row[frequency] == expected[key, stratum]
        assert row["at_risk"] == (row[frequency] < k)
        if mode in COMPLETING:
            complete = tuple(row[f"completion.{name}"] if name in undetermined else row[name] for name in table.keys)
            assert compatible(key, complete)
            assert complete in set(possible_keys(table))
            peers = [other for other, theirs in cells if theirs == stratum]
            assert sum(compatible(other, complete) for other in peers) == row[frequency]
    assert seen == set(cells)


# ------------------------------------------------------------------------------------------------ relations


@pytest.mark.parametrize("mode", MODES)
@examples(12)
@given(table=tables(completed=True))
def test_risk_grows_with_k(mode: str, table: Table) -> None:
    expected = brute_force(table, mode)
    shares = []
    for k in range(1, table.size + 1):
        found = measure(table, mode, k)
        assert found.units.tolist() == expected
        assert found.k == min(expected)
        assert found.value == pytest.approx(sum(f < k for f in expected) / table.size)
        shares.append(found.value)
    assert shares[0] == 0
    assert shares == sorted(shares)


@examples(60)
@given(table=tables(completed=True))
def test_modes_in_order(table: Table) -> None:
    found = {mode: units(table, mode) for mode in MODES}
    for i, record in enumerate(table.tuples(table.keys)):
        f = {mode: found[mode][i] for mode in MODES}
        # Records with the very same tuple share every completion, and two records that share one agree.
        assert 1 <= f["category"] <= f["pessimistic"] <= f["optimistic"] <= f["orthodox"] <= table.size
        # The conservative count is the category count, plus the complete records in agreement.
        assert f["category"] <= f["conservative"] <= f["orthodox"]
        if None not in record:
            assert f["category"] == f["conservative"]
            assert f["pessimistic"] == f["optimistic"] == f["orthodox"]


@examples(30)
@given(table=tables(completed=True, rules=False), data=st.data())
def test_more_possible_keys_widen_the_bounds_and_rules_narrow_them(table: Table, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(table.keys))
    values = dict(zip(table.keys, modalities(table), strict=True))
    new: Value = max(values[name]) - 1 if table.dtype(name) == "integer" else "".join(map(str, values[name])) + "+"
    if new in values[name]:
        new = min(values[name]) + 1
    if new in values[name]:
        return
    wider = replace(table, modalities={**table.modalities, name: [*values[name], new]})
    low, high = units(table, "pessimistic"), units(table, "optimistic")
    # Without rules a modality nobody has can only be the rarest.
    assert all(a <= b for a, b in zip(units(wider, "pessimistic"), low, strict=True))
    assert units(wider, "optimistic") == high
    others = [other for other in table.keys if other != name]
    if others:
        other = data.draw(st.sampled_from(others))
        narrower = replace(wider, rules=[{name: new, other: value} for value in values[other]])
        assert units(narrower, "pessimistic") == low
        assert units(narrower, "optimistic") == high


@pytest.mark.parametrize("mode", MODES)
@examples(20)
@given(table=tables(completed=True))
def test_strata_only_lower_the_frequencies(mode: str, table: Table) -> None:
    whole = units(replace(table, by=[]), mode)
    assert all(a <= b for a, b in zip(units(table, mode), whole, strict=True))
    alone = replace(table, columns={**table.columns, "one": ["only"] * table.size}, by=["one"])
    assert units(alone, mode) == whole


# ------------------------------------------------------------------------------------------------ invariance


@pytest.mark.parametrize("mode", MODES)
@examples(20)
@given(table=tables(completed=True), data=st.data())
def test_order_of_rows_columns_modalities_and_rules_is_irrelevant(mode: str, table: Table, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(table.size)))
    moved = Table(
        {name: [table.columns[name][i] for i in order] for name in data.draw(st.permutations(list(table.columns)))},
        data.draw(st.permutations(table.keys)),
        {name: data.draw(st.permutations(values)) for name, values in table.modalities.items()},
        [dict(data.draw(st.permutations(list(rule.items())))) for rule in reversed(table.rules)],
        table.by[::-1],
    )
    here = units(table, mode)
    assert units(moved, mode) == [here[i] for i in order]


@pytest.mark.parametrize("mode", MODES)
@examples(20)
@given(table=tables(completed=True), data=st.data())
def test_names_of_columns_and_values_are_irrelevant(mode: str, table: Table, data: st.DataObject) -> None:
    renamed: dict[str, dict[Value, Value]] = {}
    for name in table.columns:
        values = dict.fromkeys([*table.columns[name], *table.modalities.get(name, [])])
        values.pop(None, None)
        fresh = data.draw(st.sampled_from([TEXTS, INTEGERS]))
        renamed[name] = dict(zip(values, data.draw(st.permutations(fresh)), strict=False)) | {None: None}
    title = dict(zip(table.columns, ["records", "Âge", "f", "k", "a b", "figure"], strict=False))
    other = Table(
        {title[name]: [renamed[name][v] for v in values] for name, values in table.columns.items()},
        [title[name] for name in table.keys],
        {title[name]: [renamed[name][v] for v in values] for name, values in table.modalities.items()},
        [{title[name]: renamed[name][v] for name, v in rule.items()} for rule in table.rules],
        [title[name] for name in table.by],
    )
    here, there = measure(table, mode), measure(other, mode)
    assert there.units.tolist() == here.units.tolist()
    assert there.value == here.value
    assert there.k == here.k


# ------------------------------------------------------------------------------------------- other frames


@pytest.mark.parametrize("mode", MODES)
@examples(20)
@given(table=tables(completed=True), data=st.data())
def test_pandas_and_arrow_give_the_same(mode: str, table: Table, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, table.size))
    expected = brute_force(table, mode)
    for frame in (table.pandas(), table.arrow()):
        found = measure(table, mode, k, frame)
        assert found.units.tolist() == expected
        assert found.k == min(expected)
        assert found.value == pytest.approx(sum(f < k for f in expected) / table.size)


@pytest.mark.parametrize("mode", MODES)
@examples(20)
@given(table=tables(completed=True), data=st.data())
def test_a_scan_gives_the_same(mode: str, table: Table, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, table.size))
    expected = brute_force(table, mode)
    frame = table.polars().with_row_index("row")
    found = measure(table, mode, k, frame.lazy())
    assert found.k == min(expected)
    assert found.value == pytest.approx(sum(f < k for f in expected) / table.size)
    with pytest.raises(flou.FlouError):
        _ = found.units
    joined = found.joined()
    assert isinstance(joined, pl.LazyFrame)
    rows = joined.collect().sort("row")
    assert rows["k_anonymity"].to_list() == expected
    assert rows.drop("k_anonymity").equals(frame)


@pytest.mark.parametrize("mode", MODES)
def test_a_scan_with_a_record_that_breaks_a_rule_is_refused(mode: str) -> None:
    table = Table({"a": ["x", "w"], "b": ["y", None]}, ["a", "b"], rules=[{"a": "x", "b": "y"}])
    with pytest.raises(DataError):
        _ = measure(table, mode, frame=table.polars().lazy()).value


@pytest.mark.parametrize("mode", MODES)
def test_pandas_integers_made_floats_by_their_nulls(mode: str) -> None:
    table = Table(
        {"a": [1, 2, None, 1, None], "b": ["é", None, "é", "é", "f"]},
        ["a", "b"],
        {"a": [1, 2, 3]},
        [{"a": 2, "b": "f"}],
    )
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan, 1.0, np.nan], "b": ["é", np.nan, "é", "é", "f"]})
    assert units(table, mode, frame) == brute_force(table, mode)


@pytest.mark.parametrize("mode", MODES)
@examples(12)
@given(table=tables(completed=True))
def test_joined_keeps_the_order_of_the_records(mode: str, table: Table) -> None:
    joined = measure(table, mode).joined()
    assert joined["k_anonymity"].to_list() == brute_force(table, mode)
    assert joined.drop("k_anonymity").equals(table.polars())
