"""Formulas as MathML, converted when the site is built.

Browsers render MathML themselves: no script, no fonts, no network, and the colour of
the text in light and dark mode. Decision 0021 says why.
"""

import xml.etree.ElementTree as ET

from docutils import nodes
from latex2mathml.converter import convert

__all__ = ["setup", "to_mathml"]

_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_TIGHT = set("|/‖∥")  # fences and quotients here, not relations
_BEFORE_A_SIGN = set("(,=[")


def to_mathml(latex, display):
    """Convert, and mend what a browser would set wrongly."""
    ET.register_namespace("", _NAMESPACE)
    root = ET.fromstring(convert(latex, display=display))
    for element in root.iter():
        _mend_children(element)
        first = element[0] if len(element) else None
        if display == "block" and element.tag.endswith("}msub") and _is_limit(first):
            element.tag = f"{{{_NAMESPACE}}}munder"
    return ET.tostring(root, encoding="unicode")


def _is_limit(element):
    return element is not None and element.text in ("max", "min")


def _mend_children(element):
    """Set bars close to what they enclose, and a sign close to its number."""
    before = ""
    for child in element:
        if child.text in _TIGHT:
            child.set("lspace", "0")
            child.set("rspace", "0")
            child.set("stretchy", "false")
        if child.text == "\N{MINUS SIGN}" and before in _BEFORE_A_SIGN:
            child.set("form", "prefix")
        before = child.text or " "


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
