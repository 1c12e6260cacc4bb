"""nginx on loopback: a server with a folder of its own, on a free port, without rights or a throttle."""

import contextlib
import os
import pathlib
import socket
import time

from .measuring import run
from .peers import which

CONFIGURATION = """{user}
worker_processes 1;
pid {place}/pid;
error_log {place}/errors;
events {{ worker_connections 64; }}
http {{
    access_log off;
    sendfile on;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {root};
    }}
}}
"""


@contextlib.contextmanager
def serving(root, place):
    """Serves a directory while the block runs; gives its URL."""
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "127.0.0.1"
    place.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    user = "user root;" if os.geteuid() == 0 else ""
    configuration = place / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(user=user, place=place, port=port, root=root))
    run([which("nginx"), "-p", place, "-c", configuration, "-e", place / "errors"])
    pid = int((place / "pid").read_text())
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        os.kill(pid, 15)
        while pathlib.Path(f"/proc/{pid}").exists():
            time.sleep(0.05)
