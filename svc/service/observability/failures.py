"""Internal errors: the client gets an id, the log the same id with the exception's type and stack frames.

The exception's text is not logged, because it may contain what a user wrote.
"""

from __future__ import annotations

import logging

from svc.errors import InternalServiceError
from svc.messages import new_id

log: logging.Logger = logging.getLogger("svc.failures")


def internal_error(error: BaseException, **context: str) -> InternalServiceError:
    """Log a bug under a new id, and return the error for the wire, which has only that id.

    Args:
        error: The exception.
        **context: Fields for the log line, such as the turn's id.
    """
    fault = new_id()[:12]
    log.error("internal error", exc_info=error, extra={"fault": fault, **context})
    return InternalServiceError(f"internal error {fault}: see the service's log for this id")
