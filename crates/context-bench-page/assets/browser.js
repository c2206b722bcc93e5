// The browser of rows: filters, a list that only draws what is seen, and the example behind a row.

const ROW_HEIGHT = 40;
// Browsers end an element at some 30 million pixels. A longer list moves by more than a pixel per pixel.
const MOST_HEIGHT = 12_000_000;

class RowBrowser {
  constructor(data, source, ui) {
    Object.assign(this, { data, source, ui });
    // What was sent where that is known, else what a layer left.
    this.tokens = data.cost === "mean_prompt_tokens" ? "prompt_tokens" : "output_tokens";
    this.found = [];
    this.at = -1;
    this.status = el("p", { class: "found", role: "status" }, "Reading rows…");
    this.space = el("div", { class: "space" });
    this.view = el("div", { class: "view", tabindex: 0, role: "grid", "aria-label": "Rows", "aria-rowcount": 0, "aria-colcount": 7, on: { scroll: () => this.draw(), keydown: (event) => this.key(event) } },
      el("div", { class: "row head", role: "row", "aria-rowindex": 1 }, this.heads()), this.space);
    new ResizeObserver(() => this.draw()).observe(this.view);
    // A source may read rows while they are looked at.
    source.arrived = () => { this.drawn = null; this.draw(); };
    source.again = () => this.refresh();
    this.form = this.controls();
    this.section = section("rows", "Examples", this.leftOut(), this.form, this.status, this.view);
  }

  heads() {
    return [["", ""], ["system", "System"], ["", "Example"], ["", "Question"], ["quality", "Score"], [this.tokens, "Tokens"], ["latency", "Time"]].map(([key, text], n) =>
      el("div", { role: "columnheader", class: `c${n}` + (n > 3 ? " num" : ""), "data-sort": key || null },
        key ? el("button", { class: "sort", on: { click: () => { const now = this.ui.state.sort; this.ui.change({ sort: now === "-" + key ? key : "-" + key }); } } }, text, el("span", { class: "arrow", "aria-hidden": "true" })) : text || el("span", { class: "unseen" }, "Outcome")));
  }

  /** What the file does not hold. */
  leftOut() {
    const { index } = this.source;
    const parts = [];
    if (index.rows_left_out) parts.push(`This file holds the first ${Numbers.counted(index.examples, "example")}; ${Numbers.counted(index.rows_left_out, "row")} of ${Numbers.plain(index.rows + index.rows_left_out, 0)} are left out to keep it small. All numbers above rest on every row.`);
    if (index.rows_without_texts) parts.push(`${Numbers.counted(index.rows_without_texts, "row")} are here without their texts.`);
    return parts.length ? el("p", { class: "warnings", role: "note" }, parts.join(" ")) : null;
  }

  controls() {
    const { data, source, ui } = this;
    const select = (key, label, options) => el("label", {}, label, el("select", { "data-filter": key, on: { change: (event) => ui.change({ [key]: event.target.value }) } }, options.map(([value, text]) => el("option", { value }, text))));
    const entry = (key, label, attributes) => el("label", { class: key === "text" ? "wide" : "narrow" }, label, el("input", { "data-filter": key, ...attributes, on: { input: (event) => ui.change({ [key]: event.target.value }, 200) } }));
    const systems = [["", "All"], ...data.systems.map((system) => [system.name, name(system.name)])];
    const datasets = [["", "All"], ...source.datasets.map((dataset) => [dataset, name(dataset) || "(none)"])];
    const flips = data.threshold !== null && data.baseline !== null && data.systems.length > 1;
    const shows = [["", "All rows"], ...(flips ? [["flipped", "Flipped: won or lost beside the baseline"], ["lost", "Lost: the baseline passed"], ["won", "Won: the baseline did not"]] : []), ["failed", "Failed"], ["unscored", "Unscored"]];
    const sorts = [...(flips ? [["flips", "Flipped first"]] : []), ["order", "As they ran"], ["quality", "Lowest score first"], ["-quality", "Highest score first"], ["-latency", "Slowest first"], ["latency", "Fastest first"], ["-" + this.tokens, "Most tokens first"], [this.tokens, "Fewest tokens first"], ["system", "System"], ["-system", "System, last first"]];
    this.defaultSort = sorts[0][0];
    return el("form", { class: "filters", role: "search", on: { submit: (event) => event.preventDefault() } },
      entry("text", "Search", { type: "search", placeholder: "words in question or answer", autocomplete: "off", spellcheck: "false" }),
      data.systems.length > 1 ? select("system", "System", systems) : null,
      source.datasets.length > 1 ? select("dataset", "Dataset", datasets) : null,
      select("show", "Show", shows),
      data.scores.length > 1 ? select("score", "Score", [["", "headline"], ...data.scores.map((score) => [score, name(score)])]) : null,
      entry("min", "From", { type: "number", step: "any", inputmode: "decimal" }),
      entry("max", "To", { type: "number", step: "any", inputmode: "decimal" }),
      select("sort", "Order", sorts),
      el("button", { type: "button", class: "plain clear", on: { click: () => ui.clear() } }, "Clear"));
  }

