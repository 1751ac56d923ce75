#!/bin/bash
# The site that scripts/build_site makes of the documents: every link and anchor leads somewhere, and nothing is loaded
# from elsewhere. Then that each of these is noticed, in a copy with mistakes.
# shellcheck source=tests/scripts/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
export XDG_CACHE_HOME="$work/cache"
if ! command -v mkdocs >/dev/null; then
  echo "skipped: mkdocs is not installed (scripts/setup --tests)"
  exit 77
fi
check() { capture python3 "$sources/tests/scripts/site_links.py" "$1"; }

capture "$sources/scripts/build_site" "$work/site"
claim "the documents make a site" [ "$status" = 0 ]
check "$work/site"
claim "links, anchors and the navigation of the site are right" [ "$status" = 0 ]
for page in index docs/spec docs/getting-started datasets/index; do
  claim "it has $page.html" [ -s "$work/site/$page.html" ]
done
capture "$sources/scripts/build_site" "$work/site"
claim "a site can be built again in its place" [ "$status" = 0 ]
mkdir "$work/other" && touch "$work/other/thesis.txt"
capture "$sources/scripts/build_site" "$work/other"
claim "another folder is not replaced" [ "$status" = 1 ]
claim "and stays as it was" [ -e "$work/other/thesis.txt" ]

copy="$work/my checkout"
mkdir -p "$copy"
cp -r "$sources"/{scripts,docs,configs,README.md,LICENSE} "$copy/"
mkdir "$copy/datasets"
cp "$sources/datasets/README.md" "$copy/datasets/"

echo "[there](nowhere.md)" >>"$copy/docs/faq.md"
capture "$copy/scripts/build_site" "$work/site"
claim "a link to a missing page fails the build" [ "$status" = 1 ]
claim "it is named" contains "$err" "nowhere.md"
claim "the site stays as it was" [ -s "$work/site/index.html" ]
sed -i '$d' "$copy/docs/faq.md"

echo "alone" >"$copy/docs/alone.md"
cat >>"$copy/docs/faq.md" <<'EOF'

[there](spec.md#no-such-heading), [here](#neither), <a href="absent.html">data</a>

## A heading -- with dashes

![stars](https://example.org/stars.svg)
EOF
capture "$copy/scripts/build_site" "$work/wrong"
check "$work/wrong"
claim "mistakes that mkdocs lets pass fail the check" [ "$status" = 1 ]
claim "a wrong anchor" contains "$out" "docs/faq.html: spec.html#no-such-heading: no such heading"
claim "a wrong anchor of the same page" contains "$out" "docs/faq.html: #neither: no such heading"
claim "a file that is not there" contains "$out" "docs/faq.html: absent.html leads nowhere"
claim "something that is loaded" contains "$out" "docs/faq.html: loads https://example.org/stars.svg"
claim "an anchor that the repository has not" contains "$out" "the heading 'A heading -- with dashes' has another anchor"
claim "a page that nobody finds" contains "$out" "docs/alone.html: not in the navigation"
claim "and nothing else" [ "$(wc -l <<<"$out")" = 6 ]

finish
