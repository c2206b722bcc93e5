// Starts the page: reads the data, draws what needs no rows, then opens the rows. What is chosen
// (filters, order, the open row) is kept in the fragment of the address, so that a link shows it.

const KEYS = [["/", "search the examples"], ["j  k", "next or previous row"], ["Enter", "open the row"], ["Esc", "back"], ["?", "this list"]];
const STATE = ["system", "dataset", "show", "score", "min", "max", "text", "sort", "row"];

class Page {
  constructor(data, index, source) {
    Object.assign(this, { data, index, source });
    this.state = this.read();
    this.waiting = null;
  }

  /** What the fragment of the address says. */
  read() {
    const said = new URLSearchParams(location.hash.slice(1));
    return Object.fromEntries(STATE.filter((key) => said.get(key)).map((key) => [key, said.get(key)]));
  }

  fragment(state) {
    const said = new URLSearchParams();
    for (const key of STATE) if (state[key]) said.set(key, state[key]);
    return "#" + said.toString();
  }

  /** Changes what is chosen; `delay` waits for more typing. */
  change(changes, delay = 0) {
    clearTimeout(this.waiting);
    Object.assign(this.state, changes);
    const apply = () => {
      const fragment = this.fragment(this.state);
      // A row that is opened is a step back for the browser's button; a filter is none.
      if (fragment !== location.hash) history[changes.row && !this.example.dialog.open ? "pushState" : "replaceState"](null, "", fragment);
      this.follow(changes.row !== undefined && Object.keys(changes).length === 1);
    };
    if (delay) this.waiting = setTimeout(apply, delay);
    else apply();
  }

  clear() { this.state = {}; this.change({}); }

  /** Shows what the state says. */
  async follow(onlyRow) {
    if (!onlyRow) await this.browser.apply(this.state);
    const row = this.state.row === undefined ? NaN : Number(this.state.row);
    if (Number.isInteger(row) && row >= 0 && row < this.source.length) await this.example.show(row);
    else if (this.example.dialog.open) this.example.dialog.close();
  }

  closeExample() {
    if (this.state.row === undefined) return;
    delete this.state.row;
    history.replaceState(null, "", this.fragment(this.state));
    this.browser.view.focus({ preventScroll: true });
  }

  /** Opens the row after or before the open one. */
  step(by) {
    const { found, at } = this.browser;
    const next = at < 0 ? 0 : at + by;
    if (next >= 0 && next < found.length) { this.browser.move(by); this.browser.open(this.browser.at); }
  }

  /** A link to the rows behind a number. */
  rowsLink({ system, dataset, show, min, max }, content) {
    const state = { system: system === undefined ? "" : this.data.systems[system].name, dataset, show, min, max };
    return el("a", { href: this.fragment(state) }, content);
  }

  toRows() { this.browser.section.scrollIntoView({ block: "start" }); }

  pick(changes) {
    this.state = {};
    this.change(changes);
    this.toRows();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (typing && event.key === "Escape") { event.target.blur(); return; }
    if (typing) return;
    const open = this.example.dialog.open;
    const actions = {
      "/": () => { if (!open) { this.toRows(); this.browser.section.querySelector("[data-filter=text]").focus(); } },
      j: () => (open ? this.step(1) : (this.browser.view.focus(), this.browser.move(1))),
      k: () => (open ? this.step(-1) : (this.browser.view.focus(), this.browser.move(-1))),
      "?": () => { if (!open) this.help.showModal(); },
    };
    const action = actions[event.key];
    if (action) { event.preventDefault(); action(); }
  }

  /** The list of rows and the dialogs, which stay when the rest is drawn again. */
  makeRows() {
    const { data } = this;
    this.browser = new RowBrowser(data, this.source, this);
    this.example = new ExampleView(data, this.source, this);
    this.help = el("dialog", { id: "help", "aria-labelledby": "help-title" }, el("h2", { id: "help-title" }, "Keys"), el("dl", { class: "keys" }, KEYS.map(([key, text]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)))), el("button", { class: "plain", on: { click: () => this.help.close() } }, "Close"));
    document.body.append(this.help);
  }

  /** Puts the parts of the page around its rows. */
  put(parts) {
    const page = document.getElementById("page");
    const rows = this.browser.section;
    for (const child of [...page.childNodes]) if (child !== rows) child.remove();
    if (rows.parentNode !== page) page.append(rows);
    const at = parts.indexOf(rows);
    const [above, below] = [document.createDocumentFragment(), document.createDocumentFragment()];
    append(above, parts.slice(0, at));
    append(below, parts.slice(at + 1));
    rows.before(above);
    rows.after(below);
  }

  /** Draws everything but the rows again: a run that goes on has other numbers. */
  renew(data) {
    this.data = data;
    this.example.data = data;
    this.browser.renew(data, this.state);
    this.draw();
  }

  draw() {
    const { data } = this;
    const [quality, cost, compression] = [data.quality, data.cost, data.compression].map((key) => metricOf(data, key));
    const pick = (system) => this.pick({ system: data.systems[system].name });
    const front = quality && cost ? scatter("cost", data, cost, quality, pick) : null;
    const removed = quality && compression ? scatter("compression", data, compression, quality, pick) : null;
    const spreads = data.spread.length ? section("spread", "Scores of rows", spread(data, data.spread, (system, min, max) => this.pick({ system: data.systems[system].name, min: String(min), max: String(max) }))) : null;
    if (!this.browser) this.makeRows();
    this.put([
      header(data, this.index),
      sentences(data, this),
      summaryTable(data, this),
      front || removed ? section("trade", "Quality and cost", el("div", { class: "pair" }, [front, removed].filter(Boolean))) : null,
      sweepCurves(data),
      sideTables(data),
      heatMap(data, this),
      section("paired", "Differences", forestPlot(data), (data.notes || []).map((text) => el("p", { class: "note" }, shown(text)))),
      data.latency.length ? section("time", "Latency", ecdf(data, data.latency)) : null,
      spreads,
      failures(data, this),
      this.browser.section,
      configuration(data),
      el("p", { class: "note keys-hint" }, "Press ", el("kbd", {}, "?"), " for keys."),
    ]);
  }

  async start() {
    this.draw();
    Tooltip.start();
    document.addEventListener("keydown", (event) => this.key(event));
    document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); this.browser.view.focus(); });
    // The first paint does not wait for rows.
    await new Promise((resume) => requestAnimationFrame(() => setTimeout(resume)));
    await this.source.open();
    await this.follow(false);
    addEventListener("hashchange", () => {
      const before = this.fragment({ ...this.state, row: "" });
      this.state = this.read();
      const same = before === this.fragment({ ...this.state, row: "" });
      this.follow(same);
      if (!this.state.row && !same) this.toRows();
    });
    if (location.hash.length > 1 && !this.state.row) this.toRows();
    document.documentElement.dataset.ready = "";
    document.body.dispatchEvent(new CustomEvent("page-ready"));
  }
}

/** Data as the page uses them. */
function prepared(data) {
  for (const system of data.systems) system.figures = Object.fromEntries(system.figures);
  if (data.comparison) {
    const tones = { better: "better", worse: "worse", not_worse: "fine" };
    for (const one of data.comparison.differences) one.tone = tones[one.verdict] || "undecided";
  }
  return data;
}

// A file holds its data and starts by itself. The viewer (`context-bench view`) asks for them.
if (document.getElementById("page-data")) {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = prepared(read("page-data"));
  const index = read("row-index");
  new Page(data, index, new EmbeddedRows(data, index)).start();
}
