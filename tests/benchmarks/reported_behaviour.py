"""Fit the weights of ``knowledge/reported_behaviour.toml``, or measure what they do.

    python -m tests.benchmarks.reported_behaviour REPORTS… --harmless FILE… [--fit | --adjust NAME…] [--loss 0.02]

Run it by hand; no test runs it. REPORTS are JSON lines or lists of objects with ``text``, or files of the tests'
corpus (.txt): sentences that report a technique. The files of --harmless have the same form: documentation and prose
without attacks. A hash halves them: one half fits, the other is only measured.
Only harmless sentences count in which the lexicon finds a technique's words.
To keep the form of a sentence from deciding alone, some harmless ones also count without their full stop, or begun in
lower case, because notes do that and manuals do not.

The weights shipped were fitted on half of TRAM's labelled sentences (Apache-2.0), and on sentences from the manual
pages, package descriptions, changelogs, read-me files and licences of a Debian system, from those of Python and npm
packages, and on the open half of the tests' corpus (``tests/support/attack_sentences``). Of the words, negative weights
were left out if a class that speaks for an attack has the word.
--fit prints the weights to be copied into the table. --adjust fits the named weights alone, with all others as they
are: unfamiliar words, conditions, articles, the past and numbers were added in this way, from the open halves of the
corpus and sentences of documentation that have a technique's words.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from svc.assistant.knowledge import load
from svc.assistant.knowledge.reported_behaviour import FILE_NAME, ReportedBehaviour
from svc.assistant.skills.attack.lexicon import candidates
from svc.assistant.skills.attack.phrases import words_of
from svc.assistant.skills.attack_mapping.reported import (
    FORM_NAMES,
    TOP_TECHNIQUE_SCORE,
    class_counts,
    forms_of,
    weigh,
)
from svc.assistant.skills.attack_mapping.tool import LEAST_SCORE
from svc.assistant.skills.attack_mapping.vocabulary import unfamiliar

ROUNDS, RATE, MOMENTUM = 700, 0.3, 0.9  # of the gradient descent
DECAY, WORD_DECAY = 0.0007, 0.0005
LEAST_SENTENCES, LEAST_FILES = 5, 2  # that have a word which gets a weight of its own
LEAST_WORD_WEIGHT = 0.1
WHOLE_SENTENCE_WEIGHT = 4.0  # of a report's whole sentence: notes are most of the labelled set, and reports are prose
Numbers = NDArray[np.float64]


def main() -> None:
    """Parse, fit or measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("reports", nargs="+", type=Path)
    parser.add_argument("--harmless", nargs="+", type=Path, required=True)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--adjust", nargs="+", default=[], metavar="NAME", help="of weights, as --fit prints them")
    parser.add_argument("--loss", type=float, nargs="*", default=(0.005, 0.01, 0.015, 0.02, 0.03, 0.05))
    given = parser.parse_args()
    reports, harmless = texts(given.reports), texts(given.harmless)
    if given.fit or given.adjust:
        sides = [[first_half(path) for path in paths] for paths in (given.reports, given.harmless)]
        if given.fit:
            print_fit(sides[0], sides[1])
        else:
            print_adjusted(sides[0], sides[1], given.adjust)
        return
    for name, half in (("first half", True), ("second half", False)):
        mine = [one for one in reports if is_first_half(one) == half]
        others = [one for one in harmless if is_first_half(one) == half]
        weights = np.array([weigh(one, best_score(one)).weight for one in mine])
        named = np.array([weigh(one, best_score(one)).weight for one in others if best_score(one) >= LEAST_SCORE])
        print(f"{name}: {len(mine):,} of reports, {len(others):,} harmless, {len(named):,} with a technique's words")
        for loss in given.loss:
            least = float(np.quantile(weights, loss))
            share = np.sum(named >= least) / len(others)
            print(f"  lost {loss:.3f}: least weight {least:6.2f}, harmless named {share:.3f}")


def texts(paths: Sequence[Path]) -> list[str]:
    """The texts of all files, each once."""
    return list(dict.fromkeys(text for path in paths for text in texts_of(path)))


def texts_of(path: Path) -> list[str]:
    """The texts of a file of JSON lines, of a JSON list, or of a file of the tests' corpus."""
    content = path.read_text(encoding="utf-8")
    lines = [line for line in content.splitlines() if line.strip() and not line.startswith("#")]
    if path.suffix == ".txt":
        return [line.rpartition(" | ")[2] for line in lines]
    rows = json.loads(content) if content.lstrip().startswith("[") else [json.loads(line) for line in lines]
    return list(dict.fromkeys(row["text"] for row in rows))


def first_half(path: Path) -> list[str]:
    """The texts of a file that fit: all of the tests' corpus, whose halves are files."""
    return [text for text in texts_of(path) if path.suffix == ".txt" or is_first_half(text)]


def is_first_half(text: str) -> bool:
    """Which half a text belongs to."""
    return hashlib.md5(text.encode(), usedforsecurity=False).digest()[0] % 2 == 1


def best_score(text: str) -> float:
    """The score of the likeliest technique."""
    ranked = candidates(text)
    return ranked[0].score if ranked else 0.0


def features(text: str) -> list[float]:
    """What ``weigh`` multiplies with the weights, in the order of ``names``."""
    counts, words = class_counts(text)
    forms = forms_of(text, words, counts)
    values = [min(best_score(text), TOP_TECHNIQUE_SCORE), float(unfamiliar(text))]
    values += [float(name in forms) for name in FORM_NAMES]
    for one in load(FILE_NAME, ReportedBehaviour).classes:
        count = counts.get(one.name, 0)
        values += [float(count > 0), float(max(count - 1, 0))]
    return values


