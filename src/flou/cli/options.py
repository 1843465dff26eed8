"""A method from command-line options: `--k 3 --missing orthodox` become its parameters."""

from __future__ import annotations

import re
from typing import Any

from flou.engine import registry
from flou.engine.errors import ParameterError, did_you_mean
from flou.engine.method import Method
from flou.engine.parsing import Unparsable, parsed_toml
from flou.engine.registry import Stage


def method_from_options(stage: Stage, name: str, arguments: list[str]) -> Method:
    """Find the method and read its parameters from what is left of the command line."""
    method = registry.find(stage, name.replace("-", "_"))
    return method(**_parse(method, arguments))


def _parse(method: type[Method], arguments: list[str]) -> dict[str, Any]:
    known = method.model_json_schema().get("properties", {})
    out: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise ParameterError(
                f"{word!r} is not understood: parameters of {method.name()} are given as --name value."
            )
        option, equals, value = word[2:].partition("=")
        name = option.replace("-", "_")
        if name not in known:
            raise ParameterError(f"{method.name()} has no parameter --{option}.{did_you_mean(name, known)}")
        if not equals:
            if not rest:
                raise ParameterError(f"--{option} needs a value.")
            value = rest.pop(0)
        if name in out:
            raise ParameterError(f"--{option} is given twice.")
        out[name] = _value(value, known[name])
    return out


def _value(text: str, schema: dict[str, Any]) -> Any:
    """A value as TOML would read it; texts need no quotes, lists no brackets."""
    kinds = {s.get("type") for s in (schema, *schema.get("anyOf", ()))}
    if kinds <= {"string", "null", None}:
        return text
    if "integer" in kinds and re.fullmatch(r"-?[0-9]{1,30}", text):
        return int(text)
    if "array" in kinds and not text.startswith("["):
        return [part.strip() for part in text.split(",")]
    try:
        return parsed_toml(f"value = {text}")["value"]
    except Unparsable:
        return text
