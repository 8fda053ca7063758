"""Check a built site: ``python docs/check_site.py docs/_build/html``.

Every link inside the site leads to a page and an anchor that exist, every picture and
script is there, and no page loads anything from elsewhere.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "link": "href", "source": "src"}


class Page(HTMLParser):
    """Anchors, links and loaded files of one page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = {""}, [], []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        facts = dict(attrs)
        self.anchors.update(filter(None, (facts.get("id"), facts.get("name"))))
        if tag == "a" and facts.get("href"):
            self.links.append(facts["href"])
        # A canonical or alternate address is a fact, not something to load.
        elif facts.get(LOADED.get(tag, ""), "") and facts.get("rel") != "canonical":
            self.loaded.append(facts[LOADED[tag]])


def faults(folder):
    """Yield what is wrong, one line each."""
    pages = {
        path.resolve(): Page(path)
        for path in folder.rglob("*.html")
        if "_static" not in path.parts  # templates of the theme
    }
    for path, page in pages.items():
        where = path.relative_to(folder.resolve())
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{where} loads {address}"
        for address in page.links + page.loaded:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target, anchor = path, unquote(parts.fragment)
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
            if not target.exists():
                yield f"{where}: {address} does not exist"
            elif target in pages and anchor not in pages[target].anchors:
                yield f"{where}: {address} has no such anchor"


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1])))
    print("\n".join(found) or "all links lead somewhere, nothing comes from elsewhere")
    sys.exit(bool(found))
