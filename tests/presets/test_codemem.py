"""CodeMEM from the command line, over processes and branches, beside figure 2 as it reads."""

from __future__ import annotations

import ast
import json
import re
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.conftest import Process, Treering, process, records
from tests.code.working import commit, git, repository
from tests.presets.conftest import Endpoint

__all__ = ["process"]

WORDS = ["invoice", "discount", "customer", "currency", "rounding", "voucher", "shipping"]


def helper(number: int) -> str:
    """A function that speaks of so many of the words, and of as many others as make it equal."""
    said = WORDS[:number] + [f"filler{number}{n}" for n in range(len(WORDS) - number)]
    return f'def step_{number}(x):\n    """{" ".join(said)}"""\n    return x\n'


HELPERS = "\n\n".join(helper(number) for number in range(1, 8))
FOUND = "def total(items):\n    return 0\n"
GUARD = "    if not items:\n        raise ValueError(items)\n"
ASKED = (
    "Apply invoice, discount, customer, currency, rounding, voucher, shipping: step_7, step_6.",
    "Raise ValueError without any; go on with step_7.",
    "Begin with step_6.",
    "Say nothing else.",
)
CODE = (
    "def total(items):\n    return step_7(step_6(items))\n",
    f"def total(items):\n{GUARD}    return step_7(items)\n",
    f"def total(items):\n{GUARD}    return step_7(step_6(items))\n",
    f"def total(items):\n{GUARD}    return step_6(items)\n",
)
DRAFT = CODE[0]
"""The third round writes this first, which takes the guard back."""
ELSEWHERE = "Return the first invoice, discount, customer, currency, rounding, voucher, shipping."
FIRST = "def total(items):\n    return items[0]\n"


def section(prompt: str, tag: str) -> str:
    return prompt.split(f"<{tag}>\n")[1].split(f"\n</{tag}>")[0]


def steps(text: str) -> set[str]:
    return set(re.findall(r"step_\d", text))


def play(prompt: str) -> str:
    """What the stand-in answers: to the judge's prompt, to a note's, and to that of writing."""
    if "<user_instructions>" in prompt:
        asked = section(prompt, "user_instructions").splitlines()
        missing = steps(asked[-1]) - steps(section(prompt, "existing_repository_context"))
        mode = "ADD" if missing or len(asked) == 1 else "KEEP"
        return json.dumps({"mode": mode, "action": "-", "target_context": sorted(missing)})
    if "<next_instruction>" in prompt:
        return f"Note on: {section(prompt, 'instruction')}"
    instruction = section(prompt, "current_instruction")
    if instruction == ELSEWHERE:
        return f"```python\n{FIRST}```"
    number = ASKED.index(instruction)
    is_first_draft = number == 2 and "must not be used" not in prompt
    return f"```python\n{DRAFT if is_first_draft else CODE[number]}```"


@dataclass
class CodeMem:
    """Figure 2: what each round shows to the judge and to the writer."""

    instructions: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    blocks: list[tuple[str, str]] = field(default_factory=list)

    def round(self, instruction: str, draft: str, code: str = "") -> list[str]:
        """What matters of each prompt of a round, which writes ``code`` if the ``draft`` takes
        something back (eq. 8 to 10)."""
        self.instructions.append(instruction)
        said = [f"judge {self.instructions} {sorted(self.held)}"]
        if steps(instruction) - set(self.held) or len(self.instructions) == 1:
            query = " ".join(self.instructions)
            best = sorted(
                (f"step_{n}" for n in range(1, 8)),
                key=lambda name: -sum(word in query for word in WORDS[: int(name[-1])]),
            )
            self.held = list(dict.fromkeys([*self.held, *best[:5]]))
        if self.blocks:
            said.append(f"note {self.blocks[-1][0]}")
        last = self.blocks[-1][1] if self.blocks else FOUND
        again = self.takes_back(draft)
        said += [f"write {sorted(self.held)} {last.strip()}"] * (2 if again else 1)
        written = (code or draft) if again else draft
        tree = ast.parse(written)
        called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call)
                  and isinstance(n.func, ast.Name)}  # fmt: skip
        self.held = [name for name in self.held if name in called]
        self.blocks.append((instruction, written))
        return said

    def takes_back(self, draft: str) -> bool:
        """Whether a round of another intent, as all are, added what goes or deleted what comes."""
        codes = [heads(code) for code in (FOUND, *(code for _, code in self.blocks), draft)]
        changes = [(new - old, old - new) for old, new in pairwise(codes)]
        added, deleted = changes[-1]
        return any(deleted & then or added & gone for then, gone in changes[:-1])


