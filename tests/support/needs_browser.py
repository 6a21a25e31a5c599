"""A plug-in of pytest: which tests need a browser, and what happens to them if there is none or none is wanted."""

from __future__ import annotations

import pytest

from svc_jupyter.browser import find_browser
from tests.browser.chromium import NO_BROWSER

_MARK = "no_browser"  # by which a process of pytest-xdist tells its starter


class NeedsBrowser:
    """With ``--no-browser`` the tests are deselected; otherwise a run without a browser ends with one message."""

    @pytest.hookimpl(trylast=True)  # when `-m` and `-k` have deselected theirs
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        driven = [item for item in items if "chromium" in getattr(item, "fixturenames", ())]
        if config.getoption("--no-browser"):
            config.hook.pytest_deselected(items=driven)
            items[:] = [item for item in items if item not in driven]
        elif driven and find_browser() is None:
            if hasattr(config, "workeroutput"):
                config.workeroutput[_MARK] = True
                pytest.exit(NO_BROWSER)
            raise pytest.UsageError(NO_BROWSER)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        if getattr(node, "workeroutput", {}).get(_MARK):
            raise pytest.UsageError(NO_BROWSER)
