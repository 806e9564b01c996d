"""The image that instances start from: Debian 12 with systemd and cloud-init, as in Debian's own cloud image."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import subprocess
import tempfile
from pathlib import Path

from tests.ec2_server import podman_cli

_LOG = logging.getLogger(__name__)
_MIRROR = "http://deb.debian.org/debian"
_SUITE = "bookworm"
# What the base image of local nodes has, so that the same roles work, and what makes it boot.
_PACKAGES = (
    "ca-certificates",
    "cloud-init",
    "dbus",
    "iproute2",
    "iputils-ping",
    "libtcmalloc-minimal4",
    "openssh-client",
    "openssh-server",
    "procps",
    "python3",
    "python3-apt",
    "python3-venv",
    "rsync",
    "sudo",
    "systemd",
    "systemd-sysv",
    "tzdata",
)
# The network is podman's and the mirror works as it is; nothing else than the seed is looked for.
_CONFIG = """\
datasource_list: [NoCloud]
network: {config: disabled}
apt: {preserve_sources_list: true}
locale: false
"""
# They would contend for dpkg's lock with whoever uses the instance.
_MASKED = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer")
_SETUP = f"""\
set -eu
rm -f "$1"/etc/ssh/ssh_host_*
mkdir -p "$1"/var/lib/cloud/seed/nocloud
cat > "$1"/etc/cloud/cloud.cfg.d/90-container.cfg <<'END'
{_CONFIG}END
chroot "$1" systemctl mask {" ".join(_MASKED)}
"""


def name() -> str:
    """Return the image's name; it changes with what goes into the image."""
    content = json.dumps([_MIRROR, _SUITE, _PACKAGES, _SETUP])
    return f"localhost/icefield/ec2-test:{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def build() -> str:
    """Make the image unless it is there, and return its name."""
    image = name()
    with (Path(tempfile.gettempdir()) / "icefield-ec2-test.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if podman_cli.call("images", "--quiet", image, must=False).strip():
            return image
        _LOG.info("making %s (about a minute)", image)
        with tempfile.TemporaryDirectory() as folder:
            # mmdebstrap's helpers run as other users.
            Path(folder).chmod(0o755)
            setup = Path(folder) / "setup.sh"
            setup.write_text(_SETUP)
            archive = f"{folder}/base.tar"
            command = [
                "mmdebstrap",
                "--quiet",
                "--variant=minbase",
                f"--include={','.join(_PACKAGES)}",
                '--aptopt=Acquire::Languages "none"',
                "--dpkgopt=path-exclude=/usr/share/man/*",
                "--dpkgopt=path-exclude=/usr/share/doc/*",
                f'--customize-hook=sh {setup} "$1"',
                _SUITE,
                archive,
                _MIRROR,
            ]
            subprocess.run(command, check=True)
            podman_cli.call("import", "--change", 'CMD ["/sbin/init"]', archive, image)
    return image
