// Words: what differs between two texts, and which words of one are in another.

/** A text as words with what stands between them. */
const tokens = (text) => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) || [];

// Longer texts are compared by runs of words, which takes time in proportion to their length.
const EXACT = 400;

/** Pieces of two texts: `["same" | "out" | "in", text]`; `out` only in the first, `in` only in the second. */
function difference(before, after) {
  const [a, b] = [tokens(before), tokens(after)];
  return merge(a.length * b.length <= EXACT * EXACT ? byTable(a, b) : byRuns(a, b));
}

/** The longest common subsequence, from a table. */
function byTable(a, b) {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const pieces = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) { pieces.push(["same", a[i++]]); j++; }
    else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) pieces.push(["out", a[i++]]);
    else pieces.push(["in", b[j++]]);
  }
  while (i < a.length) pieces.push(["out", a[i++]]);
  while (j < b.length) pieces.push(["in", b[j++]]);
  return pieces;
}

/**
 * Runs of `RUN` tokens of the second text are looked up in the first, from left to right. A layer
 * that removes leaves such runs behind, so what it removed is found exactly but for single words.
 */
const RUN = 5;
function byRuns(a, b) {
  const runs = new Map();
  const key = (list, at) => list.slice(at, at + RUN).join("\u0001");
  for (let i = 0; i + RUN <= a.length; i++) {
    const run = key(a, i);
    const known = runs.get(run);
    if (known) known.push(i);
    else runs.set(run, [i]);
  }
  const pieces = [];
  let [i, j] = [0, 0];
  while (j < b.length) {
    if (i < a.length && a[i] === b[j]) { pieces.push(["same", a[i++]]); j++; continue; }
    const found = (runs.get(key(b, j)) || []).find((at) => at >= i);
    if (found === undefined) { pieces.push(["in", b[j++]]); continue; }
    while (i < found) pieces.push(["out", a[i++]]);
  }
  while (i < a.length) pieces.push(["out", a[i++]]);
  return pieces;
}

function merge(pieces) {
  const merged = [];
  for (const [kind, text] of pieces) {
    const last = merged[merged.length - 1];
    if (last && last[0] === kind) last[1] += text;
    else merged.push([kind, text]);
  }
  return merged;
}

const STOP = new Set(["a", "an", "the", "of", "in", "on", "and", "or", "to", "is", "are", "was", "were", "for", "by", "with", "at", "it"]);

/** What is marked of a gold answer: its words that say something, and the whole of it, in lower case. */
function goldOf(text) {
  const all = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
  return { words: new Set(all.filter((word) => !STOP.has(word))), phrase: all.length > 1 && all.length <= 40 ? all : null };
}

/**
 * A text as nodes, with what it has of a gold answer marked: the places where all of it stands, or, where
 * there is none, its words.
 */
function marked(text, gold) {
  if (!gold || !(gold.words.size || gold.phrase)) return shown(text);
  const list = tokens(text);
  const isIn = gold.phrase ? phrasesIn(list, gold.phrase) : null;
  const wanted = isIn ? (n) => isIn[n] : (n) => gold.words.has(list[n].toLowerCase());
  const nodes = [];
  for (let n = 0; n < list.length;) {
    const from = n;
    const mark = wanted(n);
    while (n < list.length && wanted(n) === mark) n++;
    const nodesOf = shown(list.slice(from, n).join(""));
    nodes.push(...(mark ? [el("mark", {}, nodesOf)] : nodesOf));
  }
  return nodes;
}

/** What is marked in the pieces of a text: its words only if nowhere in the text all of them stand together. */
function goldIn(text, gold) {
  return gold.phrase && phrasesIn(tokens(text), gold.phrase) ? { words: new Set(), phrase: gold.phrase } : gold;
}

/** Which tokens belong to a place where all words of a phrase follow each other; null if none do. */
function phrasesIn(list, phrase) {
  const words = [];
  list.forEach((token, n) => { if (/[\p{L}\p{N}_]/u.test(token)) words.push(n); });
  let found = null;
  for (let w = 0; w + phrase.length <= words.length; w++) {
    if (!phrase.every((word, k) => list[words[w + k]].toLowerCase() === word)) continue;
    found ||= new Array(list.length).fill(false);
    found.fill(true, words[w], words[w + phrase.length - 1] + 1);
  }
  return found;
}
