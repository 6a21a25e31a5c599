"""The models that the service offers, and which one a request selects. Facts: docs/wire.md, "Models".

Both are the same assistant; the experimental model also has the toolsets that are marked experimental.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.errors import ExperimentalNotAllowedError, ModelNotFoundError
from svc.messages import ModelCard, ModelInfo, ModelInfoInput, ModelList, Toolset

STABLE = ModelInfo(model_name="svc", version="1.1", description="The embedded analyst's proven tools.")
EXPERIMENTAL = ModelInfo(
    model_name="svc",
    version="1.2",
    use_experimental=True,
    description="The embedded analyst with the tools that are marked experimental.",
)
RELEASED = 1_795_132_800  # 2026-11-20, the release of both models, in seconds since the epoch


class Models:
    """The models over an assistant's toolsets."""

    def __init__(self, toolsets: Sequence[Toolset]) -> None:
        proven = [toolset for toolset in toolsets if not toolset.is_experimental]
        self._stable = msgspec.structs.replace(STABLE, toolsets=proven)
        self._experimental = msgspec.structs.replace(EXPERIMENTAL, toolsets=list(toolsets))
        self._kinds = {"stable": self._stable, "experimental": self._experimental}
        self._by_name = {**self._kinds, **{model.model_string: model for model in self._kinds.values()}}

    def available(self, *, allow_experimental: bool) -> list[ModelInfo]:
        """The models that a key may use, the stable one first."""
        return [self._stable, self._experimental] if allow_experimental else [self._stable]

    def as_model_list(self) -> ModelList:
        """All models in OpenAI's format, the stable one first."""
        models = (self._stable, self._experimental)
        return ModelList(data=[ModelCard(id=m.model_string, created=RELEASED, owned_by="svc") for m in models])

    def choose(self, requested: str | ModelInfoInput | None, *, allow_experimental: bool) -> ModelInfo:
        """Select a model by id, ``stable``, ``experimental`` or an object; None or ``""`` is the stable one.

        Raises:
            ModelNotFoundError: No such model; the message lists the available ones.
            ExperimentalNotAllowedError: The key may not use it.
        """
        candidates = (
            [requested.model_string, requested.model_name]
            if isinstance(requested, ModelInfoInput)
            else [requested or "stable"]
        )
        model = self._by_name.get(candidates[0]) or self._kinds.get(candidates[-1])
        if model is None:
            names = ", ".join(sorted(self._by_name))
            raise ModelNotFoundError(f"no such model: {candidates[0][:80]!r}; available: {names}", param="model")
        if model.use_experimental and not allow_experimental:
            raise ExperimentalNotAllowedError(
                f"this key may not use {model.model_string}; use {self._stable.model_string}, "
                "or create a key with --experimental",
                param="model",
            )
        return model
