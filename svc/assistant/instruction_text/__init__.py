"""Find text in evidence that addresses an analyst or a language model: "ignore previous instructions".

Such text changes no verdict; it is reported as findings of its own (``InstructionText``). ``signs`` recognises the
wordings, ``hidden`` decodes hidden Unicode, ``layers`` undoes encodings, ``containers`` opens compressed parts,
``scan`` reads a whole input, and ``answer`` renders the findings.
"""
