#!/usr/bin/env python3
"""The checks of scripts/check_stores: stores.py PROGRAM FOLDER [SERVER CLIENT], two hosts that a slow link joins."""
import concurrent.futures
import hashlib
import io
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import time
import zlib

from store_servers import Expired, Moto, Nginx

KEY, BUCKET = "AWS_ACCESS_KEY_ID", "data"
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})
SMALL_OBJECTS = 10_000
LARGE = 96 << 20


def last_of(err):
    """Of what dtrain says, in one line."""
    lines = [line for line in err.strip().splitlines() if not line.startswith("1 problem;")]
    return lines[-1][-250:] if lines else ""


def png(draw, label):
    """A picture of 16 x 16 grey pixels, brighter for larger classes."""
    rows = b"".join(b"\0" + bytes(min(255, 40 * label + draw.randrange(60)) for _ in range(16)) for _ in range(16))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def shard(draw, count, first=0):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for i in range(first, first + count):
            label = i % 4
            for name, data in ((f"{i:06}.png", png(draw, label)), (f"{i:06}.cls", str(label).encode())):
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def make_data(folder):
    draw = random.Random(1)
    shards = folder / "shards"
    shards.mkdir(parents=True)
    for i in range(6):
        part = "test" if i == 5 else "train"
        (shards / f"{part}-{i:03}.tar").write_bytes(shard(draw, 200, 200 * i))
    table = folder / "table"
    table.mkdir()
    for name, rows in (("train", 40_000), ("test", 1000)):
        lines = ["a,b,c,y"]
        for _ in range(rows):
            a, b, c = (draw.gauss(0, 1) for _ in range(3))
            lines.append(f"{a:.4f},{b:.4f},{c:.4f},{2 * a - b + 0.5 * c + draw.gauss(0, 0.1):.4f}")
        (table / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (folder / "large").mkdir()
    (folder / "large" / "large.csv").write_bytes(large_table(b"1.25"))


def large_table(first):
    """Few rows, with a long text that is not used."""
    rows = b"".join(number + b"," + b"x" * 1000 + b"\n" for number in (first + b",2.5", b"1.5,3", b"-1,-2", b"0,0"))
    return b"a,y,text\n" + rows * (LARGE // len(rows))


SPECS = {
    "tar": "data: {dataset: tar, image: {size: [16, 16], channels: 1}, augment: [flip]}\n"
           "model: {kind: mlp, hidden: [32]}\n",
    "csv": "data: {dataset: csv, target: y, target_kind: numbers}\nmodel: {kind: mlp, hidden: [32]}\n"
           "train: {loss: mean_squared_error}\n",
}
SPECS["streamed"] = SPECS["tar"].replace("dataset: tar", "dataset: tar, stream: true")
TRAINING = """name: stores
seed: 3
strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
batch: {global: 32}
"""


class Checks:
    def __init__(self, program, folder):
        self.program, self.folder, self.failures = program, folder, 0
        self.caches = 0
        self.inside = []  # what starts the program on another host
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("AWS_", "SSL_CERT_", "CURL_CA_"))}
        self.environment["HOME"] = str(folder)
        self.cold()

    def cold(self):
        self.caches += 1
        self.environment["XDG_CACHE_HOME"] = str(self.folder / f"cache{self.caches}")

    def claim(self, holds, text):
        print(("ok      " if holds else "FAILED  ") + text, flush=True)
        self.failures += not holds

    def spec(self, kind, path, epochs=3):
        file = self.folder / f"{kind}.yaml"
        text = TRAINING + SPECS[kind].replace("data: {", f"data: {{path: {json.dumps(str(path))}, ", 1)
        extra = f"epochs: {epochs}, optimizer: {{kind: adam}}"
        text = text.replace("train: {", f"train: {{{extra}, ") if "train: {" in text else text + f"train: {{{extra}}}\n"
        file.write_text(text + "checkpoint: {every_steps: 5, keep: 3}\n")
        return file

    def start(self, *arguments, **more):
        return subprocess.Popen([*self.inside, self.program, *map(str, arguments)], env={**self.environment, **more},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments, **more):
        begin = time.time()
        process = self.start(*arguments, **more)
        out, err = process.communicate()
        return process.returncode, out, err, time.time() - begin

    def train(self, name, kind, path, **more):
        """The checksum of the last weights."""
        run = self.folder / name
        code, _, err, seconds = self.run("run", self.spec(kind, path), "--quiet", "--run-dir", run, **more)
        return (self.weights(run) if code == 0 else f"exit {code}: {err.strip()}"), seconds

    def weights(self, run):
        last = sorted((run / "checkpoints").glob("step-*"))[-1]
        return hashlib.sha256((last / "model.safetensors").read_bytes()).hexdigest()

    def killed_and_resumed(self, name, kind, path, **more):
        run = self.folder / name
        process = self.start("run", self.spec(kind, path), "--quiet", "--run-dir", run, **more)
        while process.poll() is None and len(list(run.glob("checkpoints/step-*"))) < 2:
            time.sleep(0.005)
        was_running = process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        code, _, err, _ = self.run("run", "--resume", run, "--quiet", **more)
        return self.weights(run) if code == 0 and was_running else f"exit {code}: {err.strip()}"


