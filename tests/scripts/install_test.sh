#!/bin/bash
# What `cmake --install` makes of a build folder: it runs anywhere and as anybody, knows what is inside, and goes
# without a trace.
#   tests/scripts/install_test.sh BUILD
# shellcheck source=tests/scripts/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
build=${1:?the build folder}
chmod 755 "$work"
prefix="$work/a prefix"

capture cmake --install "$build" --prefix "$prefix"
claim "it is installed" [ "$status" = 0 ]

# As a user who can read nothing of who built it, where that can be had.
as_other=()
if ((EUID == 0)); then as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi
dtrain() {
  (cd "$work/elsewhere" && "${as_other[@]}" env -i PATH=/usr/bin:/bin HOME=/nonexistent TMPDIR="$work/elsewhere" \
    "$prefix/bin/dtrain" "$@")
}
mkdir -m 777 "$work/elsewhere"
if "${as_other[@]}" test -x "$build/dtrain"; then # not in a checkout that others cannot enter
  capture "${as_other[@]}" "$build/dtrain" --version
  claim "another user runs what is in the build folder" [ "$status" = 0 ]
fi
cat >"$work/job.yaml" <<'SPEC'
name: installed
strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 64, test_examples: 32}
batch: {per_replica: 16}
model: {kind: mlp, hidden: [8]}
train: {epochs: 1}
SPEC
capture dtrain --version
claim "another user runs it" [ "$status" = 0 ]
version=$out
capture dtrain run "$work/job.yaml" --run-dir run
claim "and trains" [ "$status" = 0 ]
claim "with replicas" grep -q '"event":"run_end".*"status":"completed"' "$work/elsewhere/run/metrics.jsonl"

runtimes='^[[:space:]]*(linux-vdso|/lib)|lib(c|m|dl|rt|util|pthread|gcc_s|stdc\+\+|asan|ubsan)\.so'
strangers=$(LC_ALL=C ldd "$prefix/bin/dtrain" | grep -vE "=> $prefix/|$runtimes")
claim "all libraries but the runtimes of C and C++ are its own: $strangers" [ -z "$strangers" ]
if [[ -e $build/libdtrain_cuda.so ]]; then
  claim "the module for GPUs is installed where it was built" [ -e "$prefix/lib/dtrain/libdtrain_cuda.so" ]
else
  claim "there is no module for GPUs where none was built" [ ! -e "$prefix/lib/dtrain/libdtrain_cuda.so" ]
fi

claim "the module for plugins is installed where it was built" \
  [ "$(test -e "$build/libdtrain_pjrt.so" && echo built)" = "$(test -e "$prefix/lib/dtrain/libdtrain_pjrt.so" && echo built)" ]

claim "the module for Parquet is installed where it was built" \
  [ "$(test -e "$build/libdtrain_parquet.so" && echo built)" = "$(test -e "$prefix/lib/dtrain/libdtrain_parquet.so" && echo built)" ]

capture dtrain --version --verbose
claim "it begins with the version" [ "${out%%$'\n'*}" = "$version" ]
claim "it tells LibTorch's licence" contains "$out" "LibTorch 2."
if command -v dpkg-query >/dev/null; then
  claim "it knows the version and licence of every library" \
    [ "$(grep -cE 'of the system|see its authors|: $' <<<"$out")" = 0 ]
  claim "and each has its text" [ "$(grep -cE '^  (lib|zlib|nlohmann).*: ' <<<"$out")" -le \
    "$(($(find "$prefix/share/doc/dtrain/licences" -type f | wc -l) + 3))" ]
fi

for page in dtrain dtrain-run dtrain-find-lr; do claim "$page.1" [ -s "$prefix/share/man/man1/$page.1" ]; done
if command -v groff >/dev/null; then
  warnings=$(groff -man -w w -w mac -z "$prefix"/share/man/man1/*.1 2>&1)
  claim "the manual has no mistakes: $warnings" [ -z "$warnings" ]
fi
claim "bash's completion can be read" bash -n "$prefix/share/bash-completion/completions/dtrain"
claim "zsh's names its command" [ "$(head -n 1 "$prefix/share/zsh/vendor-completions/_dtrain")" = "#compdef dtrain" ]
claim "fish's is there" [ -s "$prefix/share/fish/vendor_completions.d/dtrain.fish" ]
claim "the examples are there" [ -e "$prefix/share/dtrain/configs/mnist_mirrored.yaml" ]
claim "the documents are there" [ -e "$prefix/share/doc/dtrain/docs/spec.md" ]
capture "$prefix/share/dtrain/scripts/launch_ssh" --hosts a,b --dry-run "$work/job.yaml"
claim "the launchers start the program beside them" contains "${out//\\/}" "$prefix/bin/dtrain run"

# What plug-ins are built with is installed when it is asked for.
folders=$(cd "$prefix" && echo -- * lib/*)
claim "nothing for building plug-ins is there: $folders" [ "$folders" = "-- bin lib share lib/dtrain" ]
capture cmake --install "$build" --component development --prefix "$work/development"
claim "the component development is installed" [ "$status" = 0 ]
libtorch=include/dtrain/libtorch
claim "with LibTorch's headers" [ -s "$work/development/$libtorch/torch/csrc/api/include/torch/nn/module.h" ]
claim "in its own folders" [ "$(cd "$work/development/$libtorch" && echo *)" = "ATen c10 caffe2 torch" ]
claim "and no other files" [ -z "$(find "$work/development/$libtorch" -type f ! -name '*.h*' ! -name '*.cuh')" ]
others=$(cd "$work/development" && find -- * -type f ! -path "$libtorch/*" ! -path '*/licences/torch/*' | sort | xargs)
package="lib/cmake/dtrain/dtrainConfig.cmake lib/cmake/dtrain/dtrainConfigVersion.cmake"
claim "and the rest is: $others" [ "$others" = "include/dtrain/plugin.h $package share/doc/dtrain/LICENSE" ]

mv "$prefix" "$work/moved"
prefix=$work/moved
capture dtrain plan "$work/job.yaml"
claim "it can be moved" [ "$status" = 0 ]
mv "$work/moved" "$work/a prefix"
capture cmake --build "$build" --target uninstall
claim "it is removed" [ "$status" = 0 ]
claim "without a trace" [ ! -e "$work/a prefix" ]
claim "and so is the component development" [ ! -e "$work/development" ]

finish
