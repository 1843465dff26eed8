"""The two charts of a calibration: the risk-utility plane, and the risk between two priors (Jamme 2025, fig. 4 and 2).

Colour stands for one parameter, shape for another and size for a third, so that the grid can be read from the points;
the limit is a dashed line and the chosen point has a ring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flou.engine.charts import ALERT, CALM, INK, PADDING, percent_axis, styled
from flou.engine.words import Words
from flou.utility.table.sizes_chart import number_axis

if TYPE_CHECKING:
    import altair as alt

    from flou.decide.calibration.calibration import Calibration, Point

#: Far apart in hue and in lightness, also for the colour-blind.
_COLOURS = ["#2f5d8a", "#c2541a", "#5aa469", "#8a6fb0", "#d9a520", "#6b7280", "#1f9bb5", "#b5476f"]
_SIZES = [45, 130, 230]
_SHAPES = ["circle", "triangle-up", "square", "diamond", "cross", "triangle-down", "stroke"]


def draw_frontier(found: Calibration, language: str) -> alt.Chart:
    """Risk against utility; the best place is the corner of full utility and no risk."""
    import altair as alt

    words = Words(language)
    roles = _roles(found)
    # small symbols are drawn over large ones, so that both are seen where they meet
    rows = [_row(p, roles, words) for p in reversed(found.points) if p.feasible]
    orders = {r: [_shown(v, words) for v in _values(found, n)] for r, n in roles.items()}
    share = found.utility.headline.unit == "share"
    x = alt.X(
        "utility:Q",
        title=words("utility") + f"{words.colon} {found.utility.axis_title(words)}",
        axis=percent_axis(words) if share else number_axis(words),
        scale=alt.Scale(zero=False, nice=True, reverse=found.utility.better == "low", padding=12),
    )
    risk_scale = alt.Scale(zero=False, padding=14)
    y = alt.Y("risk:Q", title=words("disclosure risk"), axis=percent_axis(words), scale=risk_scale)
    base = alt.Chart(alt.InlineData(values=rows))
    on_line = [_row(p, roles, words) for p in found.frontier]
    line = alt.Chart(alt.InlineData(values=on_line)).mark_line(color="#c8cdd4", strokeWidth=2).encode(x=x, y=y)
    points = base.mark_point(filled=True, opacity=1, stroke="white", strokeWidth=1).encode(
        x=x, y=y, tooltip=["label:N"], **_channels(roles, orders)
    )
    chart: Any = line + points
    if found.limit is not None:
        limit = [{"risk": found.limit, "label": f"{words('limit')}{words.colon} {words.share(found.limit)}"}]
        rule = alt.Chart(alt.InlineData(values=limit))
        chart += rule.mark_rule(strokeDash=[6, 4], color=ALERT).encode(y=y)
        chart += rule.mark_text(align="left", dx=4, dy=-7, fontSize=10, color=ALERT).encode(
            y=y, x=alt.value(0), text="label:N"
        )
    if found.chosen is not None:
        ring = [_row(found.chosen, roles, words)]
        data = alt.Chart(alt.InlineData(values=ring))
        chart += data.mark_point(size=420, color=INK, strokeWidth=2).encode(x=x, y=y)
        # towards the middle, where no legend stands; a halo keeps it apart from the line and other points
        side: dict[str, Any] = {"align": "right", "dx": -16} if _lies_right(found) else {"align": "left", "dx": 16}
        for look in ({"color": "white", "stroke": "white", "strokeWidth": 4}, {"color": INK}):
            label = data.mark_text(**side, **look, fontSize=10, fontWeight="bold")
            chart += label.encode(x=x, y=y, text="label:N")
    return styled(chart.properties(width=460, height=320))


def draw_priors(found: Calibration, language: str) -> alt.Chart:
    """For each point the interval of the risk between a uniform and the empirical prior."""
    import altair as alt

    words = Words(language)
    uniform, empirical = words("uniform prior"), words("empirical prior")
    kept = [p for p in found.points if p.feasible and p.risk_uniform is not None]
    lines = [{"point": _label(p, words), "from": p.risk_uniform, "to": p.risk} for p in kept]
    ends = [{"point": _label(p, words), "risk": p.risk_uniform, "prior": uniform} for p in kept]
    ends += [{"point": _label(p, words), "risk": p.risk, "prior": empirical} for p in kept]
    order = [_label(p, words) for p in kept]
    y = alt.Y("point:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    title = words("disclosure risk")
    x = alt.X("risk:Q", title=title, axis=percent_axis(words), scale=alt.Scale(zero=False, padding=10))
    rule = alt.Chart(alt.InlineData(values=lines)).mark_rule(color="#9aa1ab", strokeWidth=2)
    chart: Any = rule.encode(x=alt.X("from:Q", title=title), x2="to:Q", y=y)
    names = [uniform, empirical]
    chart += (
        alt.Chart(alt.InlineData(values=ends))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color("prior:N", scale=alt.Scale(domain=names, range=[CALM, ALERT]), legend=_legend()),
            shape=alt.Shape("prior:N", scale=alt.Scale(domain=names, range=["circle", "square"]), legend=_legend()),
        )
    )
    if found.limit is not None:
        data = alt.Chart(alt.InlineData(values=[{"risk": found.limit}]))
        chart += data.mark_rule(strokeDash=[6, 4], color=ALERT).encode(x=x)
    return styled(chart.properties(width=380, height=alt.Step(20), padding=PADDING))


def _lies_right(found: Calibration) -> bool:
    """Whether the chosen point is drawn in the right half."""
    drawn = [p.utility for p in found.points if p.utility is not None]
    chosen = found.chosen.utility if found.chosen is not None else None
    if chosen is None:
        return False
    high = chosen >= (min(drawn) + max(drawn)) / 2
    return high == (found.utility.better == "high")


def _values(found: Calibration, name: str) -> list[Any]:
    """The values of a parameter that were tried, in their order."""
    return list(dict.fromkeys(p.parameters[name] for p in found.points))


def _roles(found: Calibration) -> dict[str, str]:
    """Which parameter is shown by colour, by shape and by size: V, js and D where they are, else in their order."""
    varied = [n for n in found.names if len(_values(found, n)) > 1]
    most = {"color": len(_COLOURS), "shape": len(_SHAPES), "size": len(_SIZES)}
    roles: dict[str, str] = {}
    for role, usual in (("color", "V"), ("shape", "js"), ("size", "D")):
        free = [n for n in varied if n not in roles.values() and len(_values(found, n)) <= most[role]]
        first = [n for n in free if n == usual] or [n for n in free if n not in ("V", "js", "D")]
        if first:
            roles[role] = first[0]
    return roles


def _shown(value: Any, words: Words) -> str:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return words.number(value) if plain else words.plain(value)


def _label(point: Point, words: Words) -> str:
    return words.between.join(f"{n} = {_shown(v, words)}" for n, v in point.parameters.items())


def _row(point: Point, roles: dict[str, str], words: Words) -> dict[str, Any]:
    held = {role: _shown(point.parameters[name], words) for role, name in roles.items()}
    return {"risk": point.risk, "utility": point.utility, "label": _label(point, words), **held}


def _channels(roles: dict[str, str], orders: dict[str, list[str]]) -> dict[str, Any]:
    """The encodings of the parameters, each with its legend."""
    import altair as alt

    if "size" not in roles:
        held: dict[str, Any] = {"size": alt.value(_SIZES[1])}
    else:
        held = {}
    kinds: dict[str, Any] = {"color": alt.Color, "shape": alt.Shape, "size": alt.Size}
    ranges: dict[str, list[Any]] = {"color": _COLOURS, "shape": _SHAPES, "size": _SIZES}
    for role, name in roles.items():
        domain = orders[role]
        scale = alt.Scale(type="ordinal", domain=domain, range=ranges[role][: len(domain)])
        held[role] = kinds[role](f"{role}:N", scale=scale, sort=domain, legend=alt.Legend(title=name, offset=24))
    return held


def _legend() -> Any:
    import altair as alt

    return alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=18)