def check_trainings(checks, local, places):
    for kind, folder in (("tar", local / "shards"), ("csv", local / "table")):
        wanted, seconds = checks.train(f"{kind}-local", kind, folder)
        for name, (path, more) in places[kind].items():
            checks.cold()
            cold, first = checks.train(f"{kind}-{name}-cold", kind, path, **more)
            warm, second = checks.train(f"{kind}-{name}-warm", kind, path, **more)
            checks.claim(cold == warm == wanted,
                         f"{kind} from {name}: the weights of the local folder ({wanted[:12]}; local {seconds:.1f} s, "
                         f"cold {first:.1f} s, warm {second:.1f} s) {'' if cold == wanted else cold[:300]}")
            resumed = checks.killed_and_resumed(f"{kind}-{name}-killed", kind, path, **more)
            checks.claim(resumed == wanted, f"{kind} from {name}: the same after a kill and a resume "
                                            f"{'' if resumed == wanted else resumed[:300]}")


def check_streaming(checks, wanted, places):
    for name, (path, more) in places.items():
        checks.cold()
        weights, seconds = checks.train(f"streamed-{name}", "streamed", path, **more)
        left = pathlib.Path(checks.environment["XDG_CACHE_HOME"]).exists()
        checks.claim(weights == wanted and not left,
                     f"streamed from {name}: the same weights in {seconds:.1f} s, and nothing in the cache "
                     f"{'' if weights == wanted else weights[:300]}")
        resumed = checks.killed_and_resumed(f"streamed-{name}-killed", "streamed", path, **more)
        checks.claim(resumed == wanted, f"streamed from {name}: the same after a kill and a resume "
                                        f"{'' if resumed == wanted else resumed[:300]}")


def check_network(checks, nginx, local):
    trust = {"SSL_CERT_FILE": str(nginx.certificate)}
    spec = checks.spec("csv", f"{nginx.address}/large/large.csv")
    options = ("--set", "data.split.test=0.1", "--set", "data.ignore=text")
    plan = ("plan", spec, *options, "--json")
    bytes_of = (local / "large" / "large.csv").stat().st_size

    def fetched():
        copies = [f for f in pathlib.Path(checks.environment["XDG_CACHE_HOME"]).glob("dtrain/data/addresses/*")
                  if f.is_file() and len(f.name) == 32]
        return len(copies) == 1 and copies[0].read_bytes() == (local / "large" / "large.csv").read_bytes()

    nginx.start()
    checks.cold()
    code, _, err, _ = checks.run(*plan)
    checks.claim(code == 2 and "ertificate" in err, f"a server that nobody vouches for: {last_of(err)}")
    code, _, err, cold = checks.run(*plan, **trust)
    _, _, _, warm = checks.run(*plan, **trust)
    checks.claim(code == 0 and fetched(),
                 f"a file of {bytes_of >> 20} MiB over TLS, fetched and planned in {cold:.1f} s, and warm in "
                 f"{warm:.1f} s {last_of(err) if code else ''}")

    nginx.start(server="limit_rate 4m;")
    checks.cold()
    before = nginx.answers(206)
    process = checks.start(*plan, **trust)
    time.sleep(2.5)
    nginx.stop()
    time.sleep(1)
    nginx.start(server="limit_rate 40m;")
    code = process.wait()
    err = process.communicate()[1]
    checks.claim(code == 0 and fetched(),
                 f"a server that dies and comes back in the middle: the same bytes, in "
                 f"{nginx.answers(206) - before} requests {last_of(err) if code else ''}")

    nginx.start(server="limit_rate 8m; limit_conn one 2;", http="limit_conn_zone $binary_remote_addr zone=one:1m;")
    checks.cold()
    before = nginx.answers(503)
    code, _, err, seconds = checks.run(*plan, **trust)
    checks.claim(code == 0 and fetched() and nginx.answers(503) > before,
                 f"a server that allows 2 connections: {nginx.answers(503) - before} times 503, and the same bytes "
                 f"{last_of(err) if code else ''}")

    nginx.start(server="limit_rate 4m;")
    checks.cold()
    process = checks.start(*plan, **trust)
    time.sleep(2)
    other = local / "large" / "other.csv"
    other.write_bytes(large_table(b"2.25"))
    kept = local / "large" / "kept.csv"
    shutil.copy2(local / "large" / "large.csv", kept)
    other.rename(local / "large" / "large.csv")
    code, err = process.wait(), process.communicate()[1]
    checks.claim(code == 3 and "large.csv: it has changed" in err,
                 f"a file that changes meanwhile: {last_of(err)}")
    kept.rename(local / "large" / "large.csv")

    nginx.start()
    run = checks.folder / "csv-nginx-cold"
    table = local / "table" / "test.csv"
    text = table.read_text()
    table.write_text(text.replace("1", "2", 1))
    code, _, err, _ = checks.run("run", "--resume", run, "--set", "train.epochs=4", "--quiet", **trust)
    checks.claim(code == 2 and "trained on other files" in err, f"a resume after a change: {last_of(err)}")
    code, _, err, _ = checks.run("eval", run, **trust)
    checks.claim(code == 3 and "not those that the model was trained on" in err,
                 f"an eval after it: {last_of(err)}")
    time.sleep(1.1)  # nginx knows times to a second
    table.write_text(text)
    code, _, err, _ = checks.run("eval", run, **trust)
    checks.claim(code == 0, f"and when it is as it was, though at another time {last_of(err) if code else ''}")
    nginx.stop()
    code, _, err, seconds = checks.run("eval", run, **trust)
    checks.claim(code == 9 and "cannot be reached" in err, f"no server: after {seconds:.0f} s {last_of(err)}")
    code, _, err, _ = checks.run("export", run, "--out", checks.folder / "model.onnx")
    checks.claim(code == 0, f"an export needs none {last_of(err) if code else ''}")


