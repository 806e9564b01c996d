"""The process of a user's script: runs a file as Python itself would, and ends when Python is done with it.

    python .../script_process.py FILE ARGUMENT...

Run by its path, so that nothing of this package can be imported by the script. The one difference to ``python FILE``:
after the last function of ``atexit`` the process ends at once. Python would go on to take down what C++ libraries made,
and torch's process groups were seen to abort there ("terminate called without an active exception", signal 6), on some
ranks and not always, after all results had been written.
"""

import atexit
import os
import sys


def run(path: str, arguments: list[str]) -> None:
    """Run a Python file as the main program; the interpreter's end is that of the process."""
    # Before anything is imported: until now this file's own folder comes first.
    sys.path[0] = os.path.dirname(path)  # noqa: PTH120 - pathlib is not imported into a process that is not ours
    sys.argv = [path, *arguments]
    main = type(sys)("__main__")
    main.__file__ = path
    # Where multiprocessing looks for the functions of its workers.
    sys.modules["__main__"] = main
    ended = Ended()
    # What is registered first comes last.
    atexit.register(ended.leave)
    try:
        prepare()
        with open(path, "rb") as file:  # noqa: PTH123
            code = compile(file.read(), path, "exec", dont_inherit=True)
        exec(code, main.__dict__)
        ended.code = 0
    except SystemExit as request:
        # With a text Python prints it and ends with 1.
        ended.code = 0 if request.code is None else request.code if isinstance(request.code, int) else 1
        raise
    except BaseException as error:
        # Told without the call above.
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.exit(1)


def prepare() -> None:
    """Do what the stack of the environment, or oneCCL, needs done first; see ``script_shim``."""
    extensions, ccl = os.environ.get("ICEFIELD_EXTENSIONS", ""), os.environ.get("ICEFIELD_CCL_MODULE", "")
    if not extensions and not ccl:
        return
    from importlib.util import module_from_spec, spec_from_file_location

    # By its path, and under no name: the script can neither import nor hide it.
    spec = spec_from_file_location("script_shim", os.path.join(os.path.dirname(__file__), "script_shim.py"))  # noqa: PTH118, PTH120
    assert spec is not None and spec.loader is not None
    shim = module_from_spec(spec)
    spec.loader.exec_module(shim)
    shim.install(extensions, ccl)


class Ended:
    """How the script ended, for the last moment of its process."""

    def __init__(self) -> None:
        self.code = 1
        self._pid = os.getpid()

    def leave(self) -> None:
        """End the process at once; a child that the script made by forking goes its own way."""
        if os.getpid() != self._pid:
            return
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                # The script may have closed it, or put something else there.
                continue
        import ctypes

        # What libraries in C have printed and not yet written.
        ctypes.CDLL(None).fflush(None)
        os._exit(self.code & 0xFF)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
