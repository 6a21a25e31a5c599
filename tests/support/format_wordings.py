"""How users and public benchmarks word a requested format, for ``format_prompts``: an open and a held set.

``{noun}``: what is asked for, ``{key}``: its name in data, ``{ex}``: an example's value, ``{options}``: a choice's
texts.
"""

from __future__ import annotations

OPEN_ROLES = (
    "You are a senior SOC analyst with 15 years of experience.",
    "Act as an expert in threat intelligence. Be precise.",
    "You are a helpful cybersecurity assistant.\nThink step by step.",
)
HELD_ROLES = (
    "As an experienced incident responder, you support a CSIRT.",
    "You are CyberGPT, an AI model specialised in vulnerability analysis. Never break character.",
    "Assume the role of a malware analyst who reports to the CISO. Take a deep breath and reason carefully.",
)

OPEN_WORDINGS = {
    "last_line": [
        (
            "Think step by step. End your response with a final line of the form\nAnswer: <{noun}>\n"
            "Final line example: Answer: {ex}"
        ),
        (
            "Explain your reasoning briefly, then give the result on the last line as 'Answer: {noun}', "
            "for example 'Answer: {ex}'."
        ),
        (
            'Provide a short justification. The last line of your response must be "Answer: " followed by the {noun} '
            "only (e.g. Answer: {ex})."
        ),
    ],
    "boxed": [
        "Reason step by step and put your final answer within \\boxed{{}}.",
        "Put the {noun} in \\boxed{{}} at the end, for example \\boxed{{{ex}}}.",
        "Your final answer must be given as \\boxed{{{noun}}}.",
    ],
    "tag": [
        "Put your final answer in <answer></answer> tags. Example: <answer>{ex}</answer>",
        "Wrap the {noun} in <answer> tags.",
        "Return the {noun} between <answer> and </answer>. For example: <answer>{ex}</answer>",
    ],
    "skeleton": [
        "Respond in the following XML format:\n<result>\n  <{key}>{ex}</{key}>\n  <reason>...</reason>\n</result>",
        "Output only XML, like this:\n<result><{key}>{noun}</{key}><reason>one sentence</reason></result>",
        "Use this XML template:\n```xml\n<result>\n<{key}>...</{key}>\n<reason>...</reason>\n</result>\n```",
    ],
    "json": [
        'Respond only with JSON. For example: {{"{key}": "{ex}", "reason": "short text"}}',
        'Return a JSON object with the keys "{key}" and "reason". Do not add any other text.',
        'Answer in JSON like this:\n{{\n  "{key}": "{ex}",\n  "reason": "..."\n}}\nNo explanation outside the JSON.',
    ],
    "schema": [
        (
            'Your answer must be JSON that conforms to this JSON schema:\n{{"type": "object", "properties": '
            '{{"{key}": {{"type": ["string", "number", "null"], "examples": ["{ex}"]}}, "reason": '
            '{{"type": "string"}}}}, "required": ["{key}", "reason"], "additionalProperties": false}}'
        ),
        (
            'Output JSON matching the schema below.\n```json\n{{"$schema": "https://json-schema.org/draft/2020-12/schema"'
            ', "type": "object", "properties": {{"{key}": {{"type": ["string", "number", "null"], '
            '"description": "for example {ex}"}}, "reason": {{"type": "string"}}}}, "required": ["{key}", '
            '"reason"]}}\n```'
        ),
    ],
    "yes_no": [
        "Answer only with yes or no.",
        "Answer with a single word: Yes or No. Do not explain.",
        'Respond with just "yes" or "no".',
    ],
    "word": [
        "Answer with one word: phishing, spam or legitimate.",
        "Choose one of: benign, spam, phishing. Reply with the label only.",
        "Classify it as one of [legitimate, suspicious, phishing]. Output a single word, e.g. suspicious.",
    ],
    "only": [
        "Reply with only the {noun} and nothing else.",
        "Your answer must be the {noun} only, for example: {ex}",
        "Give just the {noun}, no explanation.",
    ],
    "number": [
        "Answer with a number only.",
        "Reply with just the number, e.g. {ex}.",
        "Only output the numeric value. Example output: {ex}",
    ],
    "comma": [
        "Return the {noun} as a comma-separated list, nothing else. Example: {ex}, {ex}",
        "Output only the {noun}, separated by commas.",
        "Give them on one line as comma-separated values without any other text.",
    ],
    "csv": [
        "Output CSV with the columns {key},reason. Include the header.",
        "Return the result as CSV with header `{key},reason`. Example row: {ex},text",
        "Respond in CSV format with exactly these columns: {key}, reason",
    ],
    "table": [
        "Present the result as a Markdown table with the columns {key} | reason.",
        'Answer with a markdown table with columns "{key}" and "reason".',
        "Use this table format:\n| {key} | reason |\n|---|---|\n| {ex} | text |",
    ],
    "bullets": [
        "Answer in exactly 3 bullet points.",
        "Summarise in three bullets.",
        "Give your answer as a bulleted list of 2 items.",
    ],
    "sentences": [
        "Answer in two sentences.",
        "Limit your answer to 2 sentences.",
        "Explain in exactly three sentences for my manager.",
    ],
    "numbered": [
        "Answer with a numbered list.",
        "Return a numbered list with one item per line.",
        "Present the results as an ordered (numbered) list.",
    ],
    "line": [
        "Answer in one line.",
        "Keep your answer to a single line.",
        "Reply in one sentence.",
    ],
    "choice": [
        (
            "Choose the correct option.\n\nOptions:\n{options}\n\nThe last line of your answer should contain only the "
            "single letter corresponding to the best option."
        ),
        "{options}\n\nReturn your answer as a single uppercase letter: A, B, C, or D.",
        'Options:\n{options}\nThink step by step and finish with "Answer: <letter>", e.g. "Answer: E".',
    ],
}

