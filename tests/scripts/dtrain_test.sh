#!/bin/bash
# scripts/dtrain over a small project of its own: what it hands on, when it builds, and what it does when told to stop.
# shellcheck source=tests/scripts/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
checkout="$work/my checkout"
mkdir -p "$checkout"/{scripts/tpu,lib,cmake,apps} "$work/elsewhere"
touch "$checkout"/scripts/{libtorch.txt,arrow.txt,tpu/header.txt}
cp "$sources"/scripts/{dtrain,common.sh} "$checkout/scripts/"
cp "$sources/CMakePresets.json" "$checkout/"
unset CCACHE_DIR CMAKE_PREFIX_PATH
export XDG_CACHE_HOME="$work/cache"

cat >"$checkout/scripts/setup" <<EOF
#!/bin/bash
echo called >>"$work/setups"
EOF
chmod +x "$checkout/scripts/setup"
cat >"$checkout/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.22)
project(stand_in LANGUAGES CXX)
set(LIBTORCH_CPU_LIBRARY "$work/libtorch_cpu.so" CACHE FILEPATH "")
add_custom_target(slow COMMAND sh "$work/slow.sh" VERBATIM)
add_executable(dtrain apps/main.cpp)
add_dependencies(dtrain slow)
EOF
touch "$work/libtorch_cpu.so" "$work/slow.sh"
cat >"$checkout/apps/main.cpp" <<'EOF'
#include <unistd.h>
#include <cstdio>
int main(int count, char** arguments) {
  char folder[4096];
  std::printf("in %s\n", getcwd(folder, sizeof folder));
  for (int i = 1; i < count; ++i) std::printf("<%s>\n", arguments[i]);
  return count == 1 ? 0 : 42;
}
EOF
ln -s "$checkout/scripts/dtrain" "$work/link"
cd "$work/elsewhere" || exit 1
setups() { wc -l <"$work/setups"; }

# Several first calls at once, as mpirun makes them: one builds, the others wait for it.
for i in 1 2 3 4; do "$checkout/scripts/dtrain" >"$work/first$i" 2>"$work/first$i.err" </dev/null & done
wait
err=$(cat "$work"/first*.err)
for i in 1 2 3 4; do claim "call $i of 4 at once ran" [ "$(<"$work/first$i")" = "in $work/elsewhere" ]; done
claim "one of 4 calls at once built" [ "$(setups)" = 1 ]
claim "the builder says what it does" contains "$err" "dtrain: building (release"

# shellcheck disable=SC2016
capture "$work/link" --set "name=two words" "" "*" -- '$HOME' "a\\b"
claim "arguments arrive as they were given" \
  [ "$out" = "in $work/elsewhere"$'\n<--set>\n<name=two words>\n<>\n<*>\n<-->\n<$HOME>\n<a\\b>' ]
claim "the exit code is the program's" [ "$status" = 42 ]
claim "a built program starts without a word" [ -z "$err" ]
claim "and without a set-up" [ "$(setups)" = 1 ]

sed -i 's/"in /"now in /' "$checkout/apps/main.cpp"
capture "$checkout/scripts/dtrain"
claim "a changed source is built first" [ "$out" = "now in $work/elsewhere" ]

touch "$checkout/lib/new.cpp"
capture "$checkout/scripts/dtrain"
claim "a new file is noticed" [ "$(setups)" = 3 ]

mv "$work/libtorch_cpu.so" "$work/libtorch_moved.so"
sed -i 's/libtorch_cpu.so/libtorch_moved.so/' "$checkout/CMakeLists.txt"
capture "$checkout/scripts/dtrain"
claim "a LibTorch that is gone is looked for anew" [ "$out" = "now in $work/elsewhere" ]

# As cmake/LibTorch.cmake makes them: those who cannot read the cache can run what is built.
mkdir "$checkout/build/release/libtorch" && touch "$checkout/build/release/libtorch/libtorch_cpu.so"
mv "$work/libtorch_moved.so" "$work/unreadable"
before=$(setups)
capture "$checkout/scripts/dtrain"
claim "a build with links of its own to LibTorch needs no cache" [ "$out" = "now in $work/elsewhere" ]
claim "and is not built again" [ "$(setups)" = "$before" ]
rm -r "$checkout/build/release/libtorch"
mv "$work/unreadable" "$work/libtorch_moved.so"

mv "$checkout" "$work/moved"
checkout=$work/moved
capture "$checkout/scripts/dtrain"
claim "a moved checkout works" [ "$out" = "now in $work/elsewhere" ]
touch "$checkout/apps/main.cpp"
capture "$checkout/scripts/dtrain"
claim "and builds" [ "$out" = "now in $work/elsewhere" ]

cp "$checkout/apps/main.cpp" "$work/good.cpp"
echo 'this_is_wrong;' >>"$checkout/apps/main.cpp"
capture "$checkout/scripts/dtrain"
claim "a failed build is a failure" [ "$status" = 1 ]
claim "the compiler's words are shown" contains "$err" "this_is_wrong"
claim "the log is named" contains "$err" "$checkout/build/release.log"
claim "stdout stays the program's" [ -z "$out" ]
capture "$checkout/scripts/dtrain"
claim "the old program does not run instead" [ "$status" = 1 ]

# Stopped while it builds.
cp "$work/good.cpp" "$checkout/apps/main.cpp"
echo "echo \$\$ >'$work/slow.pid.new'; mv '$work/slow.pid.new' '$work/slow.pid'; exec sleep 60" >"$work/slow.sh"
"$checkout/scripts/dtrain" >"$work/out" 2>"$work/err" </dev/null &
wrapper=$!
claim "the slow build starts" until_exists "$work/slow.pid"
started=$SECONDS
kill -TERM "$wrapper"
status=0
wait "$wrapper" || status=$?
err=$(<"$work/err")
claim "a signal ends it as such" [ "$status" = 143 ]
claim "at once" [ $((SECONDS - started)) -lt 10 ]
claim "with a word" contains "$err" "dtrain: stopped"
claim "and what it had started" until_gone "$(<"$work/slow.pid")"
: >"$work/slow.sh"
capture "$checkout/scripts/dtrain"
claim "the next call goes on" [ "$out" = "now in $work/elsewhere" ]

# jobs_with FILE LIMIT: how many compilers, on 64 cores with 100 GB, where a control group has that limit.
jobs_with() {
  rm -rf "$work/cgroups" && mkdir -p "$work/cgroups/memory" && echo "$2" >"$work/cgroups/$1"
  # shellcheck disable=SC2016 # the shell that it starts expands them
  root=$checkout bash -c 'source "$root/scripts/common.sh" && nproc() { echo 64; } && awk() { echo 100000; } &&
    control_groups=$1 && parallel_jobs' bash "$work/cgroups"
}
claim "as many compilers as cores" [ "$(jobs_with memory.max max)" = 64 ]
claim "but no more than the memory of a container allows" [ "$(jobs_with memory.max $((3 << 30)))" = 2 ]
claim "also by version 1" [ "$(jobs_with memory/memory.limit_in_bytes $((3 << 30)))" = 2 ]
claim "whose largest number is no limit" [ "$(jobs_with memory/memory.limit_in_bytes 9223372036854771712)" = 64 ]

finish
