#!/bin/bash
# scripts/convert_weights without a network: what it looks at before it fetches anything, and which Python it takes. A
# stand-in for Python notes what it is asked for.
# shellcheck source=tests/scripts/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
convert=$sources/scripts/convert_weights
export XDG_CACHE_HOME=$work/cache
mkdir "$work/bin"
export PATH=$work/bin:$PATH
unset PYTHON
real=$(command -v python3)

# python FILE MODULES...: a Python that has these modules, makes environments, and cannot fetch packages.
python() {
  local file=$1
  shift
  cat >"$file" <<SCRIPT
#!/bin/bash
echo "\$*" >>"$work/asked"
case "\$1 \$2" in
  "-c import sys"*) shift 2; for one; do [[ " $* " == *" \$one "* ]] || exit 1; done ;;
  "-m zipfile") exec "$real" "\$@" ;;
  */convert.py\ --spec) [[ " \$* " != *" --check "* ]] || exec "$real" "\$@" ;;
  "-m venv") mkdir -p "\$3/bin"; cp "\$0" "\$3/bin/python" ;;
  "-m pip") [[ -z \${KEEPS_FETCHING:-} ]] || { touch "$work/fetching"; exec sleep 60; }; exit 1 ;;
esac
SCRIPT
  chmod +x "$file"
}
asked_for() { grep -q -- "$1" "$work/asked"; }
python "$work/bin/python3"

echo "no weights" >"$work/a.pth"
capture "$convert" "$work/a.pth" "$work/a.safetensors"
claim "a file that torch.save() has not written is refused" contains "$err" "a.pth: no file of torch.save()"
claim "with exit code 1" [ "$status" = 1 ]
cp "$work/a.pth" "$work/a.h5"
capture "$convert" "$work/a.h5" "$work/a.safetensors"
claim "and one that is not HDF5" contains "$err" "a.h5: no HDF5 file"
cp "$work/a.pth" "$work/a.keras"
capture "$convert" "$work/a.keras" "$work/a.safetensors"
claim "and one that is no archive" contains "$err" "a.keras: no .keras file"
(cd "$work" && "$real" -m zipfile -c whole.pth a.pth)
head -c 60 "$work/whole.pth" >"$work/cut.pth"
capture "$convert" "$work/cut.pth" "$work/a.safetensors"
claim "a cut archive is called so" contains "$err" "cut.pth: cut off or damaged"
claim "nothing was fetched for any of them" [ ! -e "$work/cache/dtrain/peers" ]

capture "$convert" "$work/whole.pth" "$work/a.safetensors"
claim "where packages cannot be fetched, it fails" [ "$status" = 1 ]
claim "after it has tried" asked_for "-m pip install"
claim "and leaves no half-made environment" [ -z "$(find "$work/cache/dtrain/peers" -name '*torch*' -type d)" ]

KEEPS_FETCHING=yes "$convert" "$work/whole.pth" "$work/a.safetensors" 2>/dev/null &
until_exists "$work/fetching"
kill -TERM $!
wait $! 2>/dev/null
claim "nor when it is stopped" [ -z "$(find "$work/cache/dtrain/peers" -name '*torch*' -type d)" ]

: >"$work/asked"
python "$work/mine" torch torchvision numpy
PYTHON=$work/mine capture "$convert" "$work/whole.pth" "$work/a.safetensors"
claim "the Python of \$PYTHON converts" asked_for "convert_weights.py $work/whole.pth $work/a.safetensors"
claim "and nothing is fetched" [ "$(grep -c -- '-m pip' "$work/asked")" = 0 ]
PYTHON=$work/bin/python3 capture "$convert" "$work/whole.pth" "$work/a.safetensors"
claim "one that lacks something is refused" contains "$err" "cannot import all of torch torchvision numpy"
: >"$work/asked"
python "$work/bin/python3" torch torchvision numpy
capture "$convert" "$work/whole.pth" "$work/a.safetensors"
claim "without \$PYTHON, python3 converts where it can" asked_for "convert_weights.py $work/whole.pth"

