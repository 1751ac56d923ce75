#!/usr/bin/env python3
"""Checks a built site (scripts/build_site): site_links.py FOLDER

Every link within the site has to lead to a file, and to a heading or other element where it names one. Every page has to
be in the navigation. No page may load anything from elsewhere. And a heading's anchor has to be the one that code hosts
make of it, so that a link works in the repository and on the site. Prints each violation; exits with 1 if there is one.
"""
import html.parser
import pathlib
import re
import sys
import urllib.parse

LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


class Page(html.parser.HTMLParser):
    """The targets and links of one page, and the texts of its headings by their anchors."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads, self.headings, self.navigation = set(), [], [], {}, set()
        self.heading, self.skipped, self.in_navigation = None, False, 0
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(attributes[name] for name in ("id", "name") if attributes.get(name))
        if tag == "nav":
            self.in_navigation += 1
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
            if self.in_navigation:
                self.navigation.add(attributes["href"])
        self.loads += [attributes[name] for element, name in LOADED if element == tag and attributes.get(name)]
        if re.fullmatch("h[1-6]", tag) and "id" in attributes:
            self.heading = attributes["id"]
            self.headings[self.heading] = ""
        self.skipped = tag == "a" and attributes.get("class") == "headerlink"

    def handle_endtag(self, tag):
        if tag == "nav":
            self.in_navigation -= 1
        if re.fullmatch("h[1-6]", tag):
            self.heading = None
        self.skipped = False

    def handle_data(self, text):
        if self.heading and not self.skipped:
            self.headings[self.heading] += text


def anchor_of(heading):
    """What code hosts make of a heading's text."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def problems_of(site):
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    if not pages:
        yield f"{site}: no pages"
    listed = set()
    for path, page in pages.items():
        where = path.relative_to(site)
        for link in page.links + page.loads:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads:
                    yield f"{where}: loads {link}"
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            if link in page.navigation and target != path:
                listed.add(target)
            if not target.is_relative_to(site) or not target.exists():
                yield f"{where}: {link} leads nowhere"
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].ids:
                yield f"{where}: {link}: no such heading"
        for anchor, heading in page.headings.items():
            # The second heading of the same words gets a number, as in heading_1.
            if anchor_of(heading) not in (anchor, re.sub(r"_\d+$", "", anchor)):
                yield f"{where}: the heading '{heading}' has another anchor in the repository than #{anchor}"
    for path in pages.keys() - listed:
        yield f"{path.relative_to(site)}: not in the navigation (docs/mkdocs.yml)"


def main():
    found = list(problems_of(pathlib.Path(sys.argv[1]).resolve()))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
