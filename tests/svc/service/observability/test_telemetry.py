"""Request spans, if enabled: path and status, and no query text."""

from __future__ import annotations

import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from svc.service.observability.telemetry import traced


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_request_is_a_span_without_its_query():
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    async def show(request: Request) -> PlainTextResponse:
        return PlainTextResponse(request.query_params["word"])

    def known(path: str) -> str:
        return path if path == "/show" else "other"

    client = TestClient(traced(Starlette(routes=[Route("/show", show)]), known, provider))

    assert client.get("/show?word=zebra", headers={"Authorization": "Bearer svc_zebra"}).text == "zebra"
    assert client.get("/zebra").status_code == 404
    spans = exporter.get_finished_spans()
    assert ["/show" in span.name for span in spans] == [True, False]
    assert not [span for span in spans if "zebra" in span.to_json()]
    assert 200 in spans[0].attributes.values()


def test_without_the_extra_the_service_says_what_to_install(tmp_path):
    program = (
        "import sys; sys.modules['opentelemetry.instrumentation'] = None\n"
        "from svc.cli.main import main; main(['serve', '--telemetry', 'yes', '--port', '0', '--assistant',"
        f" 'svc.assistant.analyst:Analyst', '--database', 'sqlite:///{tmp_path}/s.db'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert 'pip install "svc-jupyter[otel]"' in done.stderr
