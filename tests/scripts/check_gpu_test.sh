#!/bin/bash
# The checks of scripts/check_gpu without a GPU, over stand-ins for dtrain, Python and nvidia-smi that say at once how
# fast they were: what $REFUSED, $BROKEN and $HANGING match (a regular expression of the command line) ends with 2, ends
# with 1, or does not end.
# shellcheck source=tests/scripts/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
export PYTHONDONTWRITEBYTECODE=1 WORK=$work REFUSED=none BROKEN=none HANGING=none
interpreter=$(python3 -c 'import sys; print(sys.executable)')

mkdir -p "$work/bin" "$work/jax_plugins/xla_cuda13"
touch "$work/jax_plugins/xla_cuda13/xla_cuda_plugin.so" "$work/train-images-idx3-ubyte.gz"
cat >"$work/bin/nvidia-smi" <<'END'
#!/bin/bash
echo "NVIDIA Stand-in, 580.1, 1000 MiB"
END
{
  echo "#!$interpreter -IS"
  cat <<'END'
import json, os, re, sys, time

line = " ".join(sys.argv)
with open(os.environ["WORK"] + "/started", "a") as log:
    log.write(f"{os.getpid()} {line}\n")
for variable, code in ("REFUSED", 2), ("BROKEN", 1):
    if re.search(os.environ[variable], line):
        print(f"{variable.lower()}, | it said", file=sys.stderr)
        sys.exit(code)
if re.search(os.environ["HANGING"], line):
    os.system("sleep 100")  # a child, which has to end too
settings = dict(word.split("=", 1) for word in sys.argv if "=" in word)


def tell(event, **values):
    print(json.dumps({"event": event, "run": "distributed", "loss": 0.5, "accuracy": 0.995, **values}), flush=True)


def tell_steps(steps, window, microseconds):
    for step in range(window, steps + 1, window):
        tell("step", step=step, time=f"2026-01-01T00:00:{step * microseconds / 1e6:09.6f}Z")


def write(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{name}", "w") as file:
        file.write(text)


def save(folder):
    for name in "model", "optimizer":
        write(f"{folder}/checkpoints/step-000006000", f"{name}.safetensors", "the same")


def lose_a_rank():
    import subprocess

    ranks = [subprocess.Popen(["sleep", "100"], env={**os.environ, "RANK": str(rank)}) for rank in (0, 1)]
    while not all("RANK=" in open(f"/proc/{rank.pid}/environ").read() for rank in ranks):
        time.sleep(0.01)  # the kernel shows it a moment after the start
    tell("step", step=20)
    ranks[1].wait()
    ranks[0].kill()
    print("rank 1 was killed", file=sys.stderr)
    sys.exit(4)


def dtrain():
    folder = sys.argv[sys.argv.index("--run-dir") + 1] if "--run-dir" in sys.argv else None
    steps, window = int(settings.get("train.max_steps", 0)), int(settings.get("metrics.every_steps", 100))
    if "--version" in sys.argv:
        print("dtrain 1.2.3")
    elif "--resume" in sys.argv:
        save(sys.argv[sys.argv.index("--resume") + 1])
    elif "checkpoint.every_steps" in settings:
        tell("checkpoint")
        time.sleep(0.6)  # in which one of these runs is killed
        save(folder)
    elif not steps and settings.get("strategy.replicas") == "2":
        lose_a_rank()
    else:
        if "callbacks.profile.start_step" in settings:
            events = [{"cat": "kernel", "name": f"kernel {number % 3}"} for number in range(10)]
            write(folder, "profile.json", json.dumps({"traceEvents": events}))
            tell("message", text="cuda:0: 0.2 ms a step")
        for epoch, seconds in enumerate([1.1, 0.1, 0.1], 1):
            tell("epoch", epoch=epoch, seconds=seconds)
            tell("eval", epoch=epoch)
        tell_steps(steps, window, 100 if settings.get("train.step") == "xla" else 110)
        tell("run_end")


def python():
    if sys.argv[1] == "-c":
        print(os.environ["WORK"] + "/jax_plugins" if "jax_plugins" in sys.argv[2] else "3.12, torch 2.11.0")
        return
    microseconds = {"jax_scan.py": 105, "torch_graph.py": 121}.get(os.path.basename(sys.argv[1]), 1100)
    tell_steps(int(settings["--steps"]), int(settings["--window"]), microseconds)
    if "--evaluate" in sys.argv:
        tell("accuracy")


dtrain() if sys.argv[0].endswith("dtrain") else python()
END
} >"$work/dtrain"
cp "$work/dtrain" "$work/python"
chmod +x "$work/dtrain" "$work/python" "$work/bin/nvidia-smi"
PATH=$work/bin:$PATH

command=(timeout 100 "$interpreter" "$sources/scripts/bench/run_gpu.py" --program "$work/dtrain" --python "$work/python"
  --data "$work" --out "$work/gpu.md" --json "$work/gpu.json")
check() {
  rm -f "$work"/gpu.* "$work/started"
  capture "${command[@]}" "$@"
}
has() { grep -qE -- "$1" "$work/gpu.md"; }
# row CLAIM NAME RESULT REACHED: the report has that row; NAME and RESULT are regular expressions.
row() { claim "$1" has "^. $2 . $3 . [^|]*. $4 .\$"; }
starts() { grep -cE -- "$1" "$work/started"; }
no='\*\*no\*\*'

check --minutes 4
claim "everything that is asked for is reached" test "$status" == 0
claim "the report says which card and driver" has '^- GPU: NVIDIA Stand-in, 580\.1, 1000 MiB$'
claim "and which versions" has '^- Python: 3\.12, torch 2\.11\.0$'
claim "every row is measured" test "$(grep -cE 'not (run|measured)' "$work/gpu.md")" == 0
row "XLA is compared with JAX" 'MLP 64, float32: dtrain XLA against JAX' \
  '640,000 against 609,524 examples/s: 1\.05 x \(1\.05 to 1\.05\)' yes
claim "with a higher target for large batches" has '^. CNN 1024, float32: dtrain XLA against JAX .* >= 1\.0 x . yes .$'
row "recorded steps with the graph by hand" 'CNN 64, float32: dtrain recorded against PyTorch graph' '.* 1\.10 x .*' yes
row "ResNet with torch.compile" 'ResNet-18.*: dtrain against torch\.compile' '.*' yes
row "the same bits after a kill" 'final checkpoint of XLA steps, killed and resumed' '([0-9a-f]{12}) and \1' yes
row "the profile" 'the profile shows kernels' '10 kernels .*; 0\.2 ms a step' yes
row "the killed rank" 'rank 1 of 2 is killed' 'exit 4 .*, names rank 1' yes
row "the training time to 99 %" 'MNIST CNN .*' '0\.10 s of training in 1 epochs, after 1\.00 s .*' yes
claim "dtrain looks for the plugin" test "$(starts "train.step=xla")":"$(starts "strategy.plugin")" == 12:0
claim "JAX runs in both rounds of four cells" test "$(starts 'jax_scan')" == 8
claim "the JSON has the rates" "$interpreter" -c "
import json
report = json.load(open('$work/gpu.json'))
assert [round(rate) for rate in report['examples_per_second']['MLP 64, float32']['JAX']] == [609524] * 2
assert all(row['reached'] is not False for row in report['rows']) and report['GPU'].startswith('NVIDIA')"

check --minutes 4 --only mnist_speed --precision tf32 --plugin /a/plugin.so
claim "or takes the one that is named" test "$(starts "train.step=xla --set strategy.plugin=/a/plugin.so")" == 4
claim "products can be TensorFloat-32, for everyone" test "$(starts 'cuda.tf32=true'):$(starts 'precision=tf32')" == 8:4

REFUSED=train.step=xla HANGING=jax_scan BROKEN=cuda.data=uploaded check --minutes 4 --run-limit 1 \
  --only same_as_cpu,mnist_speed
claim "what is not reached is told" test "$status" == 1
row "why XLA did not run" 'test loss after 200 steps, XLA' 'refused: refused, / it said' "$no"
row "so does each cell" 'CNN 1024, float32: dtrain XLA against JAX' \
  'not measured: dtrain XLA refused: .*; JAX took more than 1 s in MLP 64, float32' "$no"
claim "one that hangs is started once" test "$(starts 'jax_scan')" == 1
row "what fails costs its own row" 'test loss after 200 steps, uploaded' 'ended with 1: broken.*' "$no"
row "and no other" 'test loss after 200 steps, eager' '.*' yes
claim "the others are measured" test "$(grep -cE 'recorded against PyTorch graph .* yes .$' "$work/gpu.md")" == 4

HANGING=torch_gpu check --minutes 4 --run-limit 1 --only resnet
claim "a peer that is too slow is no fault of dtrain" test "$status" == 0
row "its row says so" 'ResNet-18.*: dtrain against eager DDP' 'not measured: eager DDP took more than 1 s' ''

HANGING=gpu_99 check --minutes 4 --check-limit 1 --only time_to_accuracy,resnet
row "a check that takes too long ends" 'MNIST CNN to 99 %' 'no time was left after 1 s of it' "$no"
row "and the next one runs" 'ResNet-18.*: dtrain against eager DDP' '.*' yes

HANGING=train.step=xla check --minutes 0.03
claim "no time is left for everything" test "$status" == 1
row "what was done is there" 'GPU, driver, memory' 'NVIDIA Stand-in.*' ''
row "what runs is ended" 'MLP 64, float32: dtrain XLA against JAX' 'not measured: dtrain XLA .*' "$no"
row "what does not run is named" 'ResNet-18 in bf16' 'not run: the time was over' "$no"

rm -f "$work"/gpu.* "$work/started"
HANGING=torch_graph "${command[@]:2}" --minutes 4 --only environment,mnist_speed >"$work/out" 2>"$work/err" &
job=$!
until [[ -e $work/started && $(starts torch_graph) == 1 ]] || ! alive "$job"; do sleep 0.02; done
hanging=$(sed -n 's/^\([0-9]*\) .*torch_graph.*/\1/p' "$work/started")
kill -TERM "$job"
claim "a stopped check ends what it started" until_gone "$hanging"
row "and leaves what was done" 'versions' '.*' '.*'

capture "${command[@]}" --minutes 4 --data "$work/bin"
claim "missing data are told before anything runs" contains "$err" "has no MNIST"
capture "$sources/scripts/check_gpu" --frobnicate
claim "an unknown argument is bad usage" test "$status" == 2
capture "$sources/scripts/check_gpu" --only
claim "so is one without its value" test "$status" == 2
capture "$sources/scripts/check_gpu" --pack "$work/packed" --program "$work/none"
claim "what is not there is not packed" test "$status" == 2
cp "$(type -P true)" "$work/real"
cp "$work/real" "$work/libdtrain_pjrt.so"
capture "$sources/scripts/check_gpu" --pack "$work/packed" --program "$work/real"
claim "a program can be packed" "$work/packed/real"
claim "with its modules" test -e "$work/packed/libdtrain_pjrt.so"
claim "without the C library" test ! -e "$work/packed/deps/libc.so.6"

finish
