"""What cloud-init finds on an instance: the NoCloud seed, and the image's default user."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Seed:
    """The instance as cloud-init knows it."""

    instance_id: str
    hostname: str
    user: str
    public_keys: list[str]
    user_data: bytes

    def archive(self) -> bytes:
        """Return the files as a tar archive to unpack at /."""
        meta_data = {
            "instance-id": self.instance_id,
            "local-hostname": self.hostname,
            "public-keys": self.public_keys,
        }
        user = {"system_info": {"default_user": {"name": self.user, "gecos": self.user}}}
        # JSON is YAML.
        files = {
            "var/lib/cloud/seed/nocloud/meta-data": json.dumps(meta_data).encode(),
            "var/lib/cloud/seed/nocloud/user-data": self.user_data,
            "etc/cloud/cloud.cfg.d/95-default-user.cfg": json.dumps(user).encode(),
        }
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as tar:
            for path, content in files.items():
                info = tarfile.TarInfo(path)
                info.size = len(content)
                info.mode = 0o600
                tar.addfile(info, io.BytesIO(content))
        return stream.getvalue()
