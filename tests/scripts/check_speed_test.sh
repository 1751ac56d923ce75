#!/bin/bash
# What scripts/check_speed stores and compares, over stand-ins for dtrain and the loop by hand that say how fast they
# were: a step takes $OURS and $PEER microseconds.
# shellcheck source=tests/scripts/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
export PYTHONDONTWRITEBYTECODE=1 DTRAIN_INSTRUCTIONS=avx2 PEER=400

cat >"$work/dtrain" <<'END'
#!/bin/bash
for word in "$@"; do
  case $word in metrics.every_steps=*) window=${word#*=} ;; esac
done
for i in {1..12}; do
  printf '{"event": "step", "step": %d, "time": "2026-01-01T00:00:%09.6fZ"}\n' $((i * window)) \
    "$((i * window * OURS))e-6"
done
END
cat >"$work/libtorch_by_hand" <<'END'
#!/bin/bash
OURS=$PEER exec "$(dirname "$0")/dtrain" "metrics.every_steps=$6"
END
chmod +x "$work/dtrain" "$work/libtorch_by_hand"
stored=$work/speed.txt
check() {
  capture python3 "$sources/scripts/bench/speed.py" --program "$work/dtrain" --libtorch "$work/libtorch_by_hand" \
    --stored "$stored" --rounds 2 "$@"
}

OURS=200 check
claim "without a stored ratio there is nothing to compare" [ "$status" = 2 ]
claim "the error says what to do" contains "$err" "store it with --update"

echo "SomeVendor-1-2 avx512 mlp 3.00" >"$stored"
OURS=200 check --update
claim "ratios can be stored" [ "$status" = 0 ]
claim "both models are stored" [ "$(grep -cE '^[A-Za-z]+-[0-9]+-[0-9]+ avx2 (mlp|cnn) 2\.00$' "$stored")" = 2 ]
claim "other processors keep theirs" grep -qx "SomeVendor-1-2 avx512 mlp 3.00" "$stored"

OURS=215 check
claim "a loss of 7 % passes" [ "$status" = 0 ]
claim "the change is shown" contains "$out" "mlp: 1.86 x, stored 2.00 x (-7.0 %): ok"
OURS=230 check
claim "a loss of 13 % fails" [ "$status" = 1 ]
claim "the model is named" contains "$out" "cnn: 1.74 x, stored 2.00 x (-13.0 %): SLOWER"
claim "a failure stores nothing" grep -q 'avx2 mlp 2.00$' "$stored"
PEER=200 OURS=100 check
claim "a machine that is twice as fast changes nothing" contains "$out" "mlp: 2.00 x, stored 2.00 x (+0.0 %): ok"
OURS=100 check
claim "a gain passes" [ "$status" = 0 ]

capture "$sources/scripts/check_speed" --frobnicate
claim "an unknown argument is bad usage" [ "$status" = 2 ]

finish
