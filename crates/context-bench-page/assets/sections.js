// The parts of the page above the rows: sentences, table, charts, heat map, failures, settings.

function section(id, title, ...children) {
  const content = children.flat(Infinity).filter(Boolean);
  if (!content.length) return null;
  return el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title), content);
}

function simpleTable(header, rows, caption) {
  return el("table", {},
    el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, header.map((text, n) => el("th", { scope: "col", class: n ? "num" : "" }, text)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, n) => (n ? el("td", { class: "num" }, cell) : el("th", { scope: "row" }, cell)))))));
}

const metricOf = (data, key) => data.metrics.find((metric) => metric.key === key) || null;

/** What identifies the run, and what must be known before its numbers. */
function header(data, index) {
  const planned = sum(data.systems, (s) => s.counts.planned);
  const scored = sum(data.systems, (s) => s.counts.scored);
  const failed = sum(data.systems, (s) => s.counts.failed);
  const unscored = sum(data.systems, (s) => s.counts.unscored);
  const facts = [
    ["Systems", Numbers.plain(data.systems.length, 0)],
    ["Datasets", index.datasets.length > 3 ? Numbers.plain(index.datasets.length, 0) : index.datasets.filter(Boolean).map(name).join(", ")],
    ...data.facts.map(([label, text]) => [label, name(text)]),
    ["Rows", `${Numbers.plain(planned, 0)} planned, ${Numbers.plain(scored, 0)} scored${unscored ? `, ${Numbers.plain(unscored, 0)} unscored` : ""}, ${Numbers.plain(failed, 0)} failed`],
  ].filter(([, text]) => text !== "");
  return el("header", {},
    el("h1", {}, shown(data.title)),
    el("dl", { class: "facts" }, facts.map(([label, text]) => el("div", {}, el("dt", {}, label), el("dd", {}, text)))),
    data.warnings.length ? el("ul", { class: "warnings", role: "note" }, data.warnings.map((text) => el("li", {}, shown(text)))) : null);
}

const sum = (list, value) => list.reduce((total, one) => total + (value(one) || 0), 0);

/** One sentence per system: what it saved, what it lost, whether that is shown, on how much. */
function sentences(data, ui) {
  const quality = metricOf(data, data.quality);
  if (!quality) return null;
  const overall = data.comparison ? data.comparison.differences.filter((d) => d.benchmark === null) : [];
  const items = data.systems.map((system, index) => {
    const figure = system.figures[quality.key];
    const isBaseline = index === data.baseline && data.systems.length > 1;
    const scored = system.counts.scored || 0;
    const parts = [];
    if (!figure || figure.value === null) {
      parts.push(`: no ${lowerFirst(quality.label)}, because no answer has a score`);
      if (system.counts.failed) parts.push("; ", ui.rowsLink({ system: index, show: "failed" }, Numbers.counted(system.counts.failed, "call") + " failed"));
    } else {
      if (isBaseline) parts.push(", the baseline: ");
      else parts.push(saved(data, system, index));
      parts.push(`${lowerFirst(quality.label)} `, number(figure.value, quality.unit, { path: ["summary", system.name, quality.key], stderr: figure.stderr }));
      if (figure.stderr > 0) parts.push(" ", el("span", { class: "error" }, Numbers.error(figure.stderr, quality.unit)));
      if (isBaseline) parts.push(tokensOf(data, system));
      else parts.push(beside(data, overall, index, figure, quality));
      parts.push(`, on ${Numbers.counted(figure.n === undefined ? scored : figure.n, "example")}`);
    }
    if (system.counts.failed && figure && figure.value !== null) parts.push("; ", ui.rowsLink({ system: index, show: "failed" }, Numbers.counted(system.counts.failed, "call") + " failed"));
    const unscored = system.counts.unscored || 0;
    if (unscored > 0) parts.push(`; ${Numbers.counted(unscored, "row")} without a score`);
    if (system.counts.not_begun) parts.push(`; ${Numbers.counted(system.counts.not_begun, "row")} not begun`);
    return el("li", { class: isBaseline ? "baseline" : null }, el("strong", {}, name(system.name)), parts, ".");
  });
  const many = items.length > 8;
  const list = el("ul", { class: "sentences" }, items.slice(0, many ? 8 : undefined));
  const rest = many ? el("details", {}, el("summary", {}, `${items.length - 8} more systems`), el("ul", { class: "sentences" }, items.slice(8))) : null;
  return section("short", "In short", list, rest);
}

