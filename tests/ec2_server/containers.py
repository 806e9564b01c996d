"""Instances as containers of this machine, at the addresses that EC2 gave them."""

from __future__ import annotations

import base64
import ipaddress
import logging
import os
import re
import select
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from moto.core.utils import utcnow
from moto.ec2.models.instances import StateReason

from plugins.filter.container_options import mac_address
from tests.ec2_server import cloud_image, podman_cli
from tests.ec2_server.images import default_user
from tests.ec2_server.machines import NoMachines
from tests.ec2_server.podman_cli import PodmanError
from tests.ec2_server.seed_files import Seed

_LOG = logging.getLogger(__name__)
# Set aside for tests of network gear (RFC 2544): nobody's real network.
_ALLOWED = ipaddress.IPv4Network("198.18.0.0/15")
# The kernel ends process 1 of a container by SIGHUP for a restart, by SIGINT for a power-off.
_REBOOT = 129
_PARALLEL = 4


class Containers(NoMachines):
    """Containers of one endpoint.

    Args:
        name: first part of the name of everything that is made.
        lock: held while moto's state changes.
    """

    def __init__(self, name: str, lock: threading.RLock) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise ValueError(f"--containers {name}: use lower-case letters, digits and '-', a letter first")
        self._name = name
        self._label = f"icefield.ec2_server={name}"
        self._lock = lock
        self._network_lock = threading.Lock()
        self._base = ""
        self._closed = False
        self._options: list[str] = []
        self._runtime: list[str] = []
        self._networks: dict[str, str] = {}
        self._images: dict[str, str] = {}
        # One number per start: a watcher of an earlier one knows by it that its container ended on purpose.
        self._runs: dict[str, int] = {}

    def prepare(self) -> None:
        """Remove what an earlier endpoint of this name left, and make the image."""
        self._sweep()
        self._runtime = podman_cli.runtime_args()
        self._options = podman_cli.ulimit_args()
        self._base = cloud_image.build()

    # Instances

    def launched(self, backend: Any, instances: list[Any]) -> None:
        """Start containers; an instance whose container fails is terminated, as EC2 does on an internal error."""
        self._each(instances, self._launch)

    def started(self, instances: list[Any]) -> None:
        """Start stopped containers."""
        self._each(instances, lambda instance: self._start(instance, self._container(instance.id)))

    def stopped(self, instances: list[Any]) -> None:
        """Stop containers as an operating system is: services first."""
        self._each(instances, self._halt)

    def rebooted(self, instances: list[Any]) -> None:
        """Stop containers and start them."""
        self.stopped(instances)
        self.started(instances)

    def terminated(self, instances: list[Any]) -> None:
        """Remove containers."""
        self._each(instances, self._remove)

    def _each(self, instances: Iterable[Any], work: Callable[[Any], None]) -> None:
        def guarded(instance: Any) -> None:
            try:
                work(instance)
            except PodmanError as error:
                _LOG.error("%s: %s", instance.id, error)
                self._end(instance, f"Server.InternalError: {error}", "Server.InternalError")

        with ThreadPoolExecutor(_PARALLEL) as pool:
            list(pool.map(guarded, instances))

    def _container(self, instance_id: str) -> str:
        return f"{self._name}-{instance_id}"

    def _launch(self, instance: Any) -> None:
        if self._closed:
            raise PodmanError("the endpoint has ended")
        backend = instance.ec2_backend
        image = backend.amis[instance.image_id]
        instance.icefield_user = default_user(image)
        hostname = instance.private_dns_name.split(".")[0]
        container = self._container(instance.id)
        podman_cli.call(
            *self._runtime,
            "create",
            "--systemd=always",
            *self._options,
            *("--name", container),
            *("--hostname", hostname),
            *("--network", self._network(backend, instance.vpc_id)),
            *("--ip", instance.private_ip_address),
            *("--mac-address", mac_address(instance.private_ip_address)),
            # Without SYS_BOOT systemd cannot tell a restart from a power-off; it reaches no further than the container.
            *("--cap-add", "NET_ADMIN", "--cap-add", "SYS_BOOT"),
            # systemd's signal to power off; podman's default would halt.
            *("--stop-signal", "SIGRTMIN+4"),
            *("--label", self._label),
            self._images.get(instance.image_id, self._base),
            "/sbin/init",
        )
        key = backend.key_pairs.get(instance.key_name)
        seed = Seed(
            instance_id=instance.id,
            hostname=hostname,
            user=instance.icefield_user,
            public_keys=[key.public_key.strip()] if key else [],
            user_data=base64.b64decode(str(instance.user_data)) if instance.user_data else b"",
        )
        podman_cli.call("cp", "-", f"{container}:/", feed=seed.archive())
        self._start(instance, container)

    def _start(self, instance: Any, container: str) -> None:
        podman_cli.call(*self._runtime, "start", container)
        run = self._runs[instance.id] = self._runs.get(instance.id, 0) + 1
        pid = int(podman_cli.call("inspect", "--format", "{{.State.Pid}}", container))
        threading.Thread(target=self._watch, args=(instance, container, run, pid), daemon=True).start()

    def _halt(self, instance: Any) -> None:
        self._runs[instance.id] = self._runs.get(instance.id, 0) + 1
        podman_cli.call("stop", "--time", "10", self._container(instance.id))

    def _remove(self, instance: Any) -> None:
        self._runs[instance.id] = self._runs.get(instance.id, 0) + 1
        podman_cli.call("rm", "--force", "--ignore", "--time", "0", self._container(instance.id))

    def _watch(self, instance: Any, container: str, run: int, pid: int) -> None:
        _wait_for_end(pid)
        with self._lock:
            if self._runs[instance.id] != run or instance.state != "running":
                return
            try:
                code = int(podman_cli.call("wait", container))
                if code == _REBOOT:
                    _LOG.info("%s rebooted itself", instance.id)
                    self._start(instance, container)
                    return
                _LOG.info("%s powered itself off", instance.id)
                if instance.instance_initiated_shutdown_behavior == "terminate":
                    self._remove(instance)
            except PodmanError as error:
                _LOG.error("%s: %s", instance.id, error)
            code_name = "Client.InstanceInitiatedShutdown"
            self._end(instance, f"{code_name}: Instance initiated shutdown", code_name)

    def _end(self, instance: Any, message: str, code: str) -> None:
        """Bring an instance that ended without a call to the state that it has now."""
        if instance.instance_initiated_shutdown_behavior == "terminate" or code.startswith("Server."):
            if instance.state != "terminated":
                instance.terminate()
        else:
            instance.stop()
        instance.state_reason = StateReason(message, code)
        instance._reason = f"{code.split('.')[0]} initiated ({utcnow():%Y-%m-%d %H:%M:%S} GMT)"

    # Networks

    def _network(self, backend: Any, vpc_id: str) -> str:
        with self._network_lock:
            if vpc_id not in self._networks:
                block = ipaddress.IPv4Network(backend.get_vpc(vpc_id).cidr_block)
                if not block.subnet_of(_ALLOWED):
                    raise PodmanError(f"the range {block} of {vpc_id} is outside of {_ALLOWED}")
                number = len(self._networks)
                name = f"{self._name}-net" + (f"-{vpc_id}" if number else "")
                # EC2 keeps the first four addresses of each subnet, and the second of a VPC is its router too.
                podman_cli.call(
                    *("network", "create", "--disable-dns", "--label", self._label),
                    *("--subnet", str(block), "--gateway", str(block.network_address + 1), name),
                )
                self._networks[vpc_id] = name
            return self._networks[vpc_id]

    def vpc_deleted(self, vpc_id: str) -> None:
        """Remove the network of a VPC."""
        name = self._networks.pop(vpc_id, "")
        if name:
            podman_cli.call("network", "rm", "--force", name, must=False)

    # Images

    def captured(self, image: Any, instance: Any, reboot: bool) -> None:
        """Commit the container in the background: it may take longer than a client waits for an answer."""
        image.state = "pending"
        threading.Thread(target=self._capture, args=(image, instance, reboot)).start()

    def _capture(self, image: Any, instance: Any, reboot: bool) -> None:
        name = f"localhost/icefield/ec2-{self._name}:{image.id}"
        container = self._container(instance.id)
        try:
            with self._lock:
                restart = reboot and instance.state == "running"
                if restart:
                    self._halt(instance)
            podman_cli.call("commit", "--quiet", "--change", f"LABEL {self._label}", container, name)
            with self._lock:
                if restart and instance.state == "running":
                    self._start(instance, container)
                self._images[image.id] = name
                image.state = "available"
                if image.id not in image.ec2_backend.amis:
                    self.forgotten(image.id)
        except PodmanError as error:
            _LOG.error("%s: %s", image.id, error)
            image.state = "failed"

    def forgotten(self, ami_id: str) -> None:
        """Remove an image; one that a container still uses goes when the endpoint ends."""
        name = self._images.pop(ami_id, "")
        if name:
            podman_cli.call("rmi", name, must=False)

    # Everything

    def remove_all(self) -> None:
        """Remove all containers, networks and images of this name, and make no more."""
        with self._lock:
            self._closed = True
            self._sweep()

    def _sweep(self) -> None:
        with self._lock:
            self._runs = dict.fromkeys(self._runs, -1)
            mine = ("--filter", f"label={self._label}", "--quiet")
            for listing, removal in (
                (("ps", "--all", *mine), ("rm", "--force", "--time", "0")),
                (("network", "ls", *mine), ("network", "rm", "--force")),
                (("images", *mine), ("rmi", "--force")),
            ):
                found = sorted(set(podman_cli.call(*listing, must=False).split()))
                if found:
                    podman_cli.call(*removal, *found, must=False)


def _wait_for_end(pid: int) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()
    os.close(descriptor)