def check_store(checks, moto, keys):
    right = {"AWS_ENDPOINT_URL": moto.address, KEY: keys[0], "AWS_SECRET_ACCESS_KEY": keys[1]}
    spec = checks.spec("csv", f"s3://{BUCKET}/table/")
    moto.check_keys(True)
    checks.cold()
    wrong = {"an unknown key": {KEY: "AKIAUNKNOWNUNKNOWN00"}, "a wrong secret": {"AWS_SECRET_ACCESS_KEY": "wrong" * 8}}
    for name, variables in wrong.items():
        code, _, err, seconds = checks.run("plan", spec, **{**right, **variables})
        secret = any(key in err for key in (keys[0], keys[1], "AKIAUNKNOWN", "wrongwrong"))
        checks.claim(code == 2 and f"s3://{BUCKET}/table/" in err and not secret and seconds < 5,
                     f"{name}: {last_of(err)}")
    session = {**right, "AWS_ENDPOINT_URL": Expired().address, "AWS_SESSION_TOKEN": "over" * 20}
    code, _, err, seconds = checks.run("plan", spec, **session)
    checks.claim(code == 2 and "expired" in err and f"s3://{BUCKET}/table/" in err and "overover" not in err and
                 seconds < 5, f"keys that have expired: {last_of(err)}")
    code, _, err, _ = checks.run("plan", spec, **right)
    checks.claim(code == 0, f"moto finds our signatures to be botocore's {last_of(err) if code else ''}")
    odd = "table odd/a=1+b c&d/ünï'(x)!*~.csv"
    moto.check_keys(False)
    moto.s3.put_object(Bucket=BUCKET, Key=odd, Body=b"a,y\n" + b"1,2\n2,4\n3,6\n" * 20)
    moto.check_keys(True)
    for path in (f"s3://{BUCKET}/{odd}", f"s3://{BUCKET}/table odd/"):
        more = ("--set", "data.split.test=0.1") if path.endswith("csv") else ()
        code, _, err, _ = checks.run("plan", checks.spec("csv", path), *more, **right)
        good = code == 0 if more else code == 3 and "there is no train.csv" in err
        checks.claim(good, f"{path} is found {'' if good else last_of(err)}")
    moto.check_keys(False)  # with it, moto has no answer for who has no key
    for name in ("private", "public-read"):
        moto.s3.put_object(Bucket=BUCKET, Key=name + ".csv", Body=b"a,y\n" + b"1,2\n2,4\n3,6\n" * 20, ACL=name)
        code, _, err, _ = checks.run("plan", checks.spec("csv", f"s3://{BUCKET}/{name}.csv"), "--set",
                                     "data.split.test=0.1", AWS_ENDPOINT_URL=moto.address)
        checks.claim(code == (2 if name == "private" else 0), f"no key, {name}: {last_of(err)}")


