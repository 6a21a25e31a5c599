"""The models that the service has, and which one a request means. Facts: docs/wire.md, "Models".

Both are the same assistant; the experimental one also has the toolsets that are marked experimental.
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
RELEASED = 1_795_132_800  # 2026-11-20, the day of both models, in seconds since the epoch


class Models:
    """The models over what an assistant has."""

    def __init__(self, toolsets: Sequence[Toolset]) -> None:
        proven = [toolset for toolset in toolsets if not toolset.is_experimental]
        self._stable = msgspec.structs.replace(STABLE, toolsets=proven)
        self._experimental = msgspec.structs.replace(EXPERIMENTAL, toolsets=list(toolsets))
        self._kinds = {"stable": self._stable, "experimental": self._experimental}
        self._by_name = {**self._kinds, **{model.model_string: model for model in self._kinds.values()}}

    def available(self, *, allow_experimental: bool) -> list[ModelInfo]:
        """What a key may use, the stable one first."""
        return [self._stable, self._experimental] if allow_experimental else [self._stable]

    def listed(self) -> ModelList:
        """Every model that the service has, in OpenAI's shape, the stable one first."""
        models = (self._stable, self._experimental)
        return ModelList(data=[ModelCard(id=m.model_string, created=RELEASED, owned_by="svc") for m in models])

    def choose(self, asked: str | ModelInfoInput | None, *, allow_experimental: bool) -> ModelInfo:
        """The model meant by an id, ``stable``, ``experimental`` or an object; None or ``""`` is the stable one.

        Raises ModelNotFoundError, or ExperimentalNotAllowedError where the key may not.
        """
        names = [asked.model_string, asked.model_name] if isinstance(asked, ModelInfoInput) else [asked or "stable"]
        model = self._by_name.get(names[0]) or self._kinds.get(names[-1])
        if model is None:
            have = ", ".join(sorted(self._by_name))
            raise ModelNotFoundError(f"there is no model {names[0][:80]!r}; this service has: {have}", param="model")
        if model.use_experimental and not allow_experimental:
            raise ExperimentalNotAllowedError(
                f"this key may not use {model.model_string}; ask for {self._stable.model_string}, "
                "or have a key made with --experimental",
                param="model",
            )
        return model
