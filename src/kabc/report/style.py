"""The style sheet of the report: light and dark mode, narrow and wide screens, and paper."""

from __future__ import annotations

PRINTED = 100  # rows of the table of arms on paper, where nobody can search


def _numbered(family: str, colours: str) -> dict[str, str]:
    return {f"{family}{place}": colour for place, colour in enumerate(colours.split())}


def _variables(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


# Blue and orange differ for every kind of colour vision. Texts have a contrast of at least 4.5 with their background.
LIGHT = {
    "page": "#ffffff",
    "card": "#f5f7f9",
    "ink": "#1b2430",
    "soft": "#55606e",
    "edge": "#c9d0d8",
    "link": "#0b5cad",
    "yes": "#0b6b45",
    "yes-back": "#e6f4ed",
    "no": "#8a4b00",
    "no-back": "#fdf1e0",
    "grid": "#e1e6eb",
    "apart": "#a84300",
    "together": "#0f62a8",
    "thin": "#838e9a",
    "none": "#ffffff",
    "node": "#ffffff",
    **_numbered("h", "#eff4f9 #d5e4f1 #b3d0e8 #86b6dc #fdc276 #f0933a #b85200 #7a2e00"),  # evidence
    **_numbered("i", "#1b2430 #1b2430 #1b2430 #1b2430 #1b2430 #1b2430 #ffffff #ffffff"),  # on it
    **_numbered("g", "#0067a5 #b34700 #00734f #9a3d79 #6a5c00 #4b4f9e #8b3a3a #515a63"),  # groups
}
DARK = {
    "page": "#12171d",
    "card": "#1c232b",
    "ink": "#e8edf2",
    "soft": "#a9b4c0",
    "edge": "#3b4652",
    "link": "#86c1ff",
    "yes": "#6fd6a6",
    "yes-back": "#12301f",
    "no": "#ffc069",
    "no-back": "#35260f",
    "grid": "#2a333d",
    "apart": "#ffa45c",
    "together": "#7dbcf5",
    "thin": "#6f7b88",
    "none": "#12171d",
    "node": "#10151a",
    **_numbered("h", "#1b2632 #20364a #284a69 #31608c #8a4b08 #bf6a12 #f2a14a #ffdcb0"),  # evidence
    **_numbered("i", "#e8edf2 #e8edf2 #ffffff #ffffff #ffffff #10151a #10151a #10151a"),  # on it
    **_numbered("g", "#6db8f2 #ffa366 #5ccfa5 #ec9bcd #d6c54a #b0b4ff #f29a9a #b6c0ca"),  # groups
}

_RULES = """* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.25rem 1rem 3rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; }
.origin { display: flex; flex-wrap: wrap; gap: .1rem 1.5rem; margin: 0 0 1rem; font-size: .9rem; }
.origin div { display: flex; gap: .5rem; max-width: 100%; }
.origin dt { color: var(--soft); flex: none; }
.origin dd { margin: 0; min-width: 0; }
code { font-size: .85rem; }
.notice { border: 1px solid var(--no); border-radius: .4rem; padding: .2rem 1rem .6rem; margin: .8rem 0; }
.notice h2 { border: 0; margin: .3rem 0; font-size: 1.05rem; color: var(--no); }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .7rem; padding-top: .4rem; border-top: 1px solid var(--edge); }
h3 { font-size: 1rem; margin: 0 0 .35rem; }
p, ul, ol, dl { margin: .4rem 0; }
ul { padding-left: 1.2rem; }
pre { white-space: pre-wrap; font-size: .85rem; background: var(--card); padding: .8rem; border-radius: .4rem; }
bdi { unicode-bidi: isolate; }
.soft, figcaption { color: var(--soft); font-size: .9rem; }
.verdict { border: 1px solid; border-left-width: .5rem; border-radius: .4rem; padding: .8rem 1rem; }
.verdict.yes { border-color: var(--yes); background: var(--yes-back); }
.verdict.no { border-color: var(--no); background: var(--no-back); }
.verdict strong { font-size: 1.15rem; }
.yes > strong { color: var(--yes); }
.no > strong { color: var(--no); }
.facts { display: flex; flex-wrap: wrap; gap: .4rem 2rem; margin: 1rem 0 0; }
.facts div { min-width: 5.5rem; }
.facts dt { color: var(--soft); font-size: .85rem; }
.facts dd { margin: 0; font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 18rem), 1fr)); gap: .8rem; }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: .4rem; padding: .7rem .9rem; }
.badge { display: inline-block; vertical-align: -.35em; margin-right: .4rem; }
.effect { font-size: .9rem; }
.arms { display: flex; flex-wrap: wrap; gap: .3rem; list-style: none; margin: .4rem 0 0; padding: 0; }
.arms li { background: var(--page); border: 1px solid var(--edge); border-radius: .3rem; padding: 0 .45rem;
  max-width: 100%; }
.small-multiples { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr));
  gap: 1.2rem 1.4rem; align-items: start; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: 1.6rem 2rem;
  align-items: start; }
figure { margin: 0; min-width: 0; }
figure.whole { grid-column: 1 / -1; }
figcaption { margin-top: .45rem; }
.scroll { overflow-x: auto; max-width: 100%; }
svg { display: block; max-width: 100%; height: auto; }
figure svg:not(.badge) { width: 100%; }
figure svg.wide { width: auto; }
details { margin: .6rem 0; }
summary { cursor: pointer; color: var(--link); padding: .25rem 0; }
summary:focus-visible, .scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.tall { max-height: 26rem; overflow: auto; }
a { color: var(--link); }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { overflow-wrap: break-word; }
th, td { text-align: left; vertical-align: top; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--edge); }
td.n, th.n { text-align: right; white-space: nowrap; }
th[scope=col] { white-space: nowrap; }
tbody th { font-weight: inherit; }
thead th { vertical-align: bottom; }
.tall thead { position: sticky; top: 0; background: var(--page); z-index: 1; }
.notice .tall thead { background: var(--page); }
th[colspan] { text-align: left; border-bottom: 0; padding-left: .9rem; }
#arms-table td, #arms-table th { max-width: 18rem; }
.tall td:not(.n) { min-width: 7rem; }
.tall td:last-child:not(.n) { min-width: 16rem; }
#arms-table tbody th { position: sticky; left: 0; background: var(--page);
  overflow-wrap: anywhere; min-width: min(9rem, 40vw); max-width: min(24rem, 45vw); }
#arms-table tbody tr:hover > * { background: var(--card); }
th button { all: unset; cursor: pointer; color: var(--link); }
th button:focus-visible, input:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
th[aria-sort=ascending] button::after { content: " ▲"; }
th[aria-sort=descending] button::after { content: " ▼"; }
#arms-tools { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; align-items: baseline; margin: .6rem 0; }
#arms-tools[hidden], .printed { display: none; }
input { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--thin); border-radius: .3rem;
  padding: .15rem .4rem; max-width: 100%; }
.settings td { overflow-wrap: anywhere; }
footer { margin-top: 2.5rem; }
text { font-family: inherit; fill: var(--ink); unicode-bidi: isolate; }
.t { font-size: 10px; }
.s { font-size: 9px; fill: var(--soft); }
.in { font-size: 8.5px; }
.own { fill: var(--soft); font-weight: 600; }
.halo { paint-order: stroke; stroke: var(--page); stroke-width: 2.5px; stroke-linejoin: round; }
.grid { stroke: var(--grid); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; }
.threshold { stroke: var(--ink); stroke-width: 1.3; }
.frame { fill: none; stroke: var(--ink); stroke-width: 1.3; }
.plane { fill: none; stroke: var(--edge); }
.small { stroke: var(--thin); stroke-width: .6; }
.dot { fill: var(--ink); }
.h-none { fill: var(--none); stroke: var(--thin); stroke-width: .6; stroke-dasharray: 1.5 1.5; }
.v-different { fill: var(--h6); }
.v-different-ink { fill: var(--i6); }
.v-same { fill: var(--h2); stroke: var(--thin); stroke-width: .6; }
.v-same-ink { fill: var(--i2); }
.v-open { fill: var(--none); stroke: var(--thin); stroke-width: .8; stroke-dasharray: 1.5 1.5; }
.scroll + h3 { margin-top: 1rem; }
.margin { font-size: 7px; }
.band { fill: var(--h1); stroke: var(--together); stroke-width: .8; stroke-dasharray: 3 2; }
.node { stroke: var(--page); stroke-width: 1.2; }
.node-ink { fill: var(--node); font-weight: 700; }
.whisker { stroke: var(--ink); stroke-width: 1; }
.box { stroke: var(--ink); stroke-width: 3.4; }
.median { stroke: var(--ink); stroke-width: 1.6; }
.e-together { stroke: var(--thin); stroke-width: .6; }
.e-open { stroke: var(--apart); stroke-width: 1; stroke-dasharray: 4 3; }
.e-open.faint { stroke-width: .7; stroke-opacity: .35; }
.e-conflict { stroke: var(--ink); stroke-width: 2.4; }
polyline { fill: none; }
.l-apart { stroke: var(--apart); stroke-width: 1.1; stroke-opacity: .85; }
.dots { fill: none; stroke-width: 4; stroke-linecap: round; stroke-opacity: .6; }
.others { fill: var(--edge); }
.mine { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.l-together { stroke: var(--together); stroke-width: 1.1; stroke-dasharray: 3 2.4; }
"""

_FILLS = "".join(
    [f".h{i} {{ fill: var(--h{i}); }} .h{i}-ink {{ fill: var(--i{i}); }}\n" for i in range(8)]
    + [f".g{i} {{ fill: var(--g{i}); }} .s{i} {{ stroke: var(--g{i}); }}\n" for i in range(8)]
)
_MEDIA = """@media (max-width: 40rem) {
  body { padding: 1rem .9rem 2rem; }
  .facts { display: grid; grid-template-columns: repeat(2, 1fr); }
  figure svg.wide { max-width: none; }
}
@media (min-width: 60rem) { #arms-table:not(.long) tbody th { white-space: nowrap; } }
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; }
  .figures { grid-template-columns: 1fr 1fr; }
  figure, .card, .verdict, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .tall, .scroll { max-height: none; overflow: visible; }
  table { font-size: 8pt; }
  th, td { padding-right: .45rem; }
  .tall td:not(.n), .tall td:last-child:not(.n), #arms-table tbody th { min-width: 0; }
  th[scope=col] { white-space: normal; }
  a[data-group] { display: none; }
  .tall thead, #arms-table tbody th { position: static; }
  #arms-tools { display: none; }
  .printed { display: block; }
  #arms-table tbody tr:nth-child(n + PRINTED) { display: none; }
  details.short::details-content { content-visibility: visible; block-size: auto; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
STYLE = (
    f"\n:root {{ color-scheme: light dark; {_variables(LIGHT)} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}\n"
    + _RULES
    + _FILLS
    + _MEDIA.replace("PRINTED", str(PRINTED + 1))
)
