// One example in all systems: question, gold answer, answers side by side, what a layer removed.

// Longer texts are folded; opening shows a part at a time, so that nothing blocks.
const FOLD = 1500;
const PART = 20000;

/** A text of the file as nodes: folded when long, with its length, and marked by `mark`. */
function textBlock(text, mark) {
  if (text === null || text === undefined) return el("p", { class: "missing" }, "not kept");
  const whole = plainText(text);
  const length = typeof text === "string" ? [...text.slice(0, FOLD * 2)].length < FOLD * 2 ? null : text.length : text.length;
  if (whole === "") return el("p", { class: "missing" }, "empty");
  if (whole.length <= FOLD && typeof text === "string") return el("div", { class: "text", dir: "auto" }, mark(whole));
  const holder = el("div", { class: "text", dir: "auto" }, mark(whole.slice(0, FOLD)));
  let at = FOLD;
  const more = el("button", { class: "plain", on: { click: () => {
    holder.append(...mark(whole.slice(at, at + PART)));
    at += PART;
    update();
  } } });
  const note = el("span", { class: "note" });
  const update = () => {
    more.hidden = at >= whole.length;
    more.textContent = `Show more: ${Numbers.plain(whole.length - at, 0)} characters`;
    note.textContent = typeof text === "string" ? "" : ` The file holds the first ${Numbers.plain(whole.length, 0)} of ${Numbers.plain(text.length, 0)} characters.`;
  };
  update();
  return el("div", {}, holder, el("p", { class: "folded" }, `${Numbers.plain(length || whole.length, 0)} characters. `, more, note));
}

/** Nodes of pieces that differ: `out` struck out, `in` underlined, gold words marked. */
function differing(pieces, wanted) {
  return pieces.map(([kind, text]) => (kind === "same" ? marked(text, wanted) : kind === "out" ? el("del", {}, shown(text)) : el("ins", {}, marked(text, wanted))));
}

/** Whether two texts share so much that marking their differences helps. */
function isAlike(pieces) {
  const size = (kind) => pieces.filter(([own]) => own === kind).reduce((total, [, text]) => total + text.replace(/\s+/g, "").length, 0);
  return size("same") >= Math.max(size("out"), size("in"));
}

/** What was asked: the question, or the end of the prompt of an example that has none. */
function askedOf(example) {
  if (example.question !== undefined) return plainText(example.question);
  const prompt = plainText(example.context);
  return prompt.length > 400 ? "…" + prompt.slice(-400) : prompt;
}

class ExampleView {
  constructor(data, source, ui) {
    this.data = data;
    this.source = source;
    this.ui = ui;
    this.content = el("div", { class: "example" });
    this.title = el("h2", { id: "example-title", tabindex: -1 });
    const button = (text, key, action) => el("button", { class: "plain", on: { click: action } }, text, " ", el("kbd", { "aria-hidden": "true" }, key));
    this.dialog = el("dialog", { id: "example", "aria-labelledby": "example-title", on: { close: () => ui.closeExample() } },
      el("div", { class: "bar" }, this.title,
        el("div", { class: "buttons" }, button("Previous", "k", () => ui.step(-1)), button("Next", "j", () => ui.step(1)), button("Close", "Esc", () => this.dialog.close()))),
      this.content);
    document.body.append(this.dialog);
  }

  /** Shows the example of a row; the row's own system comes first after the baseline. */
  async show(i) {
    const row = await this.source.row(i);
    if (!row) return;
    const turn = (this.turn = (this.turn || 0) + 1);
    const example = await this.source.example(row.example);
    const rows = await Promise.all((await this.source.ofExample(row.example)).map((n) => this.source.row(n)));
    const texts = await Promise.all(rows.map((one) => this.source.texts(one.number)));
    if (turn !== this.turn) return;
    const dataset = this.source.datasets[row.dataset];
    this.title.replaceChildren(...shown(plainText(example.id)));
    if (dataset) this.title.append(el("span", { class: "note" }, " " + name(dataset)));
    const gold = goldOf(plainText(example.answer).slice(0, 5000));
    const base = rows.findIndex((one) => one.system === this.data.baseline);
    const baseText = base >= 0 && texts[base] ? texts[base].response : undefined;
    const order = rows.map((_, n) => n).sort((a, b) => (a === base ? -1 : b === base ? 1 : a - b));
    this.content.replaceChildren(
      el("div", { class: "asked" },
        el("section", {}, el("h3", {}, "Question"), textBlock(example.question === undefined && example.context !== undefined ? askedOf(example) : example.question, (t) => shown(t))),
        el("section", {}, el("h3", {}, "Gold answer"), textBlock(example.answer, (t) => shown(t)))),
      example.left_out ? el("p", { class: "note" }, "The texts of this example are left out, because the file has a limit.") : "",
      el("p", { class: "note marks" }, el("mark", {}, "marked"), " words are in the gold answer", base >= 0 && rows.length > 1 ? ["; ", el("ins", {}, "added"), " and ", el("del", {}, "missing"), " words differ from the baseline's answer"] : null, "."),
      el("div", { class: "answers" }, order.map((n) => this.card(rows[n], texts[n], { gold, example, baseText: n === base ? undefined : baseText, isBase: n === base, isOwn: rows[n].number === i }))));
    if (!this.dialog.open) this.dialog.showModal();
    this.title.focus({ preventScroll: true });
    this.dialog.scrollTop = 0;
    document.body.dispatchEvent(new CustomEvent("example-shown", { detail: { row: i } }));
  }

