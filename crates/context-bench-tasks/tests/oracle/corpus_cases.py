"""Writes golden/corpus.json: sacrebleu's scores of our own sentences.

    pip install sacrebleu==2.6.0 && python corpus_cases.py > ../golden/corpus.json
"""
import json
import random
import sys

import sacrebleu

random.seed(7)
WORDS = "the a cat dog sat on mat ran fast, over 3.5 hills! It's 1,000 m-high & \"big\" (very) straße 日本 e-mail x.y <b> don't".split(" ")


def sentence(n):
    return " ".join(random.choice(WORDS) for _ in range(n))


def mutated(text):
    words = text.split(" ")
    for _ in range(random.randint(0, 4)):
        kind, at = random.randint(0, 3), random.randrange(len(words))
        if kind == 0:
            words[at] = random.choice(WORDS)
        elif kind == 1 and len(words) > 1:
            del words[at]
        elif kind == 2:
            words.insert(at, random.choice(WORDS))
        else:
            cut = words[at: at + random.randint(1, 4)]
            rest = words[:at] + words[at + len(cut):]
            to = random.randint(0, len(rest))
            words = rest[:to] + cut + rest[to:]
    return " ".join(words)


cases = []
for _ in range(40):
    n_refs = random.choice([1, 1, 2, 3])
    items = []
    for _ in range(random.randint(1, 5)):
        hyp = sentence(random.randint(1, 25))
        refs = [mutated(hyp) for _ in range(n_refs)]
        items.append([refs if n_refs > 1 else refs[0], hyp])
    cases.append(items)
cases += [[["", "x y"]], [["x y", ""]], [["a b c d e f", "f e d c b a"]], [["Hello World", "hello world"]], [["a b c d e f g h", "e f g h a b c d"]]]
out = []
for items in cases:
    hyps = [hyp for _, hyp in items]
    refs = [ref if isinstance(ref, list) else [ref] for ref, _ in items]
    streams = [list(stream) for stream in zip(*refs)]
    out.append({"items": items, "scores": {
        "bleu": sacrebleu.corpus_bleu(hyps, streams).score,
        "chrf": sacrebleu.corpus_chrf(hyps, streams).score,
        "ter": sacrebleu.corpus_ter(hyps, streams).score,
    }})
json.dump(out, sys.stdout, indent=0, ensure_ascii=False)
print()