def names() -> list[str]:
    """The names of the features."""
    classes = load(FILE_NAME, ReportedBehaviour).classes
    return [
        "technique",
        "unfamiliar",
        *FORM_NAMES,
        *(f"{one.name}{part}" for one in classes for part in (": weight", ": more")),
    ]


def print_fit(reports: Sequence[Sequence[str]], harmless: Sequence[Sequence[str]]) -> None:
    """Logistic regression with decay. Both sides weigh the same; of one side, a file weighs by its length's root."""
    worded = [[one for one in file if best_score(one) >= LEAST_SCORE] for file in harmless]
    varied = [[*file, *(without_form(one, number) for number, one in enumerate(file))] for file in worded]
    files = [*reports, *varied]
    vocabulary = vocabulary_of(files)
    values = np.array([[*features(one), *word_features(one, vocabulary)] for file in files for one in file])
    sides = [shares(reports), shares(varied)]
    is_report = np.arange(len(values)) < len(sides[0])
    scale = values.max(axis=0).clip(min=1.0)
    decay = np.array([DECAY] * len(names()) + [WORD_DECAY] * len(vocabulary))
    weights, start = descend(values / scale, is_report.astype(float), np.concatenate(sides) / 2, decay)
    print(f"start = {start:.2f}")
    for name, weight in zip([*names(), *vocabulary], weights / scale, strict=True):
        if name not in vocabulary or abs(weight) >= LEAST_WORD_WEIGHT:
            print(f"{name} = {weight:.2f}")


def print_adjusted(reports: Sequence[Sequence[str]], harmless: Sequence[Sequence[str]], chosen: Sequence[str]) -> None:
    """The same for the chosen features, added to what the others say. Of both sides, what has a technique's words."""
    table = load(FILE_NAME, ReportedBehaviour)
    now = np.array([table.unfamiliar if name == "unfamiliar" else table.forms[name] for name in chosen])
    sides = [[[one for one in file if best_score(one) >= LEAST_SCORE] for file in side] for side in (reports, harmless)]
    texts = [one for side in sides for file in side for one in file]
    places = [names().index(name) for name in chosen]
    values = np.array([[features(text)[place] for place in places] for text in texts])
    weighed = [weigh(text, best_score(text)) for text in texts]
    others = np.array([one.weight - one.least for one in weighed]) - values @ now
    is_report = np.arange(len(texts)) < sum(map(len, sides[0]))
    share = np.concatenate([shares(side) for side in sides]) / 2
    weights, start = descend(values, is_report.astype(float), share, np.full(len(chosen), DECAY), others)
    print(f"start = {table.start + start:.2f}")
    print(*(f"{name} = {weight:.2f}" for name, weight in zip(chosen, weights, strict=True)), sep="\n")


def vocabulary_of(files: Sequence[Sequence[str]]) -> list[str]:
    """The words of at least LEAST_SENTENCES sentences and LEAST_FILES files."""
    sentences: Counter[str] = Counter()
    spread: Counter[str] = Counter()
    for file in files:
        mine = Counter(word for one in file for word in words_in(one))
        sentences += mine
        spread.update(mine.keys())
    return sorted(w for w, count in sentences.items() if count >= LEAST_SENTENCES and spread[w] >= LEAST_FILES)


def words_in(text: str) -> set[str]:
    """The different words of a text that are more than a letter."""
    return {word for word, _, _ in words_of(text) if word.isalpha() and len(word) > 1}


def word_features(text: str, vocabulary: Sequence[str]) -> list[float]:
    """For each word of the vocabulary whether the text has it."""
    mine = words_in(text)
    return [float(word in mine) for word in vocabulary]


def shares(files: Sequence[Sequence[str]]) -> Numbers:
    """What each text of one side counts; the sum is 1."""
    found = [
        (WHOLE_SENTENCE_WEIGHT if one[:1].isupper() and one.rstrip().endswith(".") else 1.0) / len(file) ** 0.5
        for file in files
        for one in file
    ]
    return np.array(found, dtype=np.float64) / np.float64(sum(found))


def without_form(text: str, number: int) -> str:
    """Every fourth text without its stop, every sixth also begun in lower case, the rest as they are."""
    if number % 4 == 0:
        return text.rstrip(".!?: ")
    if number % 6 == 1:
        return text[:1].lower() + text[1:].rstrip(".!?: ")
    return text


def descend(
    values: Numbers, is_report: Numbers, share: Numbers, decay: Numbers, others: Numbers | float = 0.0
) -> tuple[Numbers, float]:
    """The weights of the features and the start that fit best.

    ``share`` is what each row counts, ``others`` what features that are not fitted add to it.
    """
    weights, start = np.zeros(values.shape[1]), 0.0
    moved, start_moved = np.zeros(values.shape[1]), 0.0
    for _ in range(ROUNDS):
        error = share * (1 / (1 + np.exp(-(values @ weights + start + others))) - is_report)
        moved = MOMENTUM * moved + values.T @ error + decay * weights
        start_moved = MOMENTUM * start_moved + float(error.sum())
        weights = weights - RATE * moved
        start -= RATE * start_moved
    return weights, start


if __name__ == "__main__":
    main()