  card(row, texts, { gold, example, baseText, isBase, isOwn }) {
    const { data } = this;
    const own = texts || {};
    const response = own.response;
    const canCompare = typeof response === "string" && typeof baseText === "string" && response !== baseText && response.length + baseText.length < 40000;
    const pieces = canCompare ? difference(baseText, response) : null;
    const answer = row.outcome === 2
      ? el("div", { class: "failed-box" }, el("strong", {}, `Failed: ${this.source.kinds[row.kind - 1] || "unknown"}`.replace(/_/g, " ")), textBlock(own.error, (t) => shown(t)))
      : pieces && isAlike(pieces) ? folded(response, () => differing(pieces, gold)) : textBlock(texts ? response : null, (t) => marked(t, gold));
    const fact = (label, value) => el("div", {}, el("dt", {}, label), el("dd", {}, value));
    const scores = Object.entries(row.scores).filter(([, value]) => !Number.isNaN(value)).map(([score, value]) => fact(name(score), number(value, "score")));
    const numbers = [
      fact("tokens", number(row.outcome === 2 ? NaN : row.prompt_tokens > 0 ? row.prompt_tokens : row.output_tokens, "tokens")),
      Number.isNaN(row.completion_tokens) ? null : fact("answer tokens", number(row.completion_tokens, "tokens")),
      fact("time", number(row.latency, "seconds")),
    ];
    return el("article", { class: "card" + (isBase ? " baseline" : "") + (isOwn ? " own" : "") },
      el("h3", {}, name(data.systems[row.system].name), isBase ? el("span", { class: "tag" }, "baseline") : null,
        row.flip ? el("span", { class: "tag " + (row.flip < 0 ? "lost" : "won") }, row.flip < 0 ? "lost" : "won") : null,
        row.outcome === 1 ? el("span", { class: "tag lost" }, "unscored") : null, row.cached ? el("span", { class: "tag" }, "from store") : null),
      answer,
      el("dl", { class: "numbers" }, scores, numbers, (own.facts || []).map(([label, value]) => fact(name(label), name(value)))),
      (own.reasons || []).map(([score, reason]) => el("p", { class: "reason" }, el("strong", {}, name(score) + ": "), textBlock(reason, (t) => shown(t)))),
      own.reasoning ? later("Reasoning", () => textBlock(own.reasoning, (t) => shown(t))) : null,
      this.context(row, own, example, gold));
  }

  /** The context with what the layer removed struck out, made when it is opened. */
  context(row, own, example, gold) {
    const before = plainText(example.context);
    // `true` stands for the context of the example.
    const after = own.sent === true ? before : plainText(own.sent);
    if (!before && !after) return null;
    // Who does not say what it made of the context has no second number.
    const label = own.sent === undefined ? "Context, as it was given" : `Context: ${Numbers.of(row.input_tokens, "tokens")} → ${Numbers.of(row.output_tokens, "tokens")} tokens`;
    return later(label, () => {
      if (!before || own.sent === undefined) return textBlock(own.sent === undefined ? example.context : own.sent, (t) => marked(t, gold));
      if (before === after) return [el("p", { class: "note" }, "Nothing was removed."), textBlock(example.context, (t) => marked(t, gold))];
      return [el("p", { class: "note" }, "Struck out is what the layer removed."), el("div", { class: "text context", dir: "auto" }, collapsed(difference(before, after), goldIn(before, gold)))];
    });
  }
}

/** Long stretches that nothing happened to, or that went, are folded around their ends. */
function collapsed(pieces, gold) {
  return pieces.map(([kind, text]) => {
    const wrap = (nodes) => (kind === "same" ? nodes : el(kind === "out" ? "del" : "ins", {}, nodes));
    if (text.length <= 1200) return wrap(marked(text, gold));
    const button = el("button", { class: "plain", on: { click: (event) => {
      event.target.replaceWith(...[wrap(marked(text.slice(500, -500), gold))].flat());
    } } }, ` … ${Numbers.plain(text.length - 1000, 0)} characters ${kind === "out" ? "removed" : "kept"} … `);
    return [wrap(marked(text.slice(0, 500), gold)), button, wrap(marked(text.slice(-500), gold))];
  });
}

/** Details whose content is made when they are opened for the first time. */
function later(label, make) {
  const details = el("details", { on: { toggle: () => { if (details.open && details.childElementCount === 1) append(details, [make()]); } } }, el("summary", {}, label));
  return details;
}

/** A text with marks; a long one is folded after its beginning. */
function folded(text, make) {
  const box = el("div", { class: "text", dir: "auto" }, make());
  if (text.length <= FOLD) return box;
  box.classList.add("short");
  const open = el("button", { class: "plain", on: { click: () => { box.classList.remove("short"); open.remove(); } } }, `Show all ${Numbers.plain(text.length, 0)} characters`);
  return el("div", {}, box, open);
}
