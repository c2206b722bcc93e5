// Where rows come from. The page asks a source for what it shows and never for all of it:
//
//   await source.open()                        columns are there, filters work
//   source.length, datasets, kinds             rows in all; names that the columns `dataset` and `kind`
//                                              hold the numbers of (`kind` from 1, 0 is none)
//   source.index                               what was left out: `rows_left_out`, `rows_without_texts`
//   source.select(filter, sort) -> Promise     what matches, in order: `length`, and `at(n)` is the
//                                              number of a row, or undefined before it is read:
//                                              `read(n)` is a promise, `source.arrived()` tells;
//                                              `source.again()` asks to select once more
//   source.row(i)                              the numbers of a row; a promise before it is read
//   source.texts(i), source.example(e)         its texts, read when needed
//   source.exampleNow(e)                       the same where it is at hand, else undefined
//   source.ofExample(e)                        rows of all systems about one example, or a promise
//
// A filter is { system, dataset (numbers or null), show ("", failed, unscored, flipped, lost, won),
// score ("" is what counts), min, max (or null), text }. An order is `flips`, `order` or a column
// (quality, latency, prompt_tokens, output_tokens, system), with `-` for the largest first; what has no
// value comes last. Numbers that are missing are NaN; `flip` is -1 for lost, 1 for won, else 0. Texts are
// strings, or { begin, length } of those that are too long.
//
// `EmbeddedRows` reads the blocks of this file; `ServerRows` of the viewer asks its server. Another
// source is a class with these members, given to `new Page(prepared(data), index, source).start()`.

const OUTCOMES = ["scored", "unscored", "failed", "not applicable"];

class EmbeddedRows {
  constructor(data, index) {
    this.data = data;
    this.index = index;
    this.length = index.rows;
    this.datasets = index.datasets;
    this.kinds = index.kinds;
    this.columns = {};
    this.blocks = new Map();
  }

  async open() {
    const { index, data, columns } = this;
    const n = index.rows;
    const reals = index.reals.concat(data.scores.map((score) => "score:" + score));
    for (const column of reals) columns[column] = new Float64Array(n);
    for (const column of index.wholes) columns[column] = new Uint32Array(n);
    for (let block = 0; block < index.column_blocks; block++) {
      const bytes = await inflate("columns-" + block);
      const first = block * index.rows_per_block;
      const count = Math.min(index.rows_per_block, n - first);
      let at = 0;
      for (const column of reals) {
        columns[column].set(new Float64Array(bytes.buffer, at, count), first);
        at += count * 8;
      }
      for (const column of index.wholes) {
        columns[column].set(new Uint32Array(bytes.buffer, at, count), first);
        at += count * 4;
      }
    }
    this.findRowsOfExamples();
    this.findFlips();
  }

  /** Rows by example, as a list of ends into one array. */
  findRowsOfExamples() {
    const example = this.columns.example;
    const starts = new Uint32Array(this.index.examples + 1);
    for (let i = 0; i < example.length; i++) starts[example[i] + 1]++;
    for (let e = 0; e < this.index.examples; e++) starts[e + 1] += starts[e];
    const next = starts.slice();
    this.byExample = new Uint32Array(example.length);
    for (let i = 0; i < example.length; i++) this.byExample[next[example[i]]++] = i;
    this.exampleStarts = starts;
  }

  /** Which rows passed where the baseline did not (1), or the other way round (-1). */
  findFlips() {
    const { system, example, quality } = this.columns;
    this.flips = new Int8Array(this.length);
    const { baseline, threshold } = this.data;
    if (baseline === null || threshold === null || this.data.systems.length < 2) return;
    const ofBaseline = new Float64Array(this.index.examples).fill(NaN);
    for (let i = this.length - 1; i >= 0; i--) {
      if (system[i] === baseline) ofBaseline[example[i]] = quality[i];
    }
    for (let i = 0; i < this.length; i++) {
      const base = ofBaseline[example[i]];
      if (system[i] === baseline || Number.isNaN(base) || Number.isNaN(quality[i])) continue;
      this.flips[i] = (quality[i] >= threshold) - (base >= threshold);
    }
  }

  row(i) {
    const row = { number: i, flip: this.flips[i], scores: {} };
    for (const [column, values] of Object.entries(this.columns)) {
      if (column.startsWith("score:")) row.scores[column.slice(6)] = values[i];
      else row[column] = values[i];
    }
    return row;
  }

  ofExample(e) {
    return Array.from(this.byExample.subarray(this.exampleStarts[e], this.exampleStarts[e + 1]));
  }

