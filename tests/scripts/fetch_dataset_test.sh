#!/bin/bash
# scripts/fetch_dataset without a network: what it says when it fails, and what it does with files from file:// mirrors.
# shellcheck source=tests/scripts/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
fetch=$sources/scripts/fetch_dataset
fashion=/usr/share/datasets/fashion-mnist # where Debian's dataset-fashion-mnist has it
unset DTRAIN_DATA DTRAIN_MIRRORS

capture "$fetch"
claim "no name is bad usage" [ "$status" = 2 ]
claim "the usage is shown" contains "$err" "scripts/fetch_dataset NAME"

capture "$fetch" mnsit "$work/unknown"
claim "an unknown name is bad usage" [ "$status" = 2 ]
claim "the known names are listed" contains "$err" "no dataset 'mnsit' (known: mnist, fashion_mnist, cifar10, cifar100)"
claim "no folder is made for an unknown name" [ ! -e "$work/unknown" ]

DTRAIN_MIRRORS="file://$work/none file://$work/neither" capture "$fetch" mnist "$work/unreachable"
claim "no mirror reached is a failure" [ "$status" = 3 ]
claim "the first mirror is named" contains "$err" "file://$work/none: curl: (37)"
claim "the second mirror is named" contains "$err" "file://$work/neither: curl: (37)"
claim "what to do is said" contains "$err" "put the four files into $work/unreachable yourself"
claim "nothing is left behind" [ -z "$(ls -A "$work/unreachable")" ]

# A folder of a call that was killed, and one of a call under way, which holds the lock.
mkdir "$work/unreachable/.incoming.killed"
exec {lock}<"$work/unreachable"
flock "$lock"
DTRAIN_MIRRORS="file://$work/none" "$fetch" mnist "$work/unreachable" >"$work/waits" 2>&1 {lock}<&- &
waiting=$!
until grep -q "waiting for another call" "$work/waits" || ! alive "$waiting"; do sleep 0.02; done
claim "a call waits for another one" alive "$waiting"
claim "and leaves its folder alone" [ -e "$work/unreachable/.incoming.killed" ]
exec {lock}<&-
wait "$waiting"
claim "what a killed call left is removed" [ -z "$(ls -A "$work/unreachable")" ]

mkdir "$work/wrong"
for file in {train,t10k}-{images-idx3,labels-idx1}-ubyte; do
  echo "not the data" | gzip >"$work/wrong/$file.gz"
done
DTRAIN_MIRRORS="file://$work/wrong" capture "$fetch" mnist "$work/mismatch"
claim "wrong content is refused" [ "$status" = 3 ]
claim "and called by its name" contains "$err" "file://$work/wrong: checksum mismatch"
claim "wrong content is not kept" [ -z "$(ls -A "$work/mismatch")" ]

echo "not gzip" >"$work/wrong/train-images-idx3-ubyte.gz"
DTRAIN_MIRRORS="file://$work/wrong" capture "$fetch" mnist "$work/mismatch"
claim "what is not gzip is refused" contains "$err" "checksum mismatch"

head -c 100000000 /dev/zero | gzip -1 >"$work/wrong/train-images-idx3-ubyte.gz"
DTRAIN_MIRRORS="file://$work/wrong" capture "$fetch" mnist "$work/mismatch"
claim "what unpacks to too much is refused" contains "$err" "checksum mismatch"

touch "$work/file"
DTRAIN_MIRRORS="file://$fashion" capture "$fetch" fashion_mnist "$work/file/below"
claim "a folder that cannot be made is a failure" [ "$status" = 3 ]
claim "and is named" contains "$err" "$work/file/below cannot be written to"

# An archive: a stand-in for md5sum takes this one for the published one.
mkdir "$work/cifar" "$work/tools" "$work/cifar/cifar-100-binary"
printf '#!/bin/sh\necho "03b5dce01913d631647c71ecec9e9cb8  any"\n' >"$work/tools/md5sum"
chmod +x "$work/tools/md5sum"
truncate -s 153700000 "$work/cifar/cifar-100-binary/train.bin"
truncate -s 30740000 "$work/cifar/cifar-100-binary/test.bin"
echo apple >"$work/cifar/cifar-100-binary/fine_label_names.txt"
tar -C "$work/cifar" -I "gzip -1" -cf "$work/cifar/cifar-100-binary.tar.gz" cifar-100-binary

DTRAIN_MIRRORS="file://$work/cifar" capture "$fetch" cifar100 "$work/unpacked"
claim "another archive than the published one is refused" [ "$status" = 3 ]
claim "and thrown away" contains "$err" "checksum mismatch"
claim "so that nothing is left of it" [ -z "$(ls -A "$work/unpacked")" ]
DTRAIN_MIRRORS="file://$work/none file://$work/cifar" PATH="$work/tools:$PATH" capture "$fetch" cifar100 "$work/unpacked"
claim "the right archive is unpacked" [ "$status" = 0 ]
claim "into the files that dtrain reads" [ "$(ls -A "$work/unpacked")" = "$(printf 'test.bin\ntrain.bin')" ]
DTRAIN_MIRRORS="file://$work/none" capture "$fetch" cifar100 "$work/unpacked"
claim "what is there is kept without asking a mirror" [ "$status" = 0 ]
truncate -s -1 "$work/unpacked/test.bin"
DTRAIN_MIRRORS="file://$work/none" capture "$fetch" cifar100 "$work/unpacked"
claim "a file of another size is not" [ "$status" = 3 ]
claim "and what to put there is said" contains "$err" "put its .bin files into"

if [[ ! -d $fashion ]]; then
  echo "skipped: what needs Debian's dataset-fashion-mnist"
  finish
  exit
fi

folder="$work/a folder/fashion_mnist"
export DTRAIN_DATA="$work/a folder"
DTRAIN_MIRRORS="file://$work/none file://$fashion" capture "$fetch" fashion_mnist
claim "a later mirror serves" [ "$status" = 0 ]
claim "the four files are there and nothing else" [ "$(find "$folder" -mindepth 1 | wc -l)" = 4 ]
claim "as they were" cmp -s "$folder/train-images-idx3-ubyte.gz" "$fashion/train-images-idx3-ubyte.gz"

DTRAIN_MIRRORS="file://$work/none" capture "$fetch" fashion_mnist
claim "right files are kept without asking a mirror" [ "$status" = 0 ]
claim "and it says so" contains "$err" "train-labels-idx1-ubyte is there"

gunzip "$folder/train-labels-idx1-ubyte.gz"
truncate -s -1 "$folder/t10k-labels-idx1-ubyte.gz"
DTRAIN_MIRRORS="file://$fashion" capture "$fetch" fashion_mnist
claim "a damaged file is replaced" cmp -s "$folder/t10k-labels-idx1-ubyte.gz" "$fashion/t10k-labels-idx1-ubyte.gz"
claim "and that is said" contains "$err" "t10k-labels-idx1-ubyte.gz is damaged and will be replaced"
claim "an unpacked file counts" [ ! -e "$folder/train-labels-idx1-ubyte.gz" ]

finish
