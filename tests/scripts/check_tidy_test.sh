#!/bin/bash
# scripts/check_tidy over a small project of its own, with a stand-in for clang-tidy: which files it is to look at.
# shellcheck source=tests/scripts/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
: "${work:?}"
checkout=$work/checkout
mkdir -p "$checkout"/{scripts,cmake,lib/base/plain,lib/base/heavy} "$work/bin" || exit 1
cp "$sources"/scripts/{check_tidy,common.sh} "$checkout/scripts/"
cp "$sources/CMakePresets.json" "$checkout/"
unset CCACHE_DIR CMAKE_PREFIX_PATH GITHUB_BASE_REF
export XDG_CACHE_HOME="$work/cache" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

cat >"$checkout/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.22)
project(stand_in LANGUAGES CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(LIBTORCH_CPU_LIBRARY "$work/libtorch_cpu.so" CACHE FILEPATH "")
function(dtrain_room name)
  file(GLOB files CONFIGURE_DEPENDS "lib/base/\${name}/*.cpp")
  add_library(\${name} \${files})
endfunction()
dtrain_room(plain)
dtrain_room(heavy TORCH LINK plain)
EOF
touch "$work/libtorch_cpu.so" "$checkout"/lib/base/plain/{one,two}.cpp "$checkout"/lib/base/heavy/{one,two}.cpp
cat >"$work/bin/clang-tidy" <<EOF
#!/bin/bash
echo "\${!#}" >>"$work/looked_at"
EOF
chmod +x "$work/bin/clang-tidy"
export PATH="$work/bin:$PATH"
cd "$checkout" || exit 1
echo /build >.gitignore
git init --quiet --initial-branch=main
git add -A
git commit --quiet -m "the first"

# looked_at ARGUMENT...: leaves in $files those that check_tidy looks at, without their suffix, in one line.
looked_at() {
  : >"$work/looked_at"
  capture scripts/check_tidy "$@"
  files=$(sed "s|^$checkout/lib/base/||; s|\.cpp$||" "$work/looked_at" | sort | tr '\n' ' ')
}

looked_at
claim "without an earlier revision, the rooms without LibTorch" [ "$files" = "plain/one plain/two " ]
looked_at --changed
claim "the same if what has changed is not known" [ "$files" = "plain/one plain/two " ]
claim "which it says" contains "$err" "git knows no earlier revision"

echo "// changed" >>lib/base/heavy/two.cpp
git commit --quiet -am "the second"
looked_at
claim "what the last commit has changed, too" [ "$files" = "heavy/two plain/one plain/two " ]
looked_at --changed
claim "only that" [ "$files" = "heavy/two " ]
looked_at --changed HEAD
claim "what has changed since a revision" [ -z "$files" ]
claim "and if nothing has, it says so" contains "$err" "no .cpp file has changed"
touch lib/base/heavy/three.cpp
looked_at --changed HEAD
claim "a file that git does not know is new" [ "$files" = "heavy/three " ]
rm lib/base/heavy/three.cpp
touch lib/base/heavy/n{1..14}.cpp
looked_at
claim "of many in rooms with LibTorch, so many that it ends in minutes" [ "$(grep -o heavy/ <<<"$files" | wc -l)" = 8 ]
claim "it counts the others" contains "$err" "changed files are left out: scripts/check_tidy --changed"
looked_at --changed HEAD
claim "which it looks at when it is told to" [ "$(wc -w <<<"$files")" = 14 ]
rm lib/base/heavy/n*.cpp
git mv lib/base/heavy/two.cpp lib/base/heavy/moved.cpp
looked_at --changed HEAD
claim "a file that has only moved is not changed" [ -z "$files" ]
git reset --quiet --hard

echo "// changed" >>lib/base/plain/one.cpp
git commit --quiet -am "the third"
git update-ref refs/remotes/origin/main HEAD~2
looked_at --changed
claim "main of origin is what was accepted last" [ "$files" = "heavy/two plain/one " ]
git update-ref refs/remotes/origin/release HEAD~1
GITHUB_BASE_REF=release looked_at --changed
claim "a pull request is for its base" [ "$files" = "plain/one " ]
git update-ref refs/remotes/origin/main HEAD
looked_at --changed
claim "a commit that is main of origin already is compared with the one before" [ "$files" = "plain/one " ]
looked_at --all
claim "all" [ "$files" = "heavy/one heavy/two plain/one plain/two " ]

looked_at --changed nowhere
claim "a revision that is none is refused" [ "$status" = 1 ]
looked_at main
claim "an argument that is none is refused" [ "$status" = 2 ]
finish
