"""Ansible action: every setting of the user, checked before any node is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import yaml
from ansible import context
from ansible.errors import AnsibleError
from ansible.utils.vars import load_extra_vars

from plugins.module_utils import (
    benchmark_order,
    benchmark_places,
    commands,
    conda_settings,
    node_cpu,
    podman,
    script_args,
    settings_check,
    settings_machine,
    stack_file,
)
from plugins.module_utils.controller_action import ControllerAction

# Where podman keeps images when it runs as root.
STORAGE = Path("/var/lib/containers/storage")


class ActionModule(ControllerAction):
    """Refuses what is unknown, of another type, out of range, or more than this machine or the cluster has."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "specs": {"type": "path", "required": True},
        "playbook": {"type": "str", "required": True},
        "nodes": {"type": "list", "elements": "dict", "default": []},
        "heads": {"type": "int", "default": 1},
    }

    _stopped: list[dict[str, str]]

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``settings`` (converted) and ``defaults``, or fail with one line for each fault.

        ``given`` are the names of the settings that were given by -e.
        """
        self._stopped = []
        specs = yaml.safe_load(Path(args["specs"]).read_text())
        known = settings_check.of_playbook(settings_check.settings_of(specs), args["playbook"])
        arguments, words = script_args.given(context.CLIARGS.get("extra_vars", ()), known)
        extra = {name: value for name, value in load_extra_vars(self._loader).items() if name not in words}
        faults = settings_check.unknown_names(extra, known)
        if fault := task_vars.get("icefield_inventory_fault"):
            faults.append(str(fault))
        values: dict[str, Any] = {}
        if not faults:
            values, faults = self._convert(known, task_vars)
        if arguments is not None:
            values["script_args"] = arguments
        if not faults:
            faults = list(self._compare(values, args, task_vars))
        if faults:
            raise ValueError("\n".join(faults))
        if args["playbook"] in (*settings_machine.TRAINING, "provision", "bake"):
            for line in self._stack(values, task_vars).warnings():
                self._display.warning(line)
        if args["playbook"] == "benchmark":
            values = benchmark_places.completed(values, len(args["nodes"]))
        return {
            "settings": values,
            "defaults": {name: setting.default for name, setting in known.items()},
            "given": sorted(set(extra) & set(known)),
            "stopped": self._stopped,
        }

    def _convert(
        self, known: Mapping[str, settings_check.Setting], variables: Mapping[str, Any]
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the settings as their types, and a line for each that is none."""
        missing = [name for name in known if name not in variables and name != "nodes"]
        if missing:
            return {}, [settings_machine.missing_settings(missing)]
        values, faults = {}, []
        for name, setting in known.items():
            if name not in variables:
                continue
            try:
                values[name] = settings_check.convert(setting, self._templar.template(variables[name]))
            except AnsibleError as error:
                faults.append(f"setting '{name}': {str(error).splitlines()[0]}")
            except ValueError as error:
                faults.append(str(error))
        return values, faults

    def _compare(
        self, values: Mapping[str, Any], args: Mapping[str, Any], variables: Mapping[str, Any]
    ) -> Iterator[str]:
        """Yield a line for each setting that this machine or the cluster cannot follow."""
        root = Path(str(self._templar.template(variables["icefield_root"])))
        # Workers of Ansible are elsewhere; PWD is where the user called it.
        called_from = Path(os.environ.get("PWD", "."))
        wanted = (
            values
            if args["playbook"] in settings_machine.TRAINING
            else {k: v for k, v in values.items() if k in _MACHINE_FILES}
        )
        file_faults = list(settings_machine.check_files(wanted, root / "requirements" / "stacks", called_from))
        yield from file_faults
        if values["env_manager"] == "conda" and args["playbook"] in ("provision", "bake"):
            yield from conda_settings.faults(values)
        backend = str(self._templar.template(variables["icefield_backend"]))
        if backend == "local" and args["playbook"] in (*settings_machine.TRAINING, "status"):
            self._stopped = stopped_nodes(values["cluster_name"])
        if backend == "aws":
            self._stopped = variables.get("icefield_stopped", [])
        cluster = settings_machine.Cluster(
            backend=backend,
            nodes=len(args["nodes"]),
            name=values["cluster_name"],
            heads=args["heads"],
            addresses={node["name"]: node["address"] for node in args["nodes"]},
            stopped=[node["name"] for node in self._stopped],
            inventory=commands.shown_inventory(variables.get("ansible_inventory_sources"), root),
        )
        nodes = values.get("nodes")
        if args["playbook"] == "benchmark":
            yield from benchmark_places.faults(values, nodes or benchmark_order.doubled(cluster.nodes))
            nodes = max(nodes) if nodes else None
        stop = values["stop"] if args["playbook"] == "status" else ""
        attach = values["attach"] if args["playbook"] == "train" else ""
        wanted_nodes = None if attach else nodes
        if args["playbook"] == "autotune":
            results = Path(str(self._templar.template(variables["icefield_autotune_file"])))
            yield from settings_machine.check_autotune(values, results)
        yield from settings_machine.check_cluster(args["playbook"], wanted_nodes, cluster, stop=stop, attach=attach)
        if backend == "local" and args["playbook"] == "provision":
            wanted_nodes = 2 if nodes is None else nodes
            if not file_faults:
                stack = self._stack(values, variables)
                yield from settings_machine.check_local(values, wanted_nodes, cluster.nodes, machine(), stack)

    def _stack(self, values: Mapping[str, Any], variables: Mapping[str, Any]) -> stack_file.Stack:
        root = Path(str(self._templar.template(variables["icefield_root"])))
        return stack_file.read(root / "requirements" / "stacks" / f"{values['stack']}.txt")


_MACHINE_FILES = ("stack", "extra_ca_files", "wheels_dir")


def machine() -> settings_machine.Machine:
    """Look at this machine."""
    storage = next(path for path in (STORAGE, *STORAGE.parents) if path.is_dir())
    return settings_machine.Machine(
        cores=len(os.sched_getaffinity(0)),
        memory=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        disk_free=shutil.disk_usage(storage).free,
        disk_path=str(storage),
        have_image=_have_image(),
        isa=node_cpu.all_flags(Path("/proc/cpuinfo").read_text()),
    )


def stopped_nodes(cluster: str) -> list[dict[str, str]]:
    """Return name and address of each node of the cluster on this machine that does not run."""
    listed = _podman("ps", "--all", "--filter", f"label=icefield.cluster={cluster}", "--format", "json")
    return podman.stopped_nodes(json.loads(listed or "[]") or [])


def _have_image() -> bool:
    return bool(_podman("images", "--quiet", "--filter", "label=icefield.kind=node-image").strip())


def _podman(*arguments: str) -> str:
    """Return what podman prints; nothing where it is not installed, which is told when it is needed."""
    try:
        return subprocess.run(["podman", *arguments], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""
