"""Formulas as MathML, made when the site is built. A formula that cannot be read is a warning, and ends the build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

_LOG = logging.getLogger(__name__)
_READER = LatexToMathML(fancy_error=False)


def mathml(latex: str, *, display: bool) -> str:
    r"""One formula; `\tag` puts a number beside it."""
    numbered = display and r"\tag" in latex
    source = rf"\begin{{equation}}{latex}\end{{equation}}" if numbered else latex
    return _READER.convert_with_local_state(source, displaystyle=display)


def _check(app: Sphinx, doctree: nodes.document) -> None:
    """Read every formula as soon as its page is read, whatever is built from it."""
    for node in doctree.findall(lambda node: isinstance(node, nodes.math | nodes.math_block)):
        try:
            mathml(node.astext(), display=isinstance(node, nodes.math_block))
        except LatexError as error:
            _LOG.warning("this formula cannot be read: %s: %s", node.astext(), error, location=node)


def _write(translator: HTML5Translator, node: nodes.Element, *, display: bool) -> None:
    formula = mathml(node.astext(), display=display)
    translator.body.append(f'<div class="formula">{formula}</div>' if display else formula)
    raise nodes.SkipNode


def _inline(translator: HTML5Translator, node: nodes.Element) -> None:
    _write(translator, node, display=False)


def _display(translator: HTML5Translator, node: nodes.Element) -> None:
    _write(translator, node, display=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("doctree-read", _check)
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
