"""What only a process of its own shows: signals, pipes, terminals, and how fast it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Process, Treering, records
from tests.programs import Program

TIMEOUT_S = 60


def test_help_imports_no_numerics_and_no_sub_app() -> None:
    heavy = "{'numpy', 'scipy', 'onnxruntime', 'tokenizers', 'openai', 'treering.memory'}"
    program = (
        "import sys; from treering.cli.main import app; app(['--help'], standalone_mode=False);"
        f"loaded = {heavy} & set(sys.modules); assert not loaded, loaded"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, done.stderr


def test_a_closed_pipe_ends_the_command_without_a_word(
    treering: Treering, process: Process, tmp_path: Path
) -> None:
    (tmp_path / "long.txt").write_text("Some words to fill a pipe with.\n" * 20_000)
    treering("add", tmp_path / "long.txt", "--kind", "code")
    running = process("list", "--json")
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.read(10)
    running.stdout.close()
    assert running.stderr.read() == ""
    assert running.wait(TIMEOUT_S) == 141
    running.stderr.close()
    assert running.stdin is not None
    running.stdin.close()


ENDS = pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
)
"""How a command is interrupted, and the code that it ends with."""


@pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there")
@ENDS
def test_a_message_whose_reply_was_interrupted_is_kept_and_that_is_said(
    process: Process, treering: Treering, how: signal.Signals, code: int
) -> None:
    running = process("chat", "--llm", "silent")
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write("I am Ana.\n")
    running.stdin.flush()
    assert running.stdout.readline() == "asked\n"
    running.send_signal(how)
    _, told = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode == code
    assert "holds 1 entry, all durable; a message without a reply is stored" in told
    assert "not added" not in told
    assert [one["text"] for one in records(treering("list", "--json"))] == ["I am Ana."]


INTERRUPTED = """
import os, signal, sys

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

module, *sys.argv = sys.argv[1:]
sys.meta_path.insert(0, Interrupter())
from treering.__main__ import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there")
@pytest.mark.parametrize(
    "module",
    ["treering.agents.hook", "typer", "treering.cli.main", "treering.memory", "numpy"],
)
def test_a_command_that_is_interrupted_while_it_starts_says_so(
    treering: Treering, settings: dict[str, str], module: str
) -> None:
    treering("add", "I am Ana.")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, "treering", "list"],
        cwd=ROOT,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout) == (130, "interrupted\n", "")


def test_text_survives_a_pipe_whatever_the_locale_says(
    treering: Treering, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    treering("add", "Ein Übersetzer trinkt 茶.")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    running = process("context", "Übersetzer", encoding="utf-8")
    shown, told = running.communicate(timeout=TIMEOUT_S)
    assert (running.returncode, "Ein Übersetzer trinkt 茶." in shown) == (0, True), told


@pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there")
@ENDS
def test_an_interrupted_add_keeps_what_it_stored_and_says_what_is_left(
    process: Process, treering: Treering, tmp_path: Path, how: signal.Signals, code: int
) -> None:
    (tmp_path / "notes").mkdir()
    for number in range(3):
        (tmp_path / "notes" / f"{number}.txt").write_text(f"Note {number}.")
    running = process("add", tmp_path / "notes", "--embedder", "waiting")
    assert running.stdout is not None
    assert running.stdout.readline() == "embedding\n"
    running.send_signal(how)
    _, told = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode == code
    assert "holds 3 entries, all durable" in told
    assert "3 wait to be indexed: `treering settle`" in told
    assert len(records(treering("list", "--json"))) == 3
    assert "pending        none" in treering("settle").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
def test_remembered_text_cannot_act_on_a_terminal(
    treering: Treering, settings: dict[str, str]
) -> None:
    treering("add", "[bold]loud[/bold] \x1b[2J\x9b31m :smile: \u202eevil", "--source", "[red]x")
    shown = on_a_terminal("list")
    assert "[bold]loud[/bold] \\u001b[2J\\u009b31m :smile: \\u202eevil" in shown
    assert "[red]x" in shown
    assert "\x1b[2J" not in shown


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
def test_a_message_that_is_refused_does_not_end_a_chat(
    treering: Treering, settings: dict[str, str], tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("Nice to meet you.\n")
    typed = b"word " * 300 + b"\nI am Ana.\n"
    chat = ("chat", "--llm", f"scripted#{script}", "--budget", "200")
    shown = on_a_terminal(*chat, reply=typed, leave_at=3)
    assert "and 200 are allowed by budget and model" in " ".join(shown.split())
    assert "Nice to meet you." in shown
    kept = [entry["text"] for entry in records(treering("list", "--json"))]
    assert kept == ["I am Ana.", "Nice to meet you."]


def on_a_terminal(*arguments: str, reply: bytes = b"", leave_at: int = 0) -> str:
    """What a command shows on a terminal 200 columns wide, on which somebody types a reply.

    Ctrl-D is typed at the prompt of number ``leave_at``.
    """
    plugins = Path(__file__).parent / "plugins"
    terminal, its_end = os.openpty()
    command = Program[bytes](
        [sys.executable, "-m", "treering", *arguments],
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(plugins))),
            "COLUMNS": "200",
            "TERM": "xterm",
        },
        start_new_session=True,
    )
    os.close(its_end)
    os.write(terminal, reply)
    shown = b""
    try:
        while block := os.read(terminal, 4096):
            if shown.count(b"> ") < leave_at <= (shown + block).count(b"> "):
                os.write(terminal, b"\x04")
            shown += block
    except OSError:  # how Linux says that the command has ended
        pass
    os.close(terminal)
    command.wait(TIMEOUT_S)
    return shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there")
def test_a_server_of_tools_ends_by_the_signal(process: Process, treering: Treering) -> None:
    treering("add", "Hello.")
    running = process("mcp")
    assert running.stdin is not None
    assert running.stdout is not None
    ping = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    running.stdin.write(400 * ping)  # the signal comes while most of them are being answered
    running.stdin.flush()
    assert running.stdout.readline().startswith("{")
    running.send_signal(signal.SIGTERM)
    assert running.wait(TIMEOUT_S) == -signal.SIGTERM  # though its input has not ended
    assert "Traceback" not in running.communicate()[1]