def heads(code: str) -> set[str]:
    """The statements of some code, each without what is below it."""
    nodes = ast.walk(ast.parse(code))
    return {ast.unparse(n).split("\n")[0] for n in nodes if isinstance(n, ast.stmt)}


def gist(prompt: str) -> str:
    """What ``CodeMem.round`` says of a prompt."""
    if "<user_instructions>" in prompt:
        asked = section(prompt, "user_instructions").splitlines()
        return f"judge {asked} {sorted(steps(section(prompt, 'existing_repository_context')))}"
    if "<next_instruction>" in prompt:
        return f"note {section(prompt, 'instruction')}"
    shown = re.findall(r"^def (step_\d)", section(prompt, "repo_context"), re.MULTILINE)
    code = section(prompt, "memory_blocks").split("Code:\n")[1].split("\n\n")[0]
    return f"write {sorted(shown)} {code.strip()}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", helpers=HELPERS, app=FOUND)


def expected(paper: CodeMem) -> list[str]:
    codes = ((CODE[0],), (CODE[1],), (DRAFT, CODE[2]))
    return [said for asked, code in zip(ASKED, codes, strict=False)
            for said in paper.round(asked, *code)]  # fmt: skip


def configured(treering: Treering, root: Path) -> None:
    for command in (["configure", "codemem"], ["code", "index", str(root)]):
        result = treering(*command)
        assert result.exit_code == 0, result.output


def test_three_processes_are_three_rounds(
    treering: Treering, process: Process, endpoint: Endpoint, root: Path
) -> None:
    endpoint.rule = play
    configured(treering, root)
    for instruction in ASKED[:3]:
        round_ = process("code", "generate", instruction, "-d", "app.py::total")
        _, said = round_.communicate(timeout=60)
        assert round_.returncode == 0, said
    assert list(map(gist, endpoint.prompts)) == expected(CodeMem())
    assert {body["temperature"] for body in endpoint.requests} == {0}


@pytest.mark.usefixtures("settings")
def test_a_branch_has_its_own_rounds_and_those_that_it_rests_on(
    treering: Treering, endpoint: Endpoint, root: Path
) -> None:
    endpoint.rule = play
    configured(treering, root)
    home = git(root, "branch", "--show-current").strip()

    def generate(instruction: str) -> list[str]:
        before = len(endpoint.prompts)
        result = treering("code", "generate", instruction, "-d", "app.py::total")
        assert result.exit_code == 0, result.output
        return [gist(prompt) for prompt in endpoint.prompts[before:]]

    paper = CodeMem()
    rounds = expected(paper)
    assert [said for asked in ASKED[:3] for said in generate(asked)] == rounds

    git(root, "switch", "--quiet", "--create", "other")
    assert generate(ELSEWHERE) == CodeMem().round(ELSEWHERE, FIRST)
    (root / "app.py").write_text("def total(items):\n    return sum(items)\n")
    checked = treering("code", "check", "--root", str(root))
    assert (checked.exit_code, checked.stdout) == (0, "")  # no code of these rounds is here
    assert "compared with 4 recorded rounds" in checked.stderr
    git(root, "restore", "app.py")

    git(root, "switch", "--quiet", home)
    commit(root, "Settle the bill", app=paper.blocks[-1][1])
    git(root, "switch", "--quiet", "--create", "later")
    assert generate(ASKED[3]) == paper.round(ASKED[3], CODE[3])
    rounds_of_all = records(treering("code", "log", "total", "--no-git", "--json"))
    assert {record["branch"] for record in rounds_of_all} == {home, "other", "later"}


def test_documents_and_the_halving_of_tests_can_be_set(
    treering: Treering, endpoint: Endpoint, root: Path
) -> None:
    endpoint.rule = play
    (root / "tests").mkdir()
    (root / "tests" / "test_steps.py").write_text("def test_step_7():\n    assert step_7(1)\n")
    assert treering("configure", "codemem", "--documents", "2").exit_code == 0
    treering("code", "index", str(root))
    treering("code", "generate", ASKED[0], "-d", "app.py::total")
    assert len(re.findall(r"^def ", section(endpoint.prompts[-1], "repo_context"), re.M)) == 2
    plain = treering("code", "search", "step_7", "--alpha", "0", "--explain").stdout
    assert "aside" not in plain
    assert treering("configure", "--aside").exit_code == 0
    assert "aside" in treering("code", "search", "step_7", "--alpha", "0", "--explain").stdout


if sys.platform == "win32":
    pytest.skip("paths of git", allow_module_level=True)