# Weights that are there are kept.
python "$work/bin/python3"
echo trained >"$work/there.safetensors"
: >"$work/asked"
capture "$convert" "$work/whole.pth" "$work/there.safetensors"
claim "weights that are there are kept" contains "$err" "there.safetensors is there; --overwrite replaces it"
claim "before anything is fetched" [ "$(grep -c -- '-m pip' "$work/asked")" = 0 ]
capture "$convert" "$work/mlp.keras" --spec "$work/job.yaml" "$work/there.safetensors"
claim "those beside a spec, too" contains "$err" "there.safetensors is there; --overwrite replaces it"
PYTHON=$work/mine capture "$convert" "$work/whole.pth" "$work/there.safetensors" --overwrite
claim "unless they are to be replaced" asked_for \
  "convert_weights.py $work/whole.pth $work/there.safetensors --overwrite"
# The converter itself, as far as it goes with a NumPy that cannot write.
mkdir "$work/numpy"
cat >"$work/numpy/numpy.py" <<'PYTHON'
def dtype(code):
    return code


def ascontiguousarray(tensor):
    raise OSError("the disk is full")
PYTHON
export PYTHONPATH=$work/numpy:$sources/scripts/bench
weights=("$sources/scripts/bench/convert_weights.py" "$work/whole.pth" "$work/there.safetensors")
capture "$real" -B "${weights[@]}"
claim "the converter keeps them as well" contains "$err" "there.safetensors is there; --overwrite replaces it"
capture "$real" -B "${weights[@]}" --overwrite
claim "and replaces them with --overwrite" contains "$err" whole.pth
claim "as it is told" [ "${err/is there/}" = "$err" ]
capture "$real" -B -c 'import sys, types, safetensors_file
tensor = types.SimpleNamespace(dtype="<f4", nbytes=4, shape=(1,))
safetensors_file.write(sys.argv[1], {"x": tensor}, {})' "$work/there.safetensors"
claim "where the new ones cannot be written" contains "$err" "the disk is full"
claim "the old ones stay" [ "$(<"$work/there.safetensors")" = trained ]
claim "alone" [ -z "$(find "$work" -name '*.part')" ]
unset PYTHONPATH

# --spec: what a .keras file says is read before anything is fetched.
keras() { (cd "$work" && printf '%s' "$2" >config.json && "$real" -m zipfile -c "$1" config.json); }
keras mlp.keras '{"class_name": "Sequential", "config": {"layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 5]}},
  {"class_name": "Dense", "config": {"name": "dense", "units": 3}}]}}'
keras lstm.keras '{"class_name": "Sequential", "config": {"layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 5, 2]}},
  {"class_name": "LSTM", "config": {"name": "lstm", "units": 3}},
  {"class_name": "LeakyReLU", "config": {"name": "leaky"}}]}}'
: >"$work/asked"
capture "$convert" "$work/lstm.keras" --spec "$work/job.yaml"
claim "what has no counterpart is listed" contains "$err" "layer 'lstm' (LSTM): has no counterpart"
claim "all of it" contains "$err" "layer 'leaky' (LeakyReLU): has no counterpart"
claim "with exit code 1" [ "$status" = 1 ]
claim "and nothing is fetched" [ "$(grep -c -- '-m pip' "$work/asked")" = 0 ]
claim "or written" [ ! -e "$work/job.yaml" ]
python "$work/mine" h5py numpy
capture "$convert" "$work/mlp.keras" --spec "$work/job.yaml" --python "$work/mine" --channels rgb
claim "the Python of --python converts" asked_for "convert.py --spec $work/job.yaml $work/mlp.keras --channels rgb"
: >"$work/job.yaml"
capture "$convert" "$work/mlp.keras" --spec "$work/job.yaml"
claim "a spec that is there is kept" contains "$err" "job.yaml is there; --overwrite replaces it"
: >"$work/asked"
capture "$convert" "$work/mlp.keras" --spec "$work/job.yaml" --python "$work/mine" --overwrite
claim "unless it is to be replaced" asked_for "convert.py --spec $work/job.yaml $work/mlp.keras"
capture "$convert" "$work/whole.pth" --spec "$work/new.yaml"
claim "weights alone make no spec" contains "$err" "--spec needs a model of Keras"
capture "$convert" "$work/mlp.keras" --spec
claim "an option without its value is an error" [ "$status" = 2 ]
capture "$convert" "$work/mlp.keras" --spek "$work/new.yaml"
claim "and an unknown one" [ "$status" = 2 ]
finish
