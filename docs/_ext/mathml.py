"""Formulas as MathML, converted when the site is built.

Browsers render MathML themselves: no script, no fonts, no network, and the colour of
the text in light and dark mode. Decision 0070 says why.
"""

from docutils import nodes
from latex2mathml.converter import convert

__all__ = ["setup"]


def inline_math(translator, node):
    translator.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def display_math(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    if node["number"]:
        number = f"({node['number']})"
        translator.body.append(f'<span class="eqno">{number}')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    for line in node.astext().split("\n\n"):
        if line.strip():
            translator.body.append(convert(line, display="block"))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(inline_math, None),
        block_renderers=(display_math, None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
