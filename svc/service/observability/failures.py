"""A fault of ours: an id for the user, and for the log the id with where it happened, never what was being worked on.

An exception's text may hold what a user wrote, so the log has its type and its frames alone.
"""

from __future__ import annotations

import logging

from svc.errors import InternalServiceError
from svc.messages import new_id

log = logging.getLogger("svc.failures")


def internal_error(error: BaseException, **context: str) -> InternalServiceError:
    """The error for the wire; logs the fault under the same id."""
    fault = new_id()[:12]
    log.error("internal error", exc_info=error, extra={"fault": fault, **context})
    return InternalServiceError(f"internal error {fault}: the service's log says where under this id")
