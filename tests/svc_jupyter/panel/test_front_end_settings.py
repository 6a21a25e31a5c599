"""A front end's settings are defaults; what the user sets wins."""

from __future__ import annotations

from tests.support.kernels import Kernel

FRONT_END = """
from svc_jupyter.panel.front_end_settings import apply
from svc_jupyter.extension import loaded_extension
magics = loaded_extension()
"""


def test_they_are_defaults_that_may_change_and_be_taken_back(shared_kernel: Kernel):
    shared_kernel.run("%reload_ext svc_jupyter" + FRONT_END)
    assert shared_kernel.run('apply(magics, {"ttl": 600, "api_key": "x"}); print(magics.ttl)').text == "600\n"
    assert shared_kernel.run('apply(magics, {"ttl": 900}); print(magics.ttl)').text == "900\n"
    assert shared_kernel.run('apply(magics, {"ttl": None}); print(magics.ttl)').text == "86400\n"


def test_what_the_user_set_stays(shared_kernel: Kernel):
    shared_kernel.run("%reload_ext svc_jupyter" + FRONT_END)
    shared_kernel.run('%config SvcMagics.language = "es"\nmagics.model = "stable"')
    shown = shared_kernel.run(
        'apply(magics, {"language": "de", "model": "experimental"}); print(magics.language, magics.model)'
    )
    assert shown.text == "es stable\n"


def test_a_value_that_is_none_is_refused_with_the_settings_name(shared_kernel: Kernel):
    shared_kernel.run("%reload_ext svc_jupyter" + FRONT_END)
    failed = shared_kernel.run('apply(magics, {"ttl": "long"})')
    assert "AskError: the setting ttl:" in failed.error
