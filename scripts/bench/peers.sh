# shellcheck shell=bash
# Functions for the benchmarks against other trainers. Source it after scripts/common.sh, in a script that has a
# `program`.

# Set by the script that sources this file.
: "${root:?}" "${dtrain_cache:?}"

environments=$dtrain_cache/peers

# Sets the array `data` to the options with the folder of MNIST, or of Fashion-MNIST in its place.
find_bench_data() {
  # shellcheck disable=SC2034  # used by the script that sources this
  if [[ -r ${DTRAIN_DATA:-}/mnist/train-images-idx3-ubyte.gz || -r ${DTRAIN_DATA:-}/mnist/train-images-idx3-ubyte ]]; then
    data=(--dataset mnist --data "$DTRAIN_DATA/mnist")
  else
    data=(--dataset fashion_mnist --data /usr/share/datasets/fashion-mnist)
  fi
}

# What install_peers was making when it was stopped.
clean_up() { rm -rf "$environments"/.*.new; }

# install_peers NAME...: creates their virtual environments in $environments, if they do not exist. Each is made under
# another name, and gets its own when it is whole.
install_peers() {
  local peer requirements environment making log
  mkdir -p "$environments"
  hold_lock "$environments/lock" "setting up the peers"
  for peer in "$@"; do
    requirements=$root/scripts/bench/$peer.txt
    environment=$environments/$peer
    # A stamp holds the requirements. If they differ, everything is installed again.
    if ! cmp -s "$requirements" "$environment/installed.txt"; then
      log=$environments/$peer.log
      : >"$log"
      making=$environments/.$peer.new
      clean_up
      if ! { run_logged "installing $peer for the comparison" "$log" python3 -m venv "$making" &&
        run_logged "fetching its packages (some minutes)" "$log" "$making/bin/python" -m pip install --no-input \
          --disable-pip-version-check --no-cache-dir --requirement "$requirements"; }; then
        clean_up
        exit 1
      fi
      cp "$requirements" "$making/installed.txt"
      rm -rf "$environment"
      mv "$making" "$environment"
    fi
  done
  release_lock
}

# Builds this checkout's dtrain and sets `program` to it, unless `program` is already set.
find_program() {
  [[ -z $program ]] || return 0
  "$root/scripts/dtrain" --version >/dev/null
  program=$root/build/release/dtrain
}
