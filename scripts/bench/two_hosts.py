"""Runs a job on two hosts of this machine."""

import os
import secrets
import shutil
import subprocess
import sys

from differences import command

ADDRESSES = ["10.231.78.1", "10.231.78.2"]  # for `hosts` of the spec


def run_on_two_hosts(arguments):
    """The hosts are network namespaces, which end with their last process, and that ends when this program does."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        sys.exit("two hosts are network namespaces: they need root and ip (Debian: iproute2)")
    shell = 'hostname "$0" && ip link set lo up && echo ready && read -r && exec "$@"'
    environment = {**os.environ, "DTRAIN_JOB_TOKEN": secrets.token_hex(16)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    hosts = []
    try:
        for number in range(len(ADDRESSES)):
            start = "setpriv --pdeathsig KILL unshare --net --uts bash -c".split() + [shell, f"host-{number}"]
            hosts.append(subprocess.Popen([*start, *map(str, arguments)], env=environment, **pipes))
            line = hosts[-1].stdout.readline()
            if line != "ready\n":
                sys.exit(f"two hosts: there are no namespaces here: {line}")
        command(*f"ip link add link0 netns {hosts[0].pid} type veth peer name link0 netns {hosts[1].pid}".split())
        for host, address in zip(hosts, ADDRESSES):
            for change in [f"address add {address}/24 dev link0", "link set link0 up"]:
                command(*f"nsenter --target {host.pid} --net ip {change}".split())
        for host in hosts:
            host.stdin.write("\n")
            host.stdin.flush()
        outputs = [host.communicate(timeout=300)[0] for host in hosts]
    finally:
        for host in hosts:
            host.kill()
            host.wait()
    if any(host.returncode for host in hosts):
        sys.exit(f"{' '.join(map(str, arguments))} on two hosts:\n{''.join(outputs)}")
