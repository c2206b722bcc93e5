"""Expected ROUGE values and stems, by the official implementations.

Writes `tests/fixtures/rouge/`. Run once by hand, never by the tests:

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install rouge-score==0.1.2 nltk==3.10.4
    /tmp/venv/bin/python crates/context-bench/tests/oracle/rouge.py [SHARED]

SHARED is the folder with `data/responses/dialogsum.bart.jsonl`; of that file
only ids and numbers are written, never a text. The texts of `golden.jsonl` are
our own.
"""

import json
import pathlib
import sys

from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent / "fixtures" / "rouge"
KINDS = ["rougeL", "rouge1", "rouge2"]

# (prediction, references)
PAIRS = [
    ("The harbour crane was repaired on Monday.", ["On Monday the crane in the harbour was repaired."]),
    ("the the the", ["the cat and the dog"]),
    ("", ["something"]),
    ("something", [""]),
    ("?!…", ["a b"]),
    ("a", ["a"]),
    ("one", ["one two"]),
    ("Running runners ran; the runner runs easily.", ["A runner who ran was running with ease."]),
    ("Skies, ties and flies: lying, dying, tying news.", ["The sky, a tie and a fly lie, die, tie: new."]),
    ("Geology and generalizations, radically rational organizations.", ["Geologic generalization is radical; organize rationally."]),
    ("It's the state-of-the-art U.S.A. report, no. 42-b.", ["Its state of the art USA report number 42b"]),
    ("Café naïve Zürich — déjà vu", ["Cafe naive Zurich deja vu", "caf na ve z rich d j vu"]),
    ("İstanbul and the Kelvin sign \u212a", ["i stanbul and the kelvin sign k"]),
    ("会议批准了预算 2024", ["2024 预算"]),
    ("Mara sold the boat. Jonas bought a bicycle and left for the coast.", [
        "Jonas bought a bicycle; Mara sold her boat.",
        "The boat was sold by Mara, and Jonas left for the coast with a new bicycle.",
        "Nothing happened.",
    ]),
    ("b a c d", ["a b c d", "b a x y z w", "d c b a"]),
    ("tab\tand\nnewline\r\nseparate  words", ["tab and newline separate words"]),
    ("the board agreed agreeably, disagreeing with agreements it had agreed to", ["the board agrees; agreement was agreeable"]),
    ("feed fed feeding freed bleeding hopping hoping controlled controlling rolled", ["fed feed free bleed hop hope control roll"]),
    (" ".join("w%d" % (i * 7919 % 113) for i in range(400)), [" ".join("w%d" % (i * 104729 % 127) for i in range(350))]),
    ("word " * 200, ["word " * 130]),
]

WORDS = """
caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized hopping
tanned falling hissing fizzed failing filing happy sky spy fly try enjoy enjoyment relational conditional
rational valency hesitancy digitizer conformably radically differently vilely analogously vietnamization
predication operator feudalism decisiveness hopefulness callousness formality sensitivity sensibility
triplicate formative formalize electricity electrical hopeful goodness revival allowance inference airliner
gyroscopic adjustable defensible irritant replacement adjustment dependent adoption homologous communism
activate angularity effective bowdlerize probate rate cease controll roll skies dying lying tying news
innings outing cannings howe proceed exceed succeed dies died tied cried flies spies tries owed using used
being seed need freed geology theology logically psychology apology analogy biologically carefully fully
beautifully usually generally totally ally allied allies rally really finally belly reply supply apply
yyyy yyyyy syzygy yoyo toying played playing plays buying buyer said says 1990s 2nd 3rds a1b2 x100
possibly terribly ably nobly humbly assembly dummy dizzy buzzing buzzed messing messed rolled rolling
oed aing iing ooing eeing ied ies sses ness fulness ization ational tional ement ion sion tion
abyss abilities ability crises crisis analyses analyzes organisation organization organizations multiply
multiplication universities university universal universe communication committee committees committed
committing meetings meeting approving approved approval budget budgets summarization summaries summary
""".split()


def number(score):
    return [score.precision, score.recall, score.fmeasure]


def scored(scorer, references, prediction):
    best = scorer.score_multi(references, prediction)
    return {kind: number(best[kind]) for kind in KINDS}


def write(name, records):
    with open(OUT / name, "w", encoding="utf-8", newline="\n") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    plain = rouge_scorer.RougeScorer(KINDS, use_stemmer=False)
    stemmed = rouge_scorer.RougeScorer(KINDS, use_stemmer=True)
    write("golden.jsonl", (
        {
            "prediction": prediction,
            "references": references,
            "plain": scored(plain, references, prediction),
            "stemmed": scored(stemmed, references, prediction),
        }
        for prediction, references in PAIRS
    ))
    stem = PorterStemmer().stem
    write("stems.jsonl", ([word, stem(word)] for word in sorted(set(WORDS))))
    shared = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "../shared")
    rows = [json.loads(line) for line in open(shared / "data/responses/dialogsum.bart.jsonl", encoding="utf-8")]
    write("dialogsum.jsonl", (
        {
            "id": row["id"],
            "plain": scored(plain, row["references"], row["prediction"]),
            "stemmed": scored(stemmed, row["references"], row["prediction"]),
        }
        for row in rows
    ))


main()
