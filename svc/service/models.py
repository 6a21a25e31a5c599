"""The models that the service has, and which one a request means. Facts: the wire page, "Session", "GET /models"."""

from __future__ import annotations

from svc.errors import ExperimentalNotAllowedError, ModelNotFoundError
from svc.messages import ModelCard, ModelInfo, ModelInfoInput, ModelList

STABLE = ModelInfo(model_name="svc", version="1.1", description="The embedded analyst's proven tools.")
EXPERIMENTAL = ModelInfo(
    model_name="svc",
    version="1.2",
    use_experimental=True,
    description="The embedded analyst with the tools that are marked experimental.",
)
RELEASED = 1_795_132_800  # 2026-11-20, the day of both models, in seconds since the epoch
_KINDS = {"stable": STABLE, "experimental": EXPERIMENTAL}
_BY_NAME = {**_KINDS, STABLE.model_string: STABLE, EXPERIMENTAL.model_string: EXPERIMENTAL}


def available_models(*, allow_experimental: bool) -> list[ModelInfo]:
    """What a key may use, the stable one first."""
    return [STABLE, EXPERIMENTAL] if allow_experimental else [STABLE]


def model_list() -> ModelList:
    """Every model that the service has, in OpenAI's shape, the stable one first."""
    return ModelList(
        data=[ModelCard(id=m.model_string, created=RELEASED, owned_by="svc") for m in (STABLE, EXPERIMENTAL)]
    )


def choose_model(asked: str | ModelInfoInput | None, *, allow_experimental: bool) -> ModelInfo:
    """The model meant by an id, ``stable``, ``experimental`` or an object; None or ``""`` is the stable one.

    Raises ModelNotFoundError, or ExperimentalNotAllowedError where the key may not.
    """
    names = [asked.model_string, asked.model_name] if isinstance(asked, ModelInfoInput) else [asked or "stable"]
    model = _BY_NAME.get(names[0]) or _KINDS.get(names[-1])
    if model is None:
        have = ", ".join(sorted(_BY_NAME))
        raise ModelNotFoundError(f"there is no model {names[0][:80]!r}; this service has: {have}", param="model")
    if model.use_experimental and not allow_experimental:
        raise ExperimentalNotAllowedError(
            f"this key may not use {model.model_string}; ask for {STABLE.model_string}, "
            "or have a key made with --experimental",
            param="model",
        )
    return model
