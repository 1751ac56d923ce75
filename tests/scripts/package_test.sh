#!/bin/bash
# scripts/package over a stand-in for cmake: what it makes, and what it leaves of the lists by which an installation is
# removed. What is in packages: scripts/check_packages.
# shellcheck source=tests/scripts/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
command -v xz >/dev/null || {
  echo "skipped: there is no xz"
  exit 77
}
packages="$work/my checkout/build/packages"
package=("$work/my checkout/scripts/package" --build "$work/tree")
lists=("$work/tree/install_manifest.txt" "$work/tree/install_manifest_development.txt")
mkdir -p "$work/my checkout/scripts" "$work/tree" "$work/bin"
cp "$sources"/scripts/{package,common.sh} "$work/my checkout/scripts/"
printf '#!/bin/bash\necho "dtrain 9.8.7"\n' >"$work/tree/dtrain"
# An installation: files, and a list of them in place of that of the last one. With a component it may fail, or take
# long.
cat >"$work/bin/cmake" <<'FAKE'
#!/bin/bash
tree=$2
while (($# > 0)); do
  case $1 in
    --prefix) prefix=$2 ;;
    --component) component=$2 ;;
  esac
  shift
done
mkdir -p "$prefix/bin" "$prefix/lib"
echo program >"$prefix/bin/dtrain"
echo "$prefix/bin/dtrain" >"$tree/install_manifest${component:+_$component}.txt"
if [[ -n ${component:-} && -n ${TAKES_LONG:-} ]]; then touch "$TAKES_LONG" && exec sleep 60; fi
[[ -z ${component:-} || -z ${FAILS:-} ]]
FAKE
printf '#!/bin/bash\necho GLIBC_2.34\n' >"$work/bin/objdump"
chmod +x "$work/tree/dtrain" "$work/bin/"*
export PATH=$work/bin:$PATH XDG_CACHE_HOME=$work/cache
unset CCACHE_DIR

capture "${package[@]}" development
claim "it packs" test "$status" = 0
claim "and says where" contains "$out" "$packages/dtrain-9.8.7-development.tar.xz"
claim "what was installed" test "$(tar -xJOf "$packages/dtrain-9.8.7-development.tar.xz" \
  dtrain-9.8.7-development/bin/dtrain)" = program
claim "and leaves nothing else" test "$(ls -A "$packages")" = $'dtrain-9.8.7-development.tar.xz\nlock\npackage.log'
claim "without an installation there is no list of one" test ! -e "${lists[0]}" -a ! -e "${lists[1]}"

# lists_stay TEXT: that of an installation is as it was, and one that there was not is not made
lists_stay() {
  claim "$1, the list of the installation stays" test "$(<"${lists[0]}")" = /opt/bin/dtrain
  claim "$1, and there is no other" test ! -e "${lists[1]}"
}
echo /opt/bin/dtrain >"${lists[0]}"
capture "${package[@]}" development
claim "it packs beside an installation" test "$status" = 0
lists_stay "packed"
rm "$packages/dtrain-9.8.7-development.tar.xz"
capture env FAILS=1 "${package[@]}" development
claim "what fails is a failure" test "$status" = 1
claim "and makes no package" test ! -e "$packages/dtrain-9.8.7-development.tar.xz"
lists_stay "failed"
TAKES_LONG=$work/begun "${package[@]}" development >/dev/null 2>&1 &
packing=$!
claim "it is in the middle of packing" until_exists "$work/begun"
kill -TERM "$packing"
wait "$packing"
claim "a signal ends it" test $? = 143
lists_stay "stopped"
claim "and nothing of it is left" test ! -e "$packages/stage"

finish
