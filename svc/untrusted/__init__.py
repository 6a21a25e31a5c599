"""Text from outside made safe to show: the only place that decides how, for every client.

``characters`` makes hidden characters visible, ``defang`` makes indicators inert, ``markup`` writes Markdown
around evidence, ``markdown`` rewrites an answer's Markdown, ``model_markdown`` disarms what a language model wrote,
and ``terminal`` prints.
TypeScript follows the same rules; both read the cases in ``tests/wire/*_cases.json``.
"""