HELD_WORDINGS = {
    "last_line": [
        (
            "First discuss the evidence. Conclude with a separate line that reads\nFinal answer: [{noun}]\n"
            "(Sample: Final answer: {ex})"
        ),
        (
            "Output requirements:\n- Show your work.\n- Finish with `ANSWER = <{noun}>`.\n- Example of the final line: "
            "`ANSWER = {ex}`"
        ),
        (
            'Please make sure that the final line has the format "Final Answer: $VALUE" where $VALUE is the {noun}. '
            "Sample output: Final Answer: {ex}"
        ),
    ],
    "boxed": [
        "Let's think step by step. Enclose the {noun} in \\boxed{{...}} on the last line.",
        "Write your final answer inside \\boxed{{}}; a valid response ends like \\boxed{{{ex}}}.",
        "The final result should appear as $\\boxed{{{noun}}}$.",
    ],
    "tag": [
        "Think in <thinking> tags if you like, but the {noun} has to be inside <final>...</final>.",
        "Surround your conclusion with <final> and </final>, e.g. <final>{ex}</final>.",
        "Provide the {noun} enclosed in <final></final> tags and nothing else.",
    ],
    "skeleton": [
        (
            "Structure your reply exactly as follows:\n<analysis>\n<{key}>[{noun}]</{key}>\n<reason>[why]</reason>\n"
            "</analysis>"
        ),
        "Your output must be well-formed XML with the root element <analysis> and the children <{key}> and <reason>.",
        (
            "Here is an example of the expected output:\n\n"
            "<analysis><{key}>{ex}</{key}><reason>because</reason></analysis>"
            "\n\nKeep the same structure."
        ),
    ],
    "json": [
        (
            'The output should be a valid JSON object and nothing else, in this shape:\n```json\n{{"{key}": "{ex}", '
            '"reason": "<why>"}}\n```'
        ),
        "Provide the result strictly as JSON with two fields, `{key}` and `reason`; no markdown, no commentary.",
        'Expected output format:\n{{"{key}": <{noun}>, "reason": <string>}}',
    ],
    "schema": [
        (
            'Generate a JSON document that validates against:\n\n{{"type":"object","required":["{key}","reason"],'
            '"properties":{{"reason":{{"type":"string"}},"{key}":{{"anyOf":[{{"type":"string"}},{{"type":'
            '"number"}},{{"type":"null"}}],"default":"{ex}"}}}}}}'
        ),
        (
            'Follow this JSON Schema strictly. Do not wrap the JSON in a code fence.\n<schema>\n{{"title": "Result", '
            '"type": "object", "properties": {{"{key}": {{"type": ["null", "number", "string"], "example": '
            '"{ex}"}}, "reason": {{"type": "string"}}}}, "required": ["reason", "{key}"]}}\n</schema>'
        ),
    ],
    "yes_no": [
        "Yes or no?",
        "Say YES or NO, nothing more.",
        "Your response should be strictly 'Yes' or 'No' without punctuation or explanation.",
    ],
    "word": [
        "Your verdict has to be exactly one of these words: legitimate / spam / phishing.",
        "Possible labels: phishing, ham. Output the label, no other text.",
        "One word only, please: either safe or phishing.",
    ],
    "only": [
        "I only want the {noun}.",
        "No prose. Only provide the {noun} (sample answer: {ex}).",
        "Respond with nothing but the {noun}; do not include any additional text, e.g. `{ex}`.",
    ],
    "number": [
        "A single number is enough, no words.",
        "Return only a numeric answer such as {ex}.",
        "Your whole reply must consist of one number (for instance {ex}).",
    ],
    "comma": [
        "List the {noun} separated by commas on one line and write nothing else, such as: {ex}, {ex}",
        "Comma-delimited output only, no explanations.",
        "Format: value1, value2, value3 (a single line, the {noun} only).",
    ],
    "csv": [
        "I need a CSV file. The first row must be: {key},reason",
        (
            "Format your answer as comma-separated values with the fields {key} and reason (in this order, with a "
            "header "
            "line). A row may look like `{ex},because`."
        ),
        "Give me CSV (header: {key},reason) and no other text.",
    ],
    "table": [
        "Put everything in a table with two columns: {key}, reason.",
        "Reply with one Markdown table whose header row is | {key} | reason | and nothing else.",
        "Tabulate your findings (columns: {key}; reason). A sample row: | {ex} | because |",
    ],
    "bullets": [
        "No more text than three bullet points, please.",
        "Give the key facts as 2 bullets.",
        "Use a bullet list with exactly four points.",
    ],
    "sentences": [
        "Keep it to two sentences.",
        "Your summary must have exactly 3 sentences.",
        "Write a 2-sentence summary for executives.",
    ],
    "numbered": [
        "Number your points (1., 2., ...).",
        "Give me the result as an enumerated list.",
        "Format the answer as a numbered list, no introduction.",
    ],
    "line": [
        "One line is enough.",
        "Give me a one-liner.",
        "Please respond with one short sentence only.",
    ],
    "choice": [
        "Select the best answer from the options:\n{options}\nYour reply must be one letter (A-D) without explanation.",
        (
            "Answer choices:\n{options}\n\nProvide your reasoning, then write the letter of the correct choice alone "
            "on the final line."
        ),
        "Which of these is right?\n{options}\nReply in the format: Answer: [letter]",
    ],
}
