"""The pictures of the report as figures with their captions, or the reason why one cannot be drawn."""

from __future__ import annotations

from collections.abc import Callable

from kabc.core.errors import SettingsError
from kabc.core.words import counted
from kabc.report import svg
from kabc.report.apart_graph import apart_graph
from kabc.report.arm_map import arm_map
from kabc.report.counts import sample_counts
from kabc.report.nodes import MOST_NODES, by_group, odd_arms
from kabc.report.odd_ones import OddArm, odd_ones
from kabc.report.page.tags import badge
from kabc.report.page.tags import name as _name
from kabc.report.pair_map import PairMap, group_map, pair_map
from kabc.report.svg import clean
from kabc.report.trace import evidence_trace
from kabc.report.values import group_values
from kabc.results.values import Result


def pictures_section(result: Result, *, pairs: bool = True) -> str:
    """The section of pictures; nothing where there are no groups. Some say nothing more about many arms."""
    if not result.groups:
        return ""
    few_arms = len(by_group(result)) <= MOST_NODES
    drawn = [_map, *([_pairs] if pairs else []), *([_graph, _trace] if few_arms else []), _counts]
    return f'<h2>Pictures</h2><div class="figures">{"".join(_attempt(draw, result) for draw in drawn)}</div>\n'


def pairs_section(result: Result) -> str:
    """The map of pairs alone; nothing where there are no groups."""
    return f'<div class="figures">{_attempt(_pairs, result)}</div>' if result.groups else ""


def _attempt(draw: Callable[[Result], str], result: Result) -> str:
    """The picture, or the reason why there is none."""
    try:
        return draw(result)
    except SettingsError as error:
        return f'<p class="soft">{clean(str(error).capitalize())}.</p>'


def figure(title: str, picture: str, caption: str) -> str:
    """A picture with its title and caption; wide ones scroll."""
    whole = ' class="whole"' if picture.startswith('<svg class="wide"') else ""
    scroll = f'<div class="scroll"{" tabindex=0" if whole else ""}>{picture}</div>'
    return f"<figure{whole}><h3>{clean(title)}</h3>{scroll}<figcaption>{clean(caption)}</figcaption></figure>"


def _pairs(result: Result) -> str:
    if len(by_group(result)) <= MOST_NODES:
        sure = "" if result.assumptions or result.status == "stopped" else ", which is certified"
        return figure(
            "Evidence of every pair",
            svg.draw_pairs(pair_map(result)),
            f"Each cell is a pair of arms. A full square: told apart{sure}. A small square: not told apart. The colour "
            "is the evidence in units of its threshold. Frames are groups, numbered on the diagonal.",
        )
    pairs = group_map(result)
    return figure(
        "Evidence between groups",
        svg.draw_pairs(pairs),
        "Each cell is a pair of groups; on the diagonal, a group with itself. The number says how many of their pairs "
        "of arms are told apart, of those that were compared. A full square: at least one pair is told apart. A small "
        "square: no pair is. The colour is the strongest evidence in units of its threshold."
        + _left_out(result, pairs),
    )


def _left_out(result: Result, pairs: PairMap) -> str:
    more = len(result.groups) - len(pairs.names)
    return f" {counted(more, 'smaller group')} left out." if more > 0 else ""


def _graph(result: Result) -> str:
    graph = apart_graph(result)
    why = "That they differ follows from other pairs" if graph.certified else "These are the open questions"
    caption = (
        "Each point is an arm with the number of its group. Thin lines join arms of one group. Dashed lines join "
        f"arms of different groups whose own evidence does not tell them apart. {why}. No line: told apart."
    )
    if graph.pairs("conflict"):
        caption += " Thick lines join arms that are told apart, but are in the same guessed group."
    return figure("Told apart or not", svg.draw_graph(graph), caption)


def _map(result: Result) -> str:
    arms = arm_map(result)
    marks = "Numbers and colours are groups."
    if len(arms.names) > MOST_NODES:
        marks = "Each dot is an arm; colours are groups. The arms that stand out most have a name."
    return figure(
        "Map of the arms",
        svg.draw_arm_map(arms),
        f"Arms close to each other gave similar samples. {marks} This is a picture, not a proof: the plane shows "
        f"{100 * arms.shown:.0f} % of the squared distances ({arms.measure}).",
    )


def _trace(result: Result) -> str:
    trace = evidence_trace(result)
    caption = "Each line is a pair of arms. Once it crosses 1, the pair is told apart."
    if trace.left_out:
        shown, every = len(trace.lines), len(trace.lines) + trace.left_out
        caption += f" {shown} of {every} pairs are shown, from the weakest to the strongest evidence."
    return figure("Evidence over samples", svg.draw_trace(trace), caption)


def _counts(result: Result) -> str:
    counts = sample_counts(result)
    each = (
        "Each bar is the median of the arms of a group. Thin lines go from the smallest number to the largest."
        if counts.nodes.are_groups
        else "Each bar counts all samples of an arm. Arms that are hard to tell apart take more."
    )
    return figure("Samples", svg.draw_counts(counts), each)


def odd_section(result: Result) -> str:
    """The arms that stand out, each over all others; nothing where none does."""
    if not odd_arms(result):
        return ""
    odd = odd_ones(result)
    figures = "".join(map(_odd, odd.arms))
    more = f" {counted(odd.left_out, 'more arm')} that stand out: see the table of all arms." if odd.left_out else ""
    said = (
        "Arms of small groups whose values differ most from all other arms together, the oddest first; descriptive. "
        "Grey: all other arms. Coloured line: this arm. Values beyond the frame are counted in the outermost bar."
        f"{more}"
    )
    return f'<h2>Odd ones first</h2><p class="soft">{said}</p><div class="small-multiples">{figures}</div>\n'


def _odd(arm: OddArm) -> str:
    words = "; ".join(arm.effects)
    heading = f"<h3>{badge(arm.group)}{_name(arm.name)}</h3>"
    said = f"<b>{_name(arm.column.name)}</b> {clean(words)}; distance {arm.distance:.2f}"
    return f"<figure>{heading}{svg.draw_odd(arm)}<figcaption>{said}</figcaption></figure>"


def values_section(result: Result) -> str:
    """The section of values; nothing where there are no groups."""
    return f"<h2>Values of each group</h2>{_attempt(_columns, result)}\n" if result.groups else ""


def _columns(result: Result) -> str:
    values = group_values(result)
    figures = "".join(
        f"<figure><h3>{_name(column.name)}</h3>{svg.draw_column(column, values.groups)}</figure>"
        for column in values.columns
    )
    said = []
    if values.columns:
        said.append(
            "Each row is a group. Heights say how often a value occurs among the samples kept. Numbers have a strip "
            "below: the tick is the median, the thick part the middle half, the thin part the middle 90 %. Columns "
            "with the largest differences come first. Values beyond the frame are counted in the outermost bar."
        )
    if any(column.band is not None for column in values.columns):
        said.append("The dashed band is the tolerance: the median of the largest group, less and plus as much.")
    if values.columns_left_out:
        said.append(f"{counted(values.columns_left_out, 'column')} with smaller differences left out.")
    if values.groups_left_out:
        said.append(f"{counted(values.groups_left_out, 'smaller group')} left out.")
    if values.texts:
        said.append(f"Texts have no picture: {', '.join(values.texts)}.")
    return f'<p class="soft">{clean(" ".join(said))}</p><div class="figures">{figures}</div>'
