"""The JSON Schema of plan files, made from the registry: editors complete and check plans with it."""

from __future__ import annotations

from typing import Any

from flou.engine import registry, toml
from flou.engine.method import Method
from flou.engine.method_facts import facts_of, summary_of
from flou.engine.native import ENGINES
from flou.engine.plan import FORMATS
from flou.engine.registry import Stage
from flou.engine.words import LANGUAGES


def plan_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a plan file."""
    string = {"type": "string"}
    source = _table(
        {
            "source": string,
            "schema": string,
            "engine": {"anyOf": [{"enum": list(ENGINES)}, {"type": "string", "pattern": "^spark://"}]},
            "table": string,
            "sheet": string,
            "delimiter": string,
            "encoding": string,
            "decimal": {"enum": [".", ","]},
            "formulas": {"enum": ["escaped", "plain"]},
        },
        ["source"],
    )
    sections: dict[str, Any] = {
        "flou": {"const": toml.FORMAT, "description": "format of this file"},
        "title": {"anyOf": [string, _table(dict.fromkeys(LANGUAGES, string), [])]},
        "data": source,
        "population": source,
        "secrets": _table({"file": string, "environment": string}, []),
        "release": _table(
            {
                "series": string,
                "period": string,
                "since": string,
                "renamed": {"type": "object", "additionalProperties": string},
            },
            [],
        ),
        "record_keys": _table({"stored": string}, ["stored"]),
        "tabulate": {"type": "array", "items": _tabulation()},
        "policy": {"type": "object"},
        "output": _table(
            {
                "format": {"enum": list(FORMATS)},
                "languages": {"type": "array", "items": {"enum": list(LANGUAGES)}},
                "rows_per_part": {"type": "integer", "minimum": 1},
                "formulas": {"enum": ["escaped", "plain"]},
                "database": string,
                "table": string,
            },
            [],
        ),
    }
    definitions: dict[str, Any] = {}
    for stage in registry.STAGES:
        sections[stage] = {
            "type": "array",
            "items": {"oneOf": [_reference(stage, n, definitions) for n in registry.names(stage)]},
        }
        if not sections[stage]["items"]["oneOf"]:
            sections[stage]["items"] = False
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Flou plan",
        **_table(sections, ["flou"]),
        "$defs": definitions,
    }


def _tabulation() -> dict[str, Any]:
    """One table of a plan."""
    name = {"type": "string", "minLength": 1}
    names = {"type": "array", "items": name}
    return {
        **_table(
            {
                "dims": {"anyOf": [name, {**names, "minItems": 1}], "description": "the dimensions of the table"},
                "name": {"type": "string", "description": "the name of its file"},
                "value": {**name, "description": "a column of amounts to add up"},
                "margins": {
                    "anyOf": [{"type": "boolean"}, names],
                    "description": "levels and totals, of all or of some",
                },
                "weight": {**name, "description": "a column of sampling weights"},
                "holding": {**name, "description": "the column that says which records belong together"},
                "largest": {"type": "integer", "minimum": 0, "maximum": 100},
                "cells": {"enum": ["occupied", "all"]},
                "total": {**name, "description": "the label of totals"},
            },
            ["dims"],
        ),
        "description": "A table of the protected records; where there is one, the records are not published.",
    }


def _table(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _reference(stage: Stage, name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    key = f"{stage}.{name}"
    definitions[key] = method_schema(registry.find(stage, name))
    return {"$ref": f"#/$defs/{key}"}


def method_schema(method: type[Method]) -> dict[str, Any]:
    """The table of one method in a plan: its name and its parameters."""
    schema = method.model_json_schema()
    properties = {"method": {"const": method.name()}, **schema.get("properties", {})}
    described = {
        **_table(properties, ["method", *schema.get("required", [])]),
        "description": summary_of(method),
        "x-flou": facts_of(method),
    }
    if "$defs" in schema:
        described["$defs"] = schema["$defs"]
    return described
