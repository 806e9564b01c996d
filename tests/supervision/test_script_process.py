"""A user's script runs as it would by itself."""

import subprocess
import sys
import textwrap

import pytest

from icefield_train import script_process

# What Python itself has to answer, to be compared with.
SCRIPTS = {
    "its place": """
        import os, sys
        print(sys.argv, sys.path[0], __name__, __file__, os.getcwd())
        import helper
        print(helper.word, sys.modules["__main__"].__file__)
    """,
    "an error": """
        def fail():
            raise ValueError("no rows")
        fail()
    """,
    "an exit code": "import sys; print('bye'); sys.exit(300)",
    "an exit with a text": "raise SystemExit('no rows left')",
    "an exit without a code": "import sys; sys.exit()",
    "an exit that is true": "import sys; sys.exit(True)",
    "a syntax error": "print('a'\n",
    "functions at the end": """
        import atexit, threading, time
        atexit.register(print, "registered")
        threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
        print("main")
    """,
    "a hook for errors": """
        import sys
        sys.excepthook = lambda kind, error, trace: print("hooked", kind.__name__, trace.tb_lineno)
        raise KeyError("x")
    """,
    "workers": """
        import multiprocessing
        def square(x):
            return x * x
        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    print(pool.map(square, range(4)))
    """,
    "a child by fork": """
        import os, sys
        pid = os.fork()
        if pid == 0:
            sys.exit(5)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """,
    "pickles and types": """
        import dataclasses, pickle, typing
        @dataclasses.dataclass
        class Row:
            x: "int" = 3
        print(pickle.loads(pickle.dumps(Row())), typing.get_type_hints(Row))
    """,
    "a closed output": "import sys; sys.stdout.close(); sys.exit(4)",
    "annotations": "x: int = 3\nprint(__annotations__)",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_prints_and_ends_as_it_does_by_itself(name, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPTS[name]))
    (tmp_path / "helper.py").write_text("word = 'helped'\n")

    def said(*command):
        done = subprocess.run([*command, script, "--a", "b c"], capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout, done.stderr

    assert said(sys.executable, script_process.__file__) == said(sys.executable)


def test_what_python_would_take_down_after_the_script_cannot_spoil_it(tmp_path):
    script = tmp_path / "train.py"
    # An object of a library in C++ that aborts when it is taken down with the interpreter.
    script.write_text(
        "import os, sys\n"
        "class Library:\n"
        "    def __del__(self, abort=os.abort):\n"
        "        abort()\n"
        "sys.library = Library()\n"
        "print('results are written')\n"
    )
    alone = subprocess.run([sys.executable, script], capture_output=True, check=False)
    assert alone.returncode == -6
    done = subprocess.run(
        [sys.executable, script_process.__file__, script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "results are written\n")