  /** Takes other data of the same run; filters have what can be chosen now. */
  renew(data, state) {
    const choices = JSON.stringify([data.scores, this.source.datasets]);
    const isSame = choices === this.choices;
    Object.assign(this, { data, choices });
    if (isSame) return;
    const form = this.controls();
    this.form.replaceWith(form);
    this.form = form;
    this.showState(state);
  }

  /** Lets the filters say what is chosen. */
  showState(state) {
    for (const control of this.section.querySelectorAll("[data-filter]")) {
      const value = state[control.dataset.filter] || (control.dataset.filter === "sort" ? this.defaultSort : "");
      if (control.value !== value) control.value = value;
    }
  }

  /** Finds the rows of a state of the page and shows them. */
  async apply(state) {
    this.showState(state);
    const sort = state.sort || this.defaultSort;
    for (const head of this.view.querySelectorAll("[data-sort]")) {
      const sorted = sort.replace(/^-/, "") === head.dataset.sort ? (sort.startsWith("-") ? "descending" : "ascending") : null;
      if (sorted) head.setAttribute("aria-sort", sorted);
      else head.removeAttribute("aria-sort");
      head.querySelector(".arrow").textContent = sorted ? (sorted === "descending" ? " ↓" : " ↑") : "";
    }
    const amount = (text) => (text === undefined || text === "" || Number.isNaN(Number(text)) ? null : Number(text));
    const index = (list, text) => (text ? list.indexOf(text) : null);
    const filter = {
      system: index(this.data.systems.map((system) => system.name), state.system),
      dataset: state.dataset ? this.source.datasets.indexOf(state.dataset) : null,
      show: state.show || "", score: state.score || "", min: amount(state.min), max: amount(state.max), text: (state.text || "").trim(),
    };
    this.asked = { filter, sort };
    await this.find(false);
  }

  /** Finds the rows of the last filter again, because there are more of them, and stays where it is. */
  async refresh() { if (this.asked) await this.find(true); }

  async find(stay) {
    const { filter, sort } = this.asked;
    const turn = (this.turn = (this.turn || 0) + 1);
    const found = await this.source.select(filter, sort, {
      stale: () => turn !== this.turn,
      progress: (share) => { this.status.textContent = `Searching… ${Numbers.share(share)}`; },
    });
    if (found === null || turn !== this.turn) return;
    this.found = found;
    this.at = Math.min(this.at, found.length - 1);
    const all = this.source.length;
    this.status.textContent = (found.length === all ? Numbers.counted(all, "row") : `${Numbers.plain(found.length, 0)} of ${Numbers.counted(all, "row")}`) + (found.note || "");
    this.view.setAttribute("aria-rowcount", found.length + 1);
    // A few rows need no long list; what a filter finds does not change its height.
    this.view.style.height = all < 14 && !this.source.more ? `${(all + 1) * ROW_HEIGHT + 2}px` : "";
    this.space.style.height = `${Math.min(found.length * ROW_HEIGHT, MOST_HEIGHT)}px`;
    if (!stay) this.view.scrollTop = 0;
    this.drawn = null;
    this.draw();
    document.body.dispatchEvent(new CustomEvent("rows-shown", { detail: { rows: found.length, isWhole: !found.note } }));
  }

  /** How many pixels of the list a pixel of the scroll bar is. */
  ratio() {
    const whole = this.found.length * ROW_HEIGHT;
    const { clientHeight } = this.view;
    return whole <= MOST_HEIGHT ? 1 : (whole - clientHeight) / (MOST_HEIGHT - clientHeight);
  }

