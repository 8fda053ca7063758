"""Formulas as MathML, converted when the site is built.

Browsers render MathML themselves: no script, no fonts, no network, and the colour of
the text in light and dark mode. Decision 0070 says why.
"""

import re

from docutils import nodes
from latex2mathml.converter import convert

__all__ = ["setup", "to_mathml"]

_BAR = r"<mo([^>]*)>(&#x0007C;|&#x0002F;|&#x02016;)</mo>"
_MINUS_AFTER = (
    r"(<mo[^>]*>(?:&#x00028;|&#x0007C;|&#x0002C;|&#x0003D;)</mo>)<mo>&#x02212;"
)


def to_mathml(latex, display):
    """Convert, and mend the spaces that a browser would set wrongly."""
    text = convert(latex, display=display)
    # Bars and slashes are fences and quotients here, not relations.
    text = re.sub(_BAR, r'<mo\1 lspace="0" rspace="0">\2</mo>', text)
    return re.sub(_MINUS_AFTER, r'\1<mo form="prefix">&#x02212;', text)


def inline_math(translator, node):
    translator.body.append(to_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def display_math(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="formula"))
    translator.body.append(to_mathml(node.astext(), "block"))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({node["number"]})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(inline_math, None),
        block_renderers=(display_math, None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
