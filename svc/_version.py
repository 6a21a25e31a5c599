"""The one version number of the SDK, the service and the notebook extension."""

__version__ = "0.1.0"