/** How good a system is beside the baseline, and whether that is shown. */
function beside(data, overall, index, figure, quality) {
  const base = data.baseline === null ? null : data.systems[data.baseline];
  const other = base && base.figures[quality.key];
  if (index === data.baseline || !other || other.value === null) return [];
  const paired = overall.find((d) => d.system === index);
  // An interval is not broken in two.
  if (paired && paired.sentence) return [", ", shown(paired.sentence.replace(/(\[[^\]]*), /, "$1,\u00a0"))];
  const text = Numbers.difference(figure.value - other.value, quality.unit, figure.stderr);
  const who = shorten(name(base.name));
  return [/[1-9]/.test(text) ? `, ${text} beside ${who}` : `, the same as ${who}`];
}

/** What a system saved beside the baseline, in money where it is known, else in tokens. */
function saved(data, system, index) {
  const cost = metricOf(data, data.cost);
  const figure = cost && system.figures[cost.key];
  const base = cost && data.baseline !== null && index !== data.baseline ? data.systems[data.baseline].figures[cost.key] : null;
  if (!figure || figure.value === null || !base || !(base.value > 0)) return [": "];
  const own = number(figure.value, cost.unit, { path: ["summary", system.name, cost.key] });
  const share = 1 - figure.value / base.value;
  const money = cost.unit === "money";
  const what = money ? "money" : "tokens";
  if (Math.abs(share) < 0.0005) return [money ? " cost as much; " : " sent as many tokens; "];
  // Beyond twice as many, a share says less than how many times.
  if (share < -1) return [` took ${Numbers.significant(figure.value / base.value)} times the ${what} (`, own, " instead of ", Numbers.of(base.value, cost.unit), "); "];
  return [` ${share > 0 ? "saved" : "added"} ${Numbers.share(Math.abs(share))} of the ${what} (`, own, " instead of ", Numbers.of(base.value, cost.unit), "); "];
}

function tokensOf(data, system) {
  const cost = metricOf(data, data.cost);
  const figure = cost && system.figures[cost.key];
  if (!figure || figure.value === null) return [];
  return [", ", number(figure.value, cost.unit, { path: ["summary", system.name, cost.key] }), cost.unit === "money" ? ` per row (${lowerFirst(cost.label)})` : " tokens per question"];
}

/** Systems × numbers, the best of each column marked, sortable. */
function summaryTable(data, ui) {
  const own = data.metrics.filter((metric) => !metric.part);
  const hasAll = own.some((metric) => !metric.is_main);
  const state = { all: false, sort: null };
  const holder = el("div", {});
  const draw = () => {
    const metrics = own.filter((metric) => state.all || metric.is_main);
    const best = new Map(metrics.map((metric) => [metric.key, bestOf(data, metric)]));
    const order = data.systems.map((_, index) => index);
    if (state.sort) {
      const value = (index) => state.sort.key === "failed" ? data.systems[index].counts.failed : (data.systems[index].figures[state.sort.key] || {}).value;
      order.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        if (x === null || x === undefined) return y === null || y === undefined ? a - b : 1;
        if (y === null || y === undefined) return -1;
        return (state.sort.descending ? y - x : x - y) || a - b;
      });
    }
    const head = (key, text, tip) => {
      const sorted = state.sort && state.sort.key === key ? (state.sort.descending ? "descending" : "ascending") : null;
      return el("th", { scope: "col", class: "num", "aria-sort": sorted }, el("button", { class: "sort", tip, on: { click: () => {
        state.sort = { key, descending: !(sorted === "descending") };
        draw();
        holder.querySelector(`[data-key="${CSS.escape(key)}"]`).focus();
      } }, "data-key": key }, text, el("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (sorted === "descending" ? " ↓" : " ↑") : "")));
    };
    const table = el("table", { class: "summary" },
      el("caption", { class: "unseen" }, "Systems and their numbers"),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "System"), metrics.map((metric) => head(metric.key, metric.label, metric.definition || metric.key)), head("failed", "Failed", "rows without an answer"))),
      el("tbody", {}, order.map((index) => {
        const system = data.systems[index];
        return el("tr", { class: index === data.baseline ? "baseline" : null },
          el("th", { scope: "row" }, ui.rowsLink({ system: index }, name(system.name)), index === data.baseline && data.systems.length > 1 ? el("span", { class: "tag" }, "baseline") : null),
          metrics.map((metric) => figureCell(system, metric, best.get(metric.key))),
          el("td", { class: "num" + (system.counts.failed ? " bad" : "") }, system.counts.failed ? ui.rowsLink({ system: index, show: "failed" }, countNumber(system, "failed")) : countNumber(system, "failed")));
      })));
    holder.replaceChildren(scrolling(table, "Systems and their numbers"));
  };
  draw();
  const more = hasAll ? el("button", { class: "plain", "aria-pressed": "false", on: { click: (event) => {
    state.all = !state.all;
    event.target.setAttribute("aria-pressed", String(state.all));
    event.target.textContent = state.all ? "Show fewer numbers" : `Show all ${own.length} numbers`;
    draw();
  } } }, `Show all ${own.length} numbers`) : null;
  return section("systems", "Systems", holder, el("p", { class: "note" }, "± is one standard error. Bold is the best of a column, with all that are within its standard error. ", more));
}