  /** Draws the rows that are seen, and a few around them. */
  draw() {
    const top = this.view.scrollTop * this.ratio();
    // Where the list begins, in pixels of its element.
    this.start = this.view.scrollTop - top;
    const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - 6);
    const last = Math.min(this.found.length, first + Math.ceil(this.view.clientHeight / ROW_HEIGHT) + 12);
    const key = `${first}-${last}-${this.at}-${this.start}`;
    if (key === this.drawn) return;
    this.drawn = key;
    const nodes = [];
    for (let n = first; n < last; n++) nodes.push(this.line(n));
    this.space.replaceChildren(...nodes);
    if (!this.found.length) this.space.replaceChildren(el("p", { class: "nothing" }, this.found.note ? "None so far." : "No row matches."));
  }

  line(n) {
    const { data, source } = this;
    const place = { "data-at": n, vars: { top: `${this.start + n * ROW_HEIGHT}px` } };
    const numbered = this.found.at(n);
    if (numbered === undefined) return el("div", { class: "row", role: "row", "aria-rowindex": n + 2, ...place }, el("div", { role: "gridcell", class: "c1" }, "…"));
    const row = source.row(numbered);
    const score = this.ui.state.score ? row.scores[this.ui.state.score] : row.quality;
    const node = el("div", { class: "row" + (n === this.at ? " at" : ""), role: "row", "aria-rowindex": n + 2, "aria-selected": String(n === this.at), "data-row": row.number, on: { click: () => this.open(n) }, ...place });
    const outcome = row.outcome === 2 ? ["failed", "✕", "failed"] : row.outcome === 1 ? ["failed", "?", "unscored"] : row.flip < 0 ? ["lost", "▼", "lost: the baseline passed"] : row.flip > 0 ? ["won", "▲", "won: the baseline did not pass"] : ["", "", OUTCOMES[row.outcome]];
    const id = el("span", {});
    const question = el("span", {});
    const put = (example) => { id.textContent = line(plainText(example.id), 60); question.textContent = line(askedOf(example), 200); };
    const now = source.exampleNow(row.example);
    if (now) put(now);
    else { id.textContent = "…"; source.example(row.example).then(put); }
    append(node, [
      el("div", { role: "gridcell", class: "c0 " + outcome[0], title: outcome[2] }, el("span", { "aria-hidden": "true" }, outcome[1]), el("span", { class: "unseen" }, outcome[2])),
      el("div", { role: "gridcell", class: "c1" }, name(data.systems[row.system].name)),
      el("div", { role: "gridcell", class: "c2" }, id),
      el("div", { role: "gridcell", class: "c3", dir: "auto" }, question),
      el("div", { role: "gridcell", class: "c4 num" }, number(score, "score")),
      el("div", { role: "gridcell", class: "c5 num" }, number(row.outcome === 2 ? NaN : row[this.tokens], "tokens")),
      el("div", { role: "gridcell", class: "c6 num" }, number(row.latency, "seconds")),
    ]);
    return node;
  }

  key(event) {
    if (event.key === "Enter" && event.target === this.view) { event.preventDefault(); this.open(Math.max(0, this.at)); }
    else if (event.key === "ArrowDown") { event.preventDefault(); this.move(1); }
    else if (event.key === "ArrowUp") { event.preventDefault(); this.move(-1); }
    else if (event.key === "Home") { event.preventDefault(); this.move(-Infinity); }
    else if (event.key === "End") { event.preventDefault(); this.move(Infinity); }
  }

  /** Moves the selected row and keeps it in sight. */
  move(by) {
    if (!this.found.length) return;
    this.at = Math.min(this.found.length - 1, Math.max(0, this.at + by));
    const top = this.at * ROW_HEIGHT;
    const ratio = this.ratio();
    const scrolled = this.view.scrollTop * ratio;
    const { clientHeight } = this.view;
    if (top < scrolled) this.view.scrollTop = top / ratio;
    else if (top + ROW_HEIGHT * 2 > scrolled + clientHeight) this.view.scrollTop = (top + ROW_HEIGHT * 2 - clientHeight) / ratio;
    this.draw();
  }

  async open(n) {
    if (n < 0 || n >= this.found.length) return;
    this.at = n;
    this.drawn = null;
    this.draw();
    const numbered = this.found.at(n) ?? (await this.found.read(n));
    this.ui.change({ row: String(numbered) });
  }
}
