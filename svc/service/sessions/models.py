"""The models that the service offers, and which one a request selects. Facts: docs/wire.md, "Models".

Both are the same assistant; the experimental model also has the toolsets that are marked experimental.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.errors import ExperimentalNotAllowedError, ModelNotFoundError
from svc.messages import ModelCard, ModelInfo, ModelInfoInput, ModelList, Toolset

STABLE = ModelInfo(model_name="svc", version="1.1", description="The embedded analyst with its stable tools.")
EXPERIMENTAL = ModelInfo(
    model_name="svc",
    version="1.2",
    use_experimental=True,
    description="The embedded analyst with its stable and experimental tools.",
)
RELEASED = 1_795_132_800  # 2026-11-20, the release of both models, in seconds since the epoch


class Models:
    """The models over an assistant's toolsets."""

    def __init__(self, toolsets: Sequence[Toolset]) -> None:
        proven = [toolset for toolset in toolsets if not toolset.is_experimental]
        self._stable = msgspec.structs.replace(STABLE, toolsets=proven)
        self._experimental = msgspec.structs.replace(EXPERIMENTAL, toolsets=list(toolsets))
        kinds = {"stable": self._stable, "experimental": self._experimental}
        self._kinds = kinds | {f"{model.model_name}-{kind}": model for kind, model in kinds.items()}
        self._by_name = self._kinds | {model.model_string: model for model in kinds.values()}

    def available(self, *, allow_experimental: bool) -> list[ModelInfo]:
        """The models that a key may use, the stable one first."""
        return [self._stable, self._experimental] if allow_experimental else [self._stable]

    def as_model_list(self) -> ModelList:
        """All models in OpenAI's format, the stable one first."""
        return ModelList(data=[_card(model) for model in (self._stable, self._experimental)])

    def card(self, name: str) -> ModelCard:
        """A model in OpenAI's format, by its id or an alias; raises ModelNotFoundError."""
        return _card(self.choose(name, allow_experimental=True))

    def choose(self, requested: str | ModelInfoInput | None, *, allow_experimental: bool) -> ModelInfo:
        """Select a model by id, alias (``stable``, ``svc-stable``, …) or an object; None or ``""`` is the stable one.

        The toolsets that an object disables are disabled in the model.

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
        chosen = requested.toolsets if isinstance(requested, ModelInfoInput) else None
        return _without(model, {one.name for one in chosen or () if one.is_enabled is False})


def unknown_toolsets(requested: str | ModelInfoInput | None, model: ModelInfo) -> list[str]:
    """The names of the toolsets in a request that the model does not have."""
    if not isinstance(requested, ModelInfoInput):
        return []
    known = {toolset.name for toolset in model.toolsets}
    return [one.name for one in requested.toolsets or () if one.name not in known]


def _without(model: ModelInfo, disabled: set[str]) -> ModelInfo:
    """The model with these toolsets disabled."""
    if disabled.isdisjoint(toolset.name for toolset in model.toolsets):
        return model
    toolsets = [msgspec.structs.replace(toolset, is_enabled=toolset.name not in disabled) for toolset in model.toolsets]
    return msgspec.structs.replace(model, toolsets=toolsets)


def _card(model: ModelInfo) -> ModelCard:
    return ModelCard(id=model.model_string, created=RELEASED, owned_by="svc")