/** Numbers that have a table of their own, such as those of the wire: a line each, a column per system. */
function sideTables(data) {
  const parts = [...new Set(data.metrics.map((metric) => metric.part).filter(Boolean))];
  return parts.map((part) => {
    const metrics = data.metrics.filter((metric) => metric.part === part || (part === "On the wire" && metric.key === "wire_saved"));
    const head = data.systems.map((system, index) => el("th", { scope: "col", class: "num" }, el("span", { title: name(system.name) }, shorten(name(system.name))), index === data.baseline && data.systems.length > 1 ? el("span", { class: "tag" }, "baseline") : null));
    const table = el("table", { class: "side" }, el("caption", { class: "unseen" }, part),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Number"), head)),
      el("tbody", {}, metrics.map((metric) => el("tr", {}, el("th", { scope: "row", tip: metric.definition || null, tabindex: metric.definition ? 0 : null }, metric.label), data.systems.map((system) => figureCell(system, metric, null))))));
    const id = "side-" + part.toLowerCase().replace(/\W+/g, "-");
    return section(id, part, scrolling(table, part));
  });
}

const countNumber = (system, key) => number(system.counts[key] || 0, "count", { path: ["counts", system.name, key] });

/** The best value of a column, and how far from it is as good. */
function bestOf(data, metric) {
  if (metric.better === "neither" || data.systems.length < 2) return null;
  let best = null;
  for (const system of data.systems) {
    const figure = system.figures[metric.key];
    if (!figure || figure.value === null) continue;
    if (!best || (metric.better === "higher" ? figure.value > best.value : figure.value < best.value)) best = figure;
  }
  return best;
}

function figureCell(system, metric, best) {
  const figure = system.figures[metric.key];
  if (!figure || figure.value === null) return el("td", { class: "num missing-cell" }, el("span", { class: "missing", tip: "no value" }, MISSING));
  const isBest = best && Math.abs(figure.value - best.value) <= Math.max(best.stderr || 0, Math.abs(best.value) * 1e-9);
  const tip = `${metric.label} of ${name(system.name)}\n${withInterval(figure, metric.unit)}${metric.definition ? "\n" + metric.definition : ""}`;
  return el("td", { class: "num" + (isBest ? " best" : ""), tip, tabindex: 0 },
    number(figure.value, metric.unit, { path: ["summary", system.name, metric.key], stderr: figure.stderr }),
    figure.stderr > 0 ? el("span", { class: "error" }, " " + Numbers.error(figure.stderr, metric.unit)) : null);
}