def check_slow_link(checks, local, server, client):
    """50 Mbit/s, as scripts/check_stores has limited the link."""
    nginx = Nginx(checks.folder, local, server, "10.231.77.1")
    nginx.start()
    trust = {"SSL_CERT_FILE": str(nginx.certificate)}
    try:
        shards = "{train-000,train-001,train-002,train-003,train-004,test-005}.tar"
        for kind, folder, files in (("tar", "shards", shards), ("csv", "table", "{train,test}.csv")):
            checks.inside = []
            wanted, _ = checks.train(f"{kind}-near", kind, local / folder)
            checks.inside = ["ip", "netns", "exec", client]
            checks.cold()
            got, seconds = checks.train(f"{kind}-slow", kind, f"{nginx.address}/{folder}/{files}", **trust)
            checks.claim(got == wanted, f"{kind} over a link of 50 Mbit/s: the weights of the local folder, in "
                                        f"{seconds:.1f} s {'' if got == wanted else got[:300]}")
        file = local / "large" / "large.csv"
        checks.cold()
        plan = ("plan", checks.spec("csv", f"{nginx.address}/large/large.csv"), "--set", "data.split.test=0.1", "--set",
                "data.ignore=text")
        code, _, err, seconds = checks.run(*plan, **trust)
        least = file.stat().st_size * 8 / 50e6
        checks.claim(code == 0 and least * 0.9 < seconds < least * 1.5 + 3,
                     f"{file.stat().st_size >> 20} MiB over it: in {seconds:.1f} s, where the link takes {least:.1f} s "
                     f"{last_of(err) if code else ''}")
    finally:
        checks.inside = []
        nginx.stop()


def check_many(checks, moto, nginx, local):
    draw = random.Random(5)
    bodies = [shard(draw, 4, 4 * i) for i in range(50)]
    (local / "many").mkdir()
    for i in range(SMALL_OBJECTS):
        (local / "many" / f"s-{i:05}.tar").write_bytes(bodies[i % 50])
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda i: moto.s3.put_object(Bucket=BUCKET, Key=f"many/s-{i:05}.tar", Body=bodies[i % 50]),
                         range(SMALL_OBJECTS)))
    nginx.start()
    store = {"AWS_ENDPOINT_URL": moto.address, KEY: "any", "AWS_SECRET_ACCESS_KEY": "any"}
    for name, path, more in (("moto, listed", f"s3://{BUCKET}/many/", store),
                             ("nginx", f"{nginx.address}/many/s-{{00000..{SMALL_OBJECTS - 1:05}}}.tar",
                              {"SSL_CERT_FILE": str(nginx.certificate)})):
        checks.cold()
        plan = ("plan", checks.spec("tar", path), "--set", "data.split.test=0.1", "--set", "data.cache=none", "--json")
        code, out, err, cold = checks.run(*plan, **more)
        data = json.loads(out)["data"] if code == 0 else {"train_examples": 0, "test_examples": 0}
        code_warm, _, _, warm = checks.run(*plan, **more)
        checks.claim(code == code_warm == 0 and data["train_examples"] + data["test_examples"] == 4 * SMALL_OBJECTS,
                     f"{SMALL_OBJECTS:,} small files of {name}: fetched and planned in {cold:.1f} s, and warm in "
                     f"{warm:.1f} s {last_of(err) if code else ''}")


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    os.chmod(folder, 0o755)
    local = folder / "served"
    make_data(local)
    checks = Checks(program, folder)
    moto, nginx = Moto(folder), Nginx(folder, local)
    try:
        keys = moto.make_keys(POLICY)
        moto.s3.create_bucket(Bucket=BUCKET)
        checks.run("data", "pack", checks.spec("tar", local / "shards"), "--index")
        for file in [*local.glob("shards/*"), *local.glob("table/*")]:
            moto.s3.put_object(Bucket=BUCKET, Key=str(file.relative_to(local)), Body=file.read_bytes())
        moto.s3.put_object(Bucket=BUCKET, Key="shards/readme.txt", Body=b"no shard")
        nginx.start()
        store = {"AWS_ENDPOINT_URL": moto.address, KEY: keys[0], "AWS_SECRET_ACCESS_KEY": keys[1]}
        trust = {"SSL_CERT_FILE": str(nginx.certificate)}
        archives = nginx.address + "/shards/{train-000,train-001,train-002,train-003,train-004,test-005}.tar"
        tables = nginx.address + "/table/{train,test}.csv"
        check_trainings(checks, local, {
            "tar": {"nginx": (archives, trust), "moto": (f"s3://{BUCKET}/shards/", store)},
            "csv": {"nginx": (tables, trust), "moto": (f"s3://{BUCKET}/table/", store)},
        })
        check_streaming(checks, checks.weights(folder / "tar-local"),
                        {"nginx": (archives, trust), "moto": (f"s3://{BUCKET}/shards/", store)})
        check_store(checks, moto, keys)
        check_network(checks, nginx, local)
        if len(sys.argv) > 4:
            check_slow_link(checks, local, *sys.argv[3:5])
        check_many(checks, moto, nginx, local)
    finally:
        moto.stop()
        nginx.stop()
    print(f"{checks.failures} FAILED" if checks.failures else "all of it holds")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
