"""The chart of the study: what is rebuilt and what is certain under each protection, beside what it costs."""

from __future__ import annotations

from typing import Any


def save_charts(found: dict[str, Any]) -> None:
    """To be drawn."""
