"""Put the parts together and serve them."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from tests.ec2_server import dependencies, images, launch, network, placement, states, templates
from tests.ec2_server.containers import Containers
from tests.ec2_server.gateway import Gateway
from tests.ec2_server.machines import NoMachines

_LOG = logging.getLogger(__name__)


def serve(*, port: int, ready: Path | None, checkip: str, default_vpc: str, containers: str) -> None:
    """Serve until SystemExit.

    Args:
        port: 0 = a free one.
        ready: file that gets the URL.
        checkip: address that the caller is told to have.
        default_vpc: range, ``none``, or empty for moto's own.
        containers: name for the containers that instances run as; empty = instances are records only.
    """
    lock = threading.RLock()
    machines = Containers(containers, lock) if containers else NoMachines()
    machines.prepare()
    placement.install()
    templates.install()
    images.install(machines.captured)
    network.install(default_vpc)
    launch.install(machines.launched)
    states.install(machines)
    dependencies.install()
    app = Gateway(DomainDispatcherApplication(create_backend_app), lock, checkip)
    server = make_server("127.0.0.1", port, app, threaded=True)
    server.daemon_threads = True  # type: ignore[attr-defined]
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        if ready:
            unfinished = ready.with_name(f"{ready.name}.{os.getpid()}")
            unfinished.write_text(f"{url}\n")
            unfinished.replace(ready)
        _LOG.info("serving %s", url)
        server.serve_forever()
    finally:
        server.server_close()
        machines.remove_all()
        if ready:
            ready.unlink(missing_ok=True)
