"""What is reported about a job that did not finish: why its process ended, and what of its findings is there."""

from __future__ import annotations

import signal

from svc.assistant.findings import Finding, Gap, Severity, ToolFailure
from svc.assistant.workers import own_limits
from svc.assistant.workers.job import Job
from svc.assistant.workers.process import Limits
from svc.assistant.workers.watch import Excess


def _tool_name(job: Job) -> str:
    return job.tool.partition(":")[0].rpartition(".")[2]


def findings_limit_gap(job: Job, limits: Limits) -> Gap:
    """A job with too many findings."""
    return Gap(text=f"{_tool_name(job)} was stopped after {limits.findings:,} findings in {job.name}", in_headline=True)


def stopped_gap(reason: str, findings: int) -> Gap:
    """A job that was killed because its question was to end."""
    left = "only what it reported until then is known" if findings else "it had reported no finding until then"
    return Gap(text=f"not examined to its end: {reason}, and {left}", in_headline=True, is_passing=True)


def failure(job: Job, reason: str, findings: int, where: str = "") -> Finding[ToolFailure]:
    """The finding about a tool that did not finish; the ``findings`` that it yielded before remain valid."""
    left = "What it found before that is in this answer" if findings else "It had reported no finding before that"
    return Finding(
        title=f"{_tool_name(job)} did not finish with {job.name}",
        severity=Severity.MEDIUM,
        why=f"{reason}. {left}; the rest of {job.name} was not examined.",
        facts=ToolFailure(tool=_tool_name(job), reason=reason, where=where, source=job.name),
    )


def exit_reason(code: int | None, excess: Excess | None, limits: Limits, patience: float) -> str:
    """Why a process ended without a last frame: what it exceeded, or what its exit code says."""
    if excess == "memory":
        return f"the parser was stopped when it needed more than {limits.memory_bytes:,} bytes of memory"
    if code is None:
        return f"the parser stopped responding and did not exit within {patience:g} s"
    if excess == "cpu" or own_limits.is_cpu_limit(code):
        return f"the parser was stopped after {limits.cpu_seconds} s of CPU time"
    if code < 0:
        return f"the parser crashed: {signal.Signals(-code).name}"
    return f"the parser crashed: exit status {code}"
