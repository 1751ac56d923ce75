# shellcheck shell=bash
# What the benchmarks against other trainers share; sourced after scripts/common.sh by a script with a `program`.

# Set by the script that sources this file.
: "${root:?}" "${dtrain_cache:?}"

environments=$dtrain_cache/peers

# Sets the array `data` to the options that say where MNIST is, or Fashion-MNIST in its place.
find_bench_data() {
  # shellcheck disable=SC2034  # used by the script that sources this
  if [[ -r ${DTRAIN_DATA:-}/mnist/train-images-idx3-ubyte.gz || -r ${DTRAIN_DATA:-}/mnist/train-images-idx3-ubyte ]]; then
    data=(--dataset mnist --data "$DTRAIN_DATA/mnist")
  else
    data=(--dataset fashion_mnist --data /usr/share/datasets/fashion-mnist)
  fi
}

# install_peers NAME...: makes their virtual environments in $environments, once.
install_peers() {
  local peer requirements environment log
  mkdir -p "$environments"
  hold_lock "$environments/lock" "setting up the peers"
  for peer in "$@"; do
    requirements=$root/scripts/bench/$peer.txt
    environment=$environments/$peer
    # A stamp that is written last holds what was asked for: other requirements mean installing again.
    if ! cmp -s "$requirements" "$environment/installed.txt"; then
      log=$environments/$peer.log
      : >"$log"
      rm -rf "$environment"
      run_logged "installing $peer for the comparison" "$log" python3 -m venv "$environment"
      run_logged "fetching its packages (some minutes)" "$log" "$environment/bin/python" -m pip install --no-input \
        --disable-pip-version-check --no-cache-dir --requirement "$requirements"
      cp "$requirements" "$environment/installed.txt"
    fi
  done
  release_lock
}

# Sets `program` to this checkout's dtrain, built now, unless it is set.
find_program() {
  [[ -z $program ]] || return 0
  "$root/scripts/dtrain" --version >/dev/null
  program=$root/build/release/dtrain
}
