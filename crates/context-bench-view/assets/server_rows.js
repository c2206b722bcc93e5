"use strict";
// The server as a source of rows (see `rows.js` of the page): it filters and orders, and gives a
// page of rows at a time. Every request carries the token, in a header that no other page can send.

const Server = {
  token: null,

  /** Takes the token out of the address, so that it stays in no history and in no link. */
  start() {
    const address = new URL(location.href);
    const given = address.searchParams.get("token");
    if (given) {
      localStorage.setItem("token", given);
      address.searchParams.delete("token");
      history.replaceState(null, "", address);
    }
    this.token = localStorage.getItem("token") || "";
  },

  async ask(path, { method = "GET", signal } = {}) {
    let response;
    try {
      response = await fetch("/api/" + path, { method, signal, headers: { "X-Context-Bench-Token": this.token } });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("The viewer does not answer: it has ended, or is not reachable.");
    }
    if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
    return response.json();
  },
};

/** Missing numbers are not a number in the page and null in JSON. */
function numbered(row) {
  const missing = (value) => (value === null || value === undefined ? NaN : value);
  for (const key of ["quality", "latency", "prompt_tokens", "completion_tokens"]) row[key] = missing(row[key]);
  for (const score of Object.keys(row.scores)) row.scores[score] = missing(row.scores[score]);
  return row;
}

const PAGE = 100;
const KEPT_ROWS = 5000;

class ServerRows {
  constructor(run, page) {
    this.run = run;
    this.index = { datasets: page.datasets };
    this.datasets = page.datasets;
    this.kinds = page.kinds;
    this.length = 0;
    this.rows = new Map();
    this.examples = new Map();
    this.arrived = this.again = () => {};
  }

  async open() {}

  /** What matches, of which the first page is there. */
  async select(filter, sort, { stale = () => false } = {}) {
    if (this.selecting) this.selecting.abort();
    const control = (this.selecting = new AbortController());
    const words = new URLSearchParams();
    for (const [key, value] of Object.entries({ ...filter, sort })) if (value !== null && value !== "") words.set(key, value);
    const selection = new ServerSelection(this, words.toString(), this.last);
    try {
      // A search goes on where it ended, with each question; what it has found so far is shown at once.
      const answer = await selection.ask(0, control.signal);
      selection.note = answer.searched < 1 ? ` so far, ${Numbers.share(answer.searched)} searched` : answer.is_read ? "" : `; reading ${Numbers.plain(answer.n_stored, 0)} …`;
      this.more = !answer.is_read;
      clearTimeout(this.going);
      if (answer.searched < 1) this.going = setTimeout(() => this.again(), 20);
    } catch (error) {
      if (error.name === "AbortError") return null;
      ViewPage.failed(error);
      return null;
    }
    if (stale()) return null;
    this.last = selection;
    return selection;
  }

  keep(row) {
    this.rows.delete(row.number);
    this.rows.set(row.number, numbered(row));
    if (this.rows.size > KEPT_ROWS) this.rows.delete(this.rows.keys().next().value);
  }

  row(i) {
    const known = this.rows.get(i);
    if (known) return known;
    return Server.ask(`run/${this.run}/row/${i}`).then((row) => { this.keep(row); return row; });
  }

  exampleNow(e) {
    const row = this.rows.get(e);
    return row ? { id: row.id ?? "", question: row.question ?? "" } : undefined;
  }

  /** The example of a row with all systems, asked for once. */
  whole(e) {
    let known = this.examples.get(e);
    if (!known) {
      known = Server.ask(`run/${this.run}/example/${e}`).then((found) => {
        for (const one of found.rows) {
          // The list shows id and question, which only rows of the list have.
          const before = this.rows.get(one.row.number);
          this.keep({ ...one.row, id: before ? before.id : found.example.id, question: before ? before.question : found.example.question });
        }
        return found;
      });
      known.catch(() => this.examples.delete(e));
      this.examples.set(e, known);
      if (this.examples.size > 20) this.examples.delete(this.examples.keys().next().value);
    }
    return known;
  }

  async example(e) { return (await this.whole(e)).example; }
  async ofExample(e) {
    const found = await this.whole(e);
    this.ofLast = new Map(found.rows.map((one) => [one.row.number, one.texts]));
    return [...this.ofLast.keys()];
  }
  texts(i) { return this.ofLast.get(i); }
}

/** Rows that match: their number is known, their pages are asked for when they are looked at. */
class ServerSelection {
  constructor(source, words, before) {
    Object.assign(this, { source, words, length: 0, note: "" });
    // The same question again: what was there is shown until its page was asked for once more.
    this.numbers = new Map(before && before.words === words ? before.numbers : []);
    this.asked = new Map();
    this.fresh = new Set();
  }

  async ask(page, signal) {
    const answer = await Server.ask(`run/${this.source.run}/rows?${this.words}&offset=${page * PAGE}&limit=${PAGE}`, { signal });
    answer.rows.forEach((row, n) => { this.source.keep(row); this.numbers.set(page * PAGE + n, row.number); });
    this.fresh.add(page);
    this.length = answer.found;
    this.source.length = answer.total;
    // Names that came with new rows; the lists stay the same objects.
    this.source.datasets.splice(0, Infinity, ...answer.datasets);
    this.source.kinds.splice(0, Infinity, ...answer.kinds);
    return answer;
  }

  at(n) {
    const number = this.numbers.get(n);
    const isThere = number !== undefined && this.source.rows.has(number);
    if (!isThere || !this.fresh.has(Math.floor(n / PAGE))) this.read(n).then(() => this.source.arrived(), (error) => ViewPage.failed(error));
    return isThere ? number : undefined;
  }

  /** The number of the row at a place, once its page is there. */
  async read(n) {
    const page = Math.floor(n / PAGE);
    if (!this.asked.has(page)) {
      const asking = this.ask(page).finally(() => this.asked.delete(page));
      this.asked.set(page, asking);
    }
    await this.asked.get(page);
    return this.numbers.get(n);
  }
}