/** Datasets and groups × systems, as differences to the baseline; groups open. */
function heatMap(data, ui) {
  if (!data.benchmarks.length || data.systems.length < 1) return null;
  const base = data.baseline;
  const compared = base !== null && data.systems.length > 1;
  const inGroup = new Set(data.benchmarks.flatMap((b) => b.members));
  const top = data.benchmarks.map((_, index) => index).filter((index) => !inGroup.has(index));
  // Of a single dataset the table above says the same.
  if (data.benchmarks.length < 2) return null;
  const found = new Map((data.comparison ? data.comparison.differences : []).map((d) => [`${d.system}\n${d.benchmark}`, d]));
  const cellsOf = (benchmark) => data.systems.map((_, system) => heatCell(data, benchmark, system, base, found));
  const reach = Math.max(0.02, ...data.benchmarks.flatMap((b) => cellsOf(b)).map((c) => Math.abs(c.gap || 0)));
  const open = new Set();
  const body = el("tbody", {});
  const draw = () => {
    body.replaceChildren();
    const add = (index, depth) => {
      const benchmark = data.benchmarks[index];
      const isGroup = benchmark.members.length > 0;
      const label = isGroup
        ? el("button", { class: "group", "aria-expanded": String(open.has(index)), on: { click: () => { if (!open.delete(index)) open.add(index); draw(); body.querySelector(`[data-row="${index}"] button`).focus(); } } }, el("span", { "aria-hidden": "true" }, open.has(index) ? "▾ " : "▸ "), name(benchmark.name), el("span", { class: "note" }, ` ${benchmark.members.length}`))
        : ui.rowsLink({ dataset: benchmark.name }, name(benchmark.name));
      body.append(el("tr", { "data-row": index, class: isGroup ? "is-group" : null },
        el("th", { scope: "row", vars: { "--depth": depth } }, label),
        cellsOf(benchmark).map((cell, system) => {
          const content = cell.value === null ? el("span", { class: "missing" }, MISSING)
            : cell.isBase ? number(cell.value, "number", { path: cell.path, text: Numbers.plain(cell.value, 2) })
            : cell.gapPath ? number(cell.gap, "number", { path: cell.gapPath, text: Numbers.hundredths(cell.gap) })
            : el("span", {}, Numbers.hundredths(cell.gap));
          return el("td", { class: "heat " + cell.tone, vars: { "--p": Math.round(8 + 62 * Math.min(1, Math.abs(cell.gap || 0) / reach)) + "%" }, tip: cell.tip },
            cell.value === null || isGroup ? content : ui.rowsLink({ dataset: benchmark.name, system }, content));
        })));
      if (open.has(index)) for (const member of benchmark.members) add(member, depth + 1);
    };
    for (const index of top) add(index, 0);
  };
  draw();
  // Many or long names stand upright, so that columns stay as narrow as their numbers.
  const upright = data.systems.length > 6 || data.systems.some((system) => system.name.length > 14);
  const table = el("table", { class: "heatmap" + (upright ? " upright" : "") },
    el("caption", { class: "unseen" }, "Benchmarks and systems"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Benchmark"), data.systems.map((system, index) => el("th", { scope: "col" }, el("span", { class: "who", title: name(system.name) }, shorten(name(system.name))), index === base && compared ? el("span", { class: "tag" }, "baseline") : null)))),
    body);
  const legend = compared ? el("p", { class: "note legend" },
    el("span", { class: "heat worse swatch", vars: { "--p": "60%" } }, "worse"), el("span", { class: "heat better swatch", vars: { "--p": "60%" } }, "better"),
    el("span", { class: "heat undecided swatch" }, "not decided"), el("span", { class: "heat none swatch" }, "no value"),
    ` Differences to ${shorten(name(data.systems[base].name))}, whose column shows its score. ${data.comparison ? "Decided by paired intervals." : "Decided where the gap is more than twice its standard error, without pairing."}`) : null;
  return section("where", "Where it lost", scrolling(table, "Benchmarks and systems"), legend);
}

function heatCell(data, benchmark, system, base, found) {
  const figure = benchmark.cells[system];
  const path = ["tasks", data.systems[system].name, ...benchmark.path];
  const who = `${name(data.systems[system].name)} on ${name(benchmark.name)}`;
  if (!figure || figure.value === null) return { value: null, tone: "none", tip: `${who}: no value` };
  const own = `${who}\n${benchmark.score} ${withInterval(figure, "number")}`;
  const baseline = base === null ? null : benchmark.cells[base];
  if (system === base || !baseline || baseline.value === null) return { value: figure.value, stderr: figure.stderr, isBase: true, tone: "plain", path, tip: own };
  const paired = found.get(`${system}\n${benchmark.name}`);
  const gap = paired && paired.difference !== null ? paired.difference : figure.value - baseline.value;
  const error = Math.hypot(figure.stderr || 0, baseline.stderr || 0);
  const decided = paired ? paired.tone !== "undecided" : error > 0 && Math.abs(gap) > 2 * error;
  const tone = !decided ? "undecided" : paired ? (paired.tone === "worse" ? "worse" : "better") : gap < 0 ? "worse" : "better";
  const more = paired ? paired.sentence : `difference ${Numbers.difference(gap, "number", error)}${error > 0 ? " " + Numbers.error(error, "number") : ""}, ${decided ? "decided" : "not decided"}`;
  return { value: figure.value, gap, gapPath: paired ? paired.path : null, stderr: figure.stderr, tone, tip: `${own}\n${more}` };
}

/** Paired differences to the baseline over all examples. */
function forestPlot(data) {
  if (!data.comparison || data.baseline === null) return null;
  const overall = data.comparison.differences.filter((d) => d.benchmark === null && d.difference !== null);
  if (!overall.length) return null;
  const quality = metricOf(data, data.quality) || { unit: "number", label: "Quality" };
  const words = { better: "better", worse: "worse", not_worse: "not worse" };
  const rows = overall.map((d) => [name(data.systems[d.system].name), number(d.difference, "number", { path: d.path, text: Numbers.difference(d.difference, "number") }), d.interval ? d.interval.map((end) => Numbers.difference(end, "number")).join(" to ") : MISSING, number(d.n, "count"), words[d.verdict] || (data.comparison.margin === null ? "no difference shown" : "not decided")]);
  const title = `${quality.label} beside ${shorten(name(data.systems[data.baseline].name))}, example by example`;
  return chart("differences", title, data.comparison.method, forest(data, overall, "number", words), simpleTable(["System", "Difference", "Interval", "Pairs", "Verdict"], rows, title));
}

/** What systems show that only differ in one setting: quality against tokens. */
function sweepCurves(data) {
  if (!(data.sweeps || []).length) return null;
  const charts = data.sweeps.map((sweep, n) => {
    const rows = sweep.points.map((p) => [
      Numbers.significant(p.value), number(p.tokens, "tokens", { path: [...p.path, "tokens"] }),
      number(p.quality, "number", { path: [...p.path, "quality"] }),
      p.interval.map((end) => Numbers.plain(end, 3)).join(" to "), (p.verdict || MISSING) + (p.is_smallest ? ", the smallest" : "")]);
    const title = `${name(sweep.score)} against prompt tokens: ${name(sweep.name)}`;
    const note = `Each point is a value of ${name(sweep.setting)}, on ${Numbers.counted(sweep.examples, "example")}; the band is the 95 % interval${sweep.points.some((p) => p.is_smallest) ? ", the ring the smallest context that is shown to be not worse" : ""}.`;
    const chart_ = chart(`sweep-${n}`, title, note, sweepCurve(data, sweep), simpleTable([name(sweep.setting), "Prompt tokens", name(sweep.score), "Interval", "Verdict"], rows, title));
    chart_.append(...sweep.conclusions.map((text) => el("p", { class: "note" }, shown(text))));
    return chart_;
  });
  return section("sweeps", "Sweeps", el("div", { class: "pair" }, charts));
}

/** Failures by kind, with what the first of each said. */
function failures(data, ui) {
  if (!data.failures.length) return null;
  const most = Math.max(...data.failures.map((one) => one.n));
  const rows = data.failures.map((one) => el("tr", {},
    el("th", { scope: "row" }, name(data.systems[one.system].name)),
    el("td", {}, one.kind.replace(/_/g, " ")),
    el("td", { class: "num" }, ui.rowsLink({ system: one.system, show: one.kind === "unscored" ? "unscored" : "failed" }, number(one.n, "count"))),
    el("td", { class: "amount" }, el("span", { class: "amount-bar", vars: { "--share": (one.n / most * 100).toFixed(1) + "%" } })),
    el("td", { class: "message" }, line(one.message, 160))));
  const table = el("table", { class: "failures" }, el("caption", { class: "unseen" }, "Failures by kind"),
    el("thead", {}, el("tr", {}, ["System", "Kind", "Rows", "", "The first of them says"].map((text, n) => el(text ? "th" : "td", { scope: text ? "col" : null, class: n === 2 ? "num" : null }, text)))),
    el("tbody", {}, rows));
  return section("failures", "Failures", scrolling(table, "Failures by kind"));
}

/** Configuration, and how to make run and page again. */
function configuration(data) {
  const copy = (text) => el("button", { class: "plain", on: { click: (event) => {
    navigator.clipboard.writeText(text).then(() => { event.target.textContent = "Copied"; }, () => { event.target.textContent = "Select and copy it"; });
  } } }, "Copy");
  const commands = data.reproduce.map((command) => el("div", { class: "command" }, el("code", { tabindex: 0 }, shown(command)), copy(command)));
  const parts = data.sections.map((one) => el("details", {}, el("summary", {}, one.title),
    el("dl", { class: "settings" }, one.entries.map(([key, value]) => el("div", {}, el("dt", {}, name(key)), el("dd", {}, el("pre", {}, shown(value))))))));
  return section("made", "How it was made", commands.length ? el("p", {}, "To make it again:") : null, commands, parts, el("p", { class: "note" }, "Written by ", name(data.made_by), document.getElementById("page-data") ? ". This file loads nothing and sends nothing." : "."));
}
