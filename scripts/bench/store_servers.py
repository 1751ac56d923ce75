"""The servers of scripts/check_stores: moto and nginx, each a child of this process."""
import http.server
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import boto3
import botocore.config


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port):
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"no server at port {port}")


class Moto:
    """A store in memory. Until check_keys() it lets everyone in."""

    def __init__(self, folder):
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = open(folder / "moto.log", "wb")
        self.process = subprocess.Popen(
            [pathlib.Path(sys.executable).with_name("moto_server"), "-H", "127.0.0.1", "-p", str(self.port)],
            stdout=self.log, stderr=self.log)
        wait_for(self.port)
        self.s3 = self.client("s3", "any", "any")

    def client(self, service, key, secret):
        config = botocore.config.Config(max_pool_connections=16)
        return boto3.client(service, endpoint_url=self.address, region_name="us-east-1", aws_access_key_id=key,
                            aws_secret_access_key=secret, config=config)

    def make_keys(self, policy):
        iam = self.client("iam", "any", "any")
        iam.create_user(UserName="reader")
        key = iam.create_access_key(UserName="reader")["AccessKey"]
        iam.put_user_policy(UserName="reader", PolicyName="reads", PolicyDocument=policy)
        return key["AccessKeyId"], key["SecretAccessKey"]

    def check_keys(self, yes):
        """moto compares each signature with botocore's from now on."""
        request = urllib.request.Request(self.address + "/moto-api/reset-auth",
                                         data=b"0" if yes else b"1000000000", method="POST",
                                         headers={"Content-Type": "text/plain"})  # no form
        urllib.request.urlopen(request).read()

    def stop(self):
        self.process.kill()
        self.process.wait()


class Expired:
    """Answers as AWS does when the session of temporary keys is over; moto's never is."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = (b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>ExpiredToken</Code>'
                        b"<Message>The provided token has expired.</Message><RequestId>1</RequestId></Error>")
                self.send_response(400)
                self.send_header("Content-Type", "application/xml")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Nginx:
    """Serves a folder over TLS. With a host, which is a network namespace, at the address that it has there."""

    def __init__(self, folder, served, host=None, ip="127.0.0.1"):
        self.folder = folder / f"nginx-{ip}"
        self.folder.mkdir()
        self.served = served
        self.inside = ["ip", "netns", "exec", host] if host else []
        self.ip = ip
        self.port = free_port()
        self.address = f"https://{ip if host else 'localhost'}:{self.port}"
        self.certificate = self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.folder / "key.pem",
                        "-out", self.certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
                        f"subjectAltName=DNS:localhost,IP:{ip}"], check=True, capture_output=True)
        self.process = None

    def start(self, server="", http=""):
        """With more directives of the server and of all."""
        self.stop()
        os.chmod(self.folder, 0o755)
        config = self.folder / "nginx.conf"
        config.write_text(f"""
            daemon off; pid {self.folder}/pid; worker_processes 1; user root; error_log {self.folder}/error.log;
            events {{ worker_connections 256; }}
            http {{
              access_log {self.folder}/access.log; client_body_temp_path {self.folder}/a;
              proxy_temp_path {self.folder}/b; fastcgi_temp_path {self.folder}/c; uwsgi_temp_path {self.folder}/d;
              scgi_temp_path {self.folder}/e;
              {http}
              server {{
                listen {self.ip}:{self.port} ssl http2; server_name localhost; root {self.served};
                ssl_certificate {self.certificate}; ssl_certificate_key {self.folder}/key.pem;
                {server}
              }}
            }}""")
        command = ["nginx", "-p", self.folder, "-c", config, "-e", self.folder / "error.log"]
        self.process = subprocess.Popen([*self.inside, *command])
        if not self.inside:
            return wait_for(self.port)
        while not (self.folder / "pid").exists():  # written when it listens
            time.sleep(0.05)

    def answers(self, status):
        """How many answers had this status so far."""
        log = self.folder / "access.log"
        return sum(f'" {status} ' in line for line in log.read_text().splitlines()) if log.exists() else 0

    def stop(self):
        if self.process is not None:
            self.process.terminate()  # at once: what is being sent is cut off
            self.process.wait()
        self.process = None
