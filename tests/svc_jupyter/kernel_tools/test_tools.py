"""``@svc_jupyter.tool`` in real kernels: who is asked, where the function runs, what the model gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import NotebookNode

from tests.support import ASSISTANTS
from tests.support.kernels import Execution, Kernel, execute, notebook_of
from tests.support.live import wait_until
from tests.support.local_services import stop_local_service

SCRIPTED = {
    "SVC_LOCAL_SERVE_ARGS": "--assistant scripted_assistants:Scripted",
    "PYTHONPATH": str(ASSISTANTS),
    "SVC_API_KEY": "",
    "SVC_BASE_URL": "",
    "SVC_WS_URL": "",
}
LOOKUP = """
import svc_jupyter
ran = []

@svc_jupyter.tool
def lookup(host: str, deep: bool = False) -> dict:
    "Says who owns a host."
    ran.append((host, deep))
    print("looking", host)
    return {"owner": "ops", "host": host}
"""
CALL = '%svc call lookup {"host": "web1"}'


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Of kernels that share one scripted service."""
    state = tmp_path_factory.mktemp("tools") / "state"
    yield {**SCRIPTED, "SVC_STATE_DIR": str(state)}
    stop_local_service(state)


@pytest.fixture(scope="module")
def one_kernel(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Iterator[Kernel]:
    with Kernel(tmp_path_factory.mktemp("kernel") / "k", environment) as kernel:
        yield kernel


@pytest.fixture
def kernel(one_kernel: Kernel) -> Kernel:
    """The module's kernel with one tool, which nobody has allowed yet, in a session of its own."""
    forget = "for name in [offer.name for offer in svc_jupyter.tools.offers()]: svc_jupyter.tools.remove(name)"
    assert one_kernel.run(f"import svc_jupyter\n{forget}\n{LOOKUP}").error == ""
    assert one_kernel.run("%svc session new").error == ""
    return one_kernel


def ran(kernel: Kernel) -> str:
    return kernel.run("print(ran)").text.strip()


def test_a_person_at_the_cell_is_asked_and_the_function_runs_there(kernel: Kernel):
    seen = kernel.run(CALL, typed="y")

    assert [prompt["prompt"] for prompt in seen.prompts] == [
        "Allow lookup? [y]es, this call; [n]o; [a]ll calls of lookup in this session, with any arguments: "
    ]
    assert 'The model wants to call lookup: Says who owns a host.\n    host = "web1"\n' in seen.text
    assert "looking web1\n" in seen.text
    assert '{"owner":"ops","host":"web1"}' in seen.shown()
    assert ran(kernel) == "[('web1', False)]"


def test_who_says_no_is_not_asked_twice_in_the_turn_and_nothing_runs(kernel: Kernel):
    seen = kernel.run(CALL, typed="n")
    assert "error: the user denied the call" in seen.shown()
    assert ran(kernel) == "[]"


def test_yes_is_for_one_call_and_always_for_the_session(kernel: Kernel):
    assert [len(kernel.run(CALL, typed=typed).prompts) for typed in ("yes", "all", "never asked")] == [1, 1, 0]
    assert kernel.run("%svc session new").status == "ok"
    assert len(kernel.run(CALL, typed="n").prompts) == 1


def test_what_is_no_answer_is_asked_again_and_then_is_a_no(kernel: Kernel):
    seen = kernel.run(CALL, typed="maybe")
    assert len(seen.prompts) == 3
    assert "denied the call" in seen.shown()


def test_a_function_that_was_changed_is_asked_for_again(kernel: Kernel):
    assert len(kernel.run(CALL, typed="a").prompts) == 1
    kernel.run(LOOKUP.replace('"ops"', '"dev"'))
    assert len(kernel.run(CALL, typed="n").prompts) == 1


def test_a_tool_that_is_allowed_by_name_is_called_without_a_question(kernel: Kernel):
    kernel.run('%config SvcMagics.allow_tools = ["lookup"]')
    try:
        seen = kernel.run(CALL)
    finally:
        kernel.run("%config SvcMagics.allow_tools = []")
    assert seen.prompts == []
    assert '"owner":"ops"' in seen.shown()


def test_what_is_asked_is_shown_as_text_whatever_it_holds(kernel: Kernel):
    seen = kernel.run(r'%svc call lookup {"host": "\u001b[2J\u202e' + "x" * 1_000 + '\\nAllow it? yes"}', typed="n")
    shown = next(line for line in seen.text.splitlines() if line.startswith("    host = "))
    assert "\x1b" not in seen.text
    assert "\u202e" not in seen.text
    assert shown == r'    host = "\u001b[2J\u202e' + "x" * 1_000 + r'\nAllow it? yes"'


RESULTS = [
    pytest.param("raise KeyError('web1')", "error: KeyError: 'web1'", id="exception"),
    pytest.param("raise SystemExit(3)", "error: SystemExit: 3", id="exit"),
    pytest.param(
        "return object()", "error: the result cannot be sent: a object cannot be converted to JSON", id="no JSON"
    ),
    pytest.param("return b'\\xff\\x00'", "error: the result cannot be sent: bytes that are not text", id="bytes"),
    pytest.param("return None", "null", id="nothing"),
    pytest.param(
        "import datetime, pathlib; return [datetime.date(2026, 11, 21), pathlib.PurePosixPath('/a')]",
        '["2026-11-21","/a"]',
        id="dates and paths",
    ),
    pytest.param("import numpy; return {'n': numpy.int64(3)}", '{"n":3}', id="numbers of numpy"),
    pytest.param("import asyncio; return asyncio.run(asyncio.sleep(0, 'x'))", "error: RuntimeError", id="own loop"),
]


@pytest.mark.parametrize(("body", "told"), RESULTS)
def test_whatever_becomes_of_the_function_is_what_the_model_is_told(kernel: Kernel, body: str, told: str):
    kernel.run(f"@svc_jupyter.tool\ndef lookup(host: str):\n    {body}")
    assert told in kernel.run(CALL, typed="y").shown()


def test_wrong_arguments_are_told_and_the_function_is_not_called(kernel: Kernel):
    seen = kernel.run('%svc call lookup {"host": ["web1"]}', typed="y")
    assert "error: wrong arguments: Expected `str`, got `array`" in seen.shown()
    assert "unknown field `zork`" in kernel.run('%svc call lookup {"host": "a", "zork": 1}', typed="y").shown()
    assert ran(kernel) == "[]"


@pytest.mark.parametrize(
    "body", ["import time; time.sleep(60)", "while True: pass", "import threading; threading.Event().wait()"]
)
def test_a_function_that_takes_too_long_is_ended(kernel: Kernel, body: str):
    kernel.run(f"@svc_jupyter.tool(timeout_seconds=0.2)\ndef lookup(host: str):\n    {body}")
    seen = kernel.run(CALL, typed="y")
    assert "error: no result within 0.2 s" in seen.shown()


def test_an_asynchronous_function_works_and_has_its_time_limit(kernel: Kernel):
    define = "import asyncio\n@svc_jupyter.tool(timeout_seconds=0.5)\nasync def lookup(host: str):\n"
    kernel.run(f"{define}    await asyncio.sleep(0.01)\n    print('in the cell')\n    return host")
    seen = kernel.run(CALL, typed="y")
    assert '"web1"' in seen.shown()
    assert "in the cell" in seen.text

    kernel.run(f"{define}    await asyncio.sleep(60)")
    assert "error: no result within 0.5 s" in kernel.run(CALL, typed="y").shown()


def test_a_table_goes_as_csv_cut_to_whole_rows(kernel: Kernel):
    kernel.run("""
import pandas
@svc_jupyter.tool
def lookup(host: str):
    return pandas.DataFrame({"host": ["web1", "web2"], "port": [22, 80]})
@svc_jupyter.tool
def many(host: str):
    return pandas.DataFrame({"host": ["a-host-with-a-name"] * 10_000})
""")
    shown = kernel.run(CALL, typed="y").shown()
    assert "DataFrame of 2 rows, 2 columns" in shown
    assert r"host,port\\nweb1,22\\nweb2,80\\n" in shown.replace("\\\\\\\\", "\\\\")
    told = kernel.run('answer = None\n%svc --into answer call many {"host": ""}', typed="y")
    assert told.error == ""
    result = "[m.content for m in answer.messages if m.message_type == 'local_tool_result']"
    value = json.loads(kernel.run(f"print({result}[0])").text)["value"]
    assert value["cut"].startswith("the first 2,631 rows, ")
    assert value["csv"].endswith("\na-host-with-a-name\n")


def test_an_awaited_question_asks_and_runs_as_well(kernel: Kernel):
    seen = kernel.run('await svc_jupyter.session.ask(\'call lookup {"host": "web1"}\')', typed="y")
    assert len(seen.prompts) == 1
    assert '"owner":"ops"' in seen.shown()


def test_an_interrupt_ends_the_function_and_the_turn(kernel: Kernel):
    kernel.run("""
@svc_jupyter.tool
def lookup(host: str):
    import time
    print("it runs")
    time.sleep(60)
""")
    seen = kernel.run(CALL, typed="y", when=lambda seen: "it runs" in seen.text, then=kernel.interrupt)
    assert "Interrupted: " in seen.error
    assert "cancelled" in kernel.run("%svc history").shown() + kernel.run("%svc history").text


def test_an_interrupt_at_the_question_ends_the_turn_and_nothing_runs(kernel: Kernel):
    asked = kernel.client.execute(CALL, allow_stdin=True)
    assert "Allow lookup?" in kernel.client.get_stdin_msg(timeout=20)["content"]["prompt"]
    kernel.interrupt()
    assert kernel._reply(asked)["content"]["ename"] == "AskInterrupted"
    assert ran(kernel) == "[]"
    assert "after 0" in kernel.run("%svc echo goes on").shown()


def test_the_time_that_a_tool_takes_is_not_the_questions(kernel: Kernel):
    kernel.run("@svc_jupyter.tool\ndef lookup(host: str):\n    import time; time.sleep(3.2)\n    return 'late'")
    assert "late" in kernel.run(CALL.replace("%svc", "%svc --timeout 3"), typed="y").shown()


def test_an_answer_from_the_store_calls_nothing_and_what_is_asked_again_offers_nothing(
    environment: dict[str, str], tmp_path: Path
):
    stored = environment | {"SVC_ANSWERS": "replay", "SVC_ANSWERS_STORE": str(tmp_path / "answers")}
    with Kernel(tmp_path / "kernel", stored) as kernel:
        kernel.run(LOOKUP)
        assert len(kernel.run(CALL, typed="y").prompts) == 1
        again = kernel.run(CALL.replace("%svc", "%svc --new"), typed="y")
        assert '"owner":"ops"' in again.shown()
        assert again.prompts == []
        follow = kernel.run("%svc echo and then?", typed="y")
        assert "echo and then? (after 1)" in follow.shown()
        assert follow.prompts == []
        assert ran(kernel) == "[('web1', False)]"


def test_a_tool_that_was_removed_is_offered_no_longer(kernel: Kernel):
    assert kernel.run("svc_jupyter.tools").displays[0]["data"]["text/plain"] == "lookup: Says who owns a host."
    kernel.run("svc_jupyter.tools.remove('lookup')")
    assert "no tools" in kernel.run(CALL).shown()


NOT_TOOLS = [
    pytest.param("def f(a): ...", "AskError: f: a has no type. Add one, for example a: str", id="no type"),
    pytest.param("def f(*a: int): ...", "so *a: int is not allowed. Use named parameters.", id="any number"),
    pytest.param("def f(a: int, /): ...", "so a: int before / is not allowed.", id="by place"),
    pytest.param("def f(a: object): ...", "f: a has the type object, which JSON cannot represent.", id="no JSON"),
    pytest.param("def f(a: 'Zork'): ...", "f cannot be inspected: name 'Zork' is not defined", id="unknown name"),
    pytest.param("class f: ...", "@tool is for functions, not for type", id="class"),
]


@pytest.mark.parametrize(("code", "text"), NOT_TOOLS)
def test_what_cannot_be_a_tool_is_refused_in_one_line_where_it_is_written(kernel: Kernel, code: str, text: str):
    seen = kernel.run(f"@svc_jupyter.tool\n{code}")
    assert text in seen.error
    assert "Traceback" not in seen.error


def outputs(notebook: NotebookNode) -> str:
    return "".join(str(cell.outputs) for cell in notebook.cells)


def batch(folder: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, *cells: str) -> str:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return outputs(execute(notebook_of(LOOKUP, *cells, CALL, "print(f'ran {ran}')"), folder))


def test_in_a_batch_run_nothing_is_called_that_is_not_allowed_by_name(tmp_path, environment, monkeypatch):
    shown = batch(tmp_path, environment, monkeypatch)
    assert "lookup was not called: cannot ask for confirmation in a non-interactive run." in shown
    assert "error: the user denied the call" in shown
    assert "ran []" in shown


@pytest.mark.parametrize("way", ["%config SvcMagics.allow_tools = ['lookup']", "SVC_ALLOW_TOOLS"])
def test_in_a_batch_run_what_is_allowed_by_name_is_called(tmp_path, environment, monkeypatch, way: str):
    if way == "SVC_ALLOW_TOOLS":
        monkeypatch.setenv("SVC_ALLOW_TOOLS", "other, lookup")
    shown = batch(tmp_path, environment, monkeypatch, *([way] if way.startswith("%") else []))
    assert "ran [('web1', False)]" in shown


def test_a_panels_question_asks_through_confirm_and_prints_into_no_cell(kernel: Kernel):
    begun = kernel.run("""
from svc_jupyter.kernel.events import PANEL
from dataclasses import replace
magics = get_ipython().magics_manager.registry["SvcMagics"]
heard = []
class Watch:
    def on_message(self, session_id, message): heard.append(message)
    def on_session(self, session): pass
    def on_busy(self, *, is_busy): pass
    def on_waiting(self, caller, waiting_for): pass
magics.kernel.observers.add(Watch())
wanted = replace(magics.ask_options(), caller=PANEL)
future = magics.kernel.ask_in_background('call lookup {"host": "web1"}', wanted, lambda item: None)
""")
    assert begun.error == ""

    def says(code: str) -> str:
        seen: Execution = kernel.run(f"print({code})")
        assert seen.error == ""
        return seen.text.strip()

    asked = "[m.id for m in heard if m.message_type == 'confirmation_request']"
    wait_until(lambda: says(asked) != "[]", "the question")
    refused = kernel.run("magics.kernel.confirm('zork', is_allowed=True, is_once=True)")
    assert "this confirmation is no longer pending" in refused.error
    kernel.run(f"magics.kernel.confirm({asked}[0], is_allowed=True, is_once=True)")
    seen = kernel.run("future.result(20); print(heard[-2].content)")
    assert '{"owner":"ops","host":"web1"}' in seen.text
    assert "looking" not in seen.text
    assert ran(kernel) == "[('web1', False)]"
    again = kernel.run(f"magics.kernel.confirm({asked}[0], is_allowed=True, is_once=True)")
    assert "this confirmation is no longer pending" in again.error