  /** Row numbers that match, in order. `stale` says that nobody waits for them any more. */
  async select(filter, sort, { stale = () => false, progress = () => {} } = {}) {
    const { columns, flips } = this;
    const value = filter.score ? columns["score:" + filter.score] : columns.quality;
    const found = [];
    for (let i = 0; i < this.length; i++) {
      if (filter.system !== null && columns.system[i] !== filter.system) continue;
      if (filter.dataset !== null && columns.dataset[i] !== filter.dataset) continue;
      if (filter.min !== null && !(value[i] >= filter.min)) continue;
      if (filter.max !== null && !(value[i] <= filter.max)) continue;
      if (!matchesShow(filter.show, columns, flips, i)) continue;
      found.push(i);
    }
    const matching = filter.text ? await this.search(found, filter.text, stale, progress) : found;
    if (matching === null) return null;
    this.sort(matching, sort);
    return matching;
  }

  sort(rows, sort) {
    const { columns, flips } = this;
    const descending = sort.startsWith("-");
    const key = sort.replace(/^-/, "");
    if (key === "order") return descending ? rows.reverse() : rows;
    if (key === "flips") {
      // What was lost first, then what was won, then the rest as it came.
      const rank = (i) => (flips[i] < 0 ? 0 : flips[i] > 0 ? 1 : 2);
      return rows.sort((a, b) => rank(a) - rank(b) || columns.example[a] - columns.example[b] || a - b);
    }
    const values = columns[key];
    if (!values) return rows;
    return rows.sort((a, b) => {
      const [x, y] = [values[a], values[b]];
      // What has no value comes last, whichever way.
      const missing = Number.isNaN(x) - Number.isNaN(y);
      return missing || (descending ? y - x : x - y) || a - b;
    });
  }

  /** The rows with these words in their id, question, gold answer, answer or error. */
  async search(rows, text, stale, progress) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (haystack) => words.every((word) => haystack.includes(word));
    const found = [];
    let since = performance.now();
    for (let n = 0; n < rows.length; n++) {
      const i = rows[n];
      const example = await this.example(this.columns.example[i]);
      const own = await this.texts(i);
      const parts = [example.id, example.question, example.answer, own && own.response, own && own.error];
      if (has(parts.map(plainText).join("\n").toLowerCase())) found.push(i);
      if (performance.now() - since > 40) {
        progress(n / rows.length);
        await new Promise((resume) => setTimeout(resume));
        if (stale()) return null;
        since = performance.now();
      }
    }
    return found;
  }

  async example(e) { return this.fromBlock("examples", this.index.example_blocks, e); }
  async texts(i) { return this.fromBlock("texts", this.index.text_blocks, i); }

  /** What is in memory already, without waiting; `undefined` otherwise. */
  exampleNow(e) {
    const block = blockOf(this.index.example_blocks, e);
    const values = this.blocks.get("examples-" + block);
    return Array.isArray(values) ? values[e - this.index.example_blocks[block]] : undefined;
  }

  fromBlock(kind, firsts, number) {
    const block = blockOf(firsts, number);
    const id = `${kind}-${block}`;
    const known = this.blocks.get(id);
    if (Array.isArray(known)) return known[number - firsts[block]];
    return this.block(id).then((values) => values[number - firsts[block]]);
  }

  /** A block of texts; a few are kept, the least recent go. */
  block(id) {
    const reading = this.blocks.get(id);
    if (reading) return Promise.resolve(reading);
    const promise = inflate(id).then((bytes) => {
      const values = JSON.parse(new TextDecoder().decode(bytes));
      this.blocks.set(id, values);
      return values;
    });
    this.blocks.set(id, promise);
    if (this.blocks.size > 64) this.blocks.delete(this.blocks.keys().next().value);
    return promise;
  }
}

function matchesShow(show, columns, flips, i) {
  switch (show) {
    case "failed": return columns.outcome[i] === 2;
    case "unscored": return columns.outcome[i] === 1;
    case "flipped": return flips[i] !== 0;
    case "lost": return flips[i] < 0;
    case "won": return flips[i] > 0;
    default: return true;
  }
}

/** The block that holds a number: the last whose first is not beyond it. */
function blockOf(firsts, number) {
  let low = 0;
  let high = firsts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (firsts[middle] <= number) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A text of the file, which is a string, or the beginning of one with its length. */
function plainText(text) {
  if (text === null || text === undefined) return "";
  return typeof text === "string" ? text : text.begin;
}

async function inflate(id) {
  const text = document.getElementById(id).textContent;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
