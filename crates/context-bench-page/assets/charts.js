// Charts as SVG. Each is drawn for the width that it gets and drawn again when that changes, so
// that text keeps its size. Every mark has a tooltip; every chart has the table behind it.

// Colours are in the style, lighter where the page is dark. Shapes are the second code.
const COLOURS = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => `var(--s${n})`);
const SHAPES = ["circle", "square", "triangle", "diamond", "down", "cross", "plus", "circle"];

/** A figure with its message, its chart and the table behind it. */
function chart(id, title, note, draw, table) {
  const holder = el("div", { class: "chart" });
  const figure = el("figure", { id },
    el("figcaption", {}, el("strong", {}, title), note ? el("span", { class: "note" }, note) : null),
    holder,
    table ? el("details", { class: "behind" }, el("summary", {}, "Numbers behind this chart"), scrolling(table, title)) : null);
  let width = 0;
  const redraw = (most = Infinity) => {
    const now = Math.min(Math.round(holder.clientWidth), most);
    if (!now || now === width) return;
    width = now;
    const drawn = draw(width);
    drawn.setAttribute("role", "group");
    drawn.setAttribute("aria-label", title + (note ? ". " + note : ""));
    holder.replaceChildren(drawn);
  };
  new ResizeObserver(() => redraw()).observe(holder);
  holder.redraw = redraw;
  return figure;
}

// Paper is narrower than most screens: charts are drawn for it, so that their text keeps its size, and what
// is folded away in the summary is unfolded.
const PAPER = 680;
addEventListener("beforeprint", () => {
  for (const holder of document.querySelectorAll(".chart")) if (holder.redraw) holder.redraw(PAPER);
  for (const more of document.querySelectorAll("#short details:not([open])")) { more.open = true; more.dataset.folded = ""; }
});
addEventListener("afterprint", () => {
  for (const holder of document.querySelectorAll(".chart")) if (holder.redraw) holder.redraw();
  for (const more of document.querySelectorAll("#short details[data-folded]")) { more.open = false; delete more.dataset.folded; }
});

/** A wide table or chart that scrolls by itself and can be reached with the keyboard. */
function scrolling(child, label) {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, child);
}

function shape(kind, x, y, r, attributes) {
  const at = (points) => points.map(([dx, dy]) => `${(x + dx * r).toFixed(1)},${(y + dy * r).toFixed(1)}`).join(" ");
  const polygons = {
    square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    triangle: [[0, -1.15], [1.05, 0.8], [-1.05, 0.8]],
    down: [[0, 1.15], [1.05, -0.8], [-1.05, -0.8]],
    diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
    cross: [[-1, -0.55], [-0.55, -1], [0, -0.45], [0.55, -1], [1, -0.55], [0.45, 0], [1, 0.55], [0.55, 1], [0, 0.45], [-0.55, 1], [-1, 0.55], [-0.45, 0]],
    plus: [[-0.35, -1.1], [0.35, -1.1], [0.35, -0.35], [1.1, -0.35], [1.1, 0.35], [0.35, 0.35], [0.35, 1.1], [-0.35, 1.1], [-0.35, 0.35], [-1.1, 0.35], [-1.1, -0.35], [-0.35, -0.35]],
  };
  if (!polygons[kind]) return svg("circle", { cx: x, cy: y, r, ...attributes });
  return svg("polygon", { points: at(polygons[kind]), ...attributes });
}

/** Two axes with ticks, grid lines and titles; gives back scales. */
function axes(canvas, box, x, y) {
  const scale = (axis, from, to) => (value) => from + ((value - axis.low) / (axis.high - axis.low || 1)) * (to - from);
  const toX = x.log
    ? (v) => box.left + (Math.log(Math.max(v, x.low) / x.low) / Math.log(x.high / x.low || 2)) * (box.right - box.left)
    : scale(x, box.left, box.right);
  const toY = scale(y, box.bottom, box.top);
  const xTicks = x.log ? logTicks(x.low, x.high) : Numbers.ticks(x.low, x.high, Math.max(2, (box.right - box.left) / 90));
  const yTicks = Numbers.ticks(y.low, Math.min(y.high, y.most ?? Infinity), Math.max(2, (box.bottom - box.top) / 50));
  for (const tick of yTicks) {
    canvas.append(
      svg("line", { class: "grid", x1: box.left, x2: box.right, y1: toY(tick), y2: toY(tick) }),
      svg("text", { class: "tick", x: box.left - 8, y: toY(tick) + 4, "text-anchor": "end" }, Numbers.tick(tick, yTicks[1] - yTicks[0] || 1, y.unit)));
  }
  for (const tick of xTicks) {
    canvas.append(
      svg("line", { class: "grid", x1: toX(tick), x2: toX(tick), y1: box.top, y2: box.bottom }),
      svg("text", { class: "tick", x: toX(tick), y: box.bottom + 18, "text-anchor": "middle" },
        Numbers.tick(tick, xTicks[1] - xTicks[0] || 1, x.unit)));
  }
  canvas.append(
    svg("text", { class: "axis", x: (box.left + box.right) / 2, y: box.bottom + 38, "text-anchor": "middle" }, x.title),
    svg("text", { class: "axis", x: box.left, y: box.top - 12 }, y.title));
  return [toX, toY];
}

function logTicks(low, high) {
  const ticks = [];
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of steps) {
      const tick = Number((step * 10 ** power).toPrecision(6));
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

/** A range around values, with a margin. `zero` for amounts, which begin at 0. */
function range(values, { zero = false, least = 0 } = {}) {
  let low = Math.min(...values);
  let high = Math.max(...values);
  if (zero) low = Math.min(0, low);
  if (high - low < least) { const middle = (low + high) / 2; low = middle - least / 2; high = middle + least / 2; }
  const margin = (high - low || Math.abs(high) || 1) * 0.06;
  return { low: zero && low >= 0 ? 0 : low - margin, high: high + margin };
}

/** Systems of which no other is at least as good in both ways and better in one. */
function paretoFront(points, lowerIsBetter) {
  const cost = (p) => (lowerIsBetter ? p.x : -p.x);
  return points
    .filter((p) => !points.some((q) => q !== p && q.y >= p.y && cost(q) <= cost(p) && (q.y > p.y || cost(q) < cost(p))))
    .sort((a, b) => a.x - b.x);
}

/** Quality against an amount: points with error bars and labels, the Pareto front as a line. */
function scatter(id, data, xMetric, yMetric, onPick) {
  const points = data.systems.flatMap((system, index) => {
    const [fx, fy] = [system.figures[xMetric.key], system.figures[yMetric.key]];
    if (!fx || !fy || fx.value === null || fy.value === null || !Number.isFinite(fx.value)) return [];
    return [{ index, name: name(system.name), x: fx.value, y: fy.value, fx, fy }];
  });
  if (!points.length) return null;
  const lowerIsBetter = xMetric.better === "lower";
  const front = paretoFront(points, lowerIsBetter);
  const onFront = new Set(front.map((p) => p.index));
  const note = `The line joins the systems that no other beats in both; ${lowerIsBetter ? "up and to the left" : "up and to the right"} is better.${points.some((p) => p.fy.interval || p.fx.interval) ? " Bars are 95 % intervals." : ""}`;
  const title = `${yMetric.label} against ${lowerFirst(xMetric.label)}`;
  const draw = (width) => {
    const height = Math.max(300, Math.min(420, width * 0.62));
    const box = { left: 56, right: width - 20, top: 34, bottom: height - 48 };
    const canvas = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    const ends = points.flatMap((p) => [p.y, ...(p.fy.interval || [])]);
    const xs = points.flatMap((p) => [p.x, ...(p.fx.interval || [])]);
    const bounded = range(ends, { least: 0.1 });
    // Intervals of shares may reach beyond what a share can be; the axis does not.
    if (points.every((p) => p.y >= 0 && p.y <= 1)) Object.assign(bounded, { low: Math.max(bounded.low, 0), high: Math.min(bounded.high, 1.02), most: 1 });
    const [toX, toY] = axes(canvas, box,
      { ...range(xs, { zero: true, least: xMetric.unit === "share" ? 0.1 : 0 }), unit: xMetric.unit, title: axisTitle(xMetric) },
      { ...bounded, unit: yMetric.unit, title: axisTitle(yMetric) });
    if (front.length > 1) {
      canvas.append(svg("polyline", { class: "front", points: front.map((p) => `${toX(p.x).toFixed(1)},${toY(p.y).toFixed(1)}`).join(" ") }));
    }
    for (const p of points) {
      if (p.fy.interval) {
        const [low, high] = p.fy.interval.map((end) => toY(Math.min(bounded.high, Math.max(bounded.low, end))));
        canvas.append(svg("line", { class: "bar" + (onFront.has(p.index) ? " on" : ""), x1: toX(p.x), x2: toX(p.x), y1: low, y2: high }));
      }
    }
    const placed = points.map((p) => ({ left: toX(p.x) - 7, right: toX(p.x) + 7, top: toY(p.y) - 7, bottom: toY(p.y) + 7 }));
    for (const p of points) {
      const [x, y] = [toX(p.x), toY(p.y)];
      const kind = p.index === data.baseline ? "diamond" : "circle";
      const tip = `${p.name}\n${yMetric.label} ${withInterval(p.fy, yMetric.unit)}\n${xMetric.label} ${withInterval(p.fx, xMetric.unit)}${onFront.has(p.index) ? "\non the Pareto front" : ""}`;
      canvas.append(shape(kind, x, y, 6, {
        class: "mark" + (onFront.has(p.index) ? " on" : ""), tabindex: 0, role: "button", "aria-label": tip.replace(/\n/g, ", "), tip,
        on: { click: () => onPick(p.index), keydown: (e) => { if (e.key === "Enter") onPick(p.index); } },
      }));
      label(canvas, placed, box, x, y, p.name, onFront.has(p.index) ? "label on" : "label");
    }
    return canvas;
  };
  return chart(id, title, note, draw, null);
}

/** Writes a label where it covers least, with a line to its point when it is not beside it. */
function label(canvas, placed, box, x, y, text, cls) {
  // Both ends of a name, no longer than half the chart: names often differ only at their end.
  const most = Math.min(34, Math.max(12, Math.floor((box.right - box.left) / 16)));
  const short = text.length > most ? text.slice(0, Math.ceil(most * 0.6)) + "…" + text.slice(-Math.floor(most * 0.35)) : text;
  const w = textWidth(short);
  const places = [];
  for (const [dx, dy] of [[11, 4], [-w - 11, 4], [-w / 2, -13], [-w / 2, 21]]) places.push([dx, dy, 0]);
  for (const far of [22, 38, 54, 70, 86]) {
    for (const [dx, dy] of [[11, -far], [11, far], [-w - 11, -far], [-w - 11, far], [-w / 2, -far], [-w / 2, far + 6]]) places.push([dx, dy, 1]);
  }
  let best = null;
  for (const [dx, dy, far] of places) {
    const area = { left: x + dx - 2, right: x + dx + w + 2, top: y + dy - 12, bottom: y + dy + 4 };
    const outside = area.left < box.left - 2 || area.right > box.right + 18 || area.top < box.top - 6 || area.bottom > box.bottom;
    const covered = placed.reduce((sum, other) => sum + overlap(area, other), 0) + (outside ? 5000 : 0) + (far ? 2 + Math.abs(dy) / 20 : 0);
    if (!best || covered < best.covered) best = { covered, area, dx, dy, far };
    if (covered === 0) break;
  }
  placed.push(best.area);
  if (best.far) canvas.append(svg("line", { class: "leader", x1: x, y1: y, x2: Math.min(Math.max(x, best.area.left), best.area.right), y2: y + best.dy + (best.dy < 0 ? 2 : -12) }));
  canvas.append(svg("text", { class: cls, x: x + best.dx, y: y + best.dy }, short));
}

const overlap = (a, b) => Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) * Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));

const textWidth = (() => {
  // A canvas measures text without adding it to the page.
  const context = document.createElement("canvas").getContext("2d");
  return (text) => { context.font = "600 13px system-ui, sans-serif"; return context.measureText(text).width + 2; };
})();

const lowerFirst = (text) => (/^[A-Z][a-z]/.test(text) ? text[0].toLowerCase() + text.slice(1) : text);

function axisTitle(metric) {
  const unit = { tokens: "tokens", seconds: "seconds", share: "%" }[metric.unit];
  return unit && !metric.label.toLowerCase().includes(unit) ? `${metric.label} (${unit})` : metric.label;
}

function withInterval(figure, unit) {
  const value = Numbers.of(figure.value, unit, figure.stderr);
  const parts = [value];
  if (figure.interval) parts.push(`95 % interval ${figure.interval.map((end) => Numbers.of(end, unit, figure.stderr)).join(" to ")}`);
  if (figure.n !== undefined) parts.push(`n = ${Numbers.plain(figure.n, 0)}`);
  return parts.join(", ");
}

/** How many calls took at most how long. */
function ecdf(data, curves) {
  const many = curves.length > COLOURS.length;
  const draw = (width) => {
    const height = 320;
    const longest = Math.max(...curves.map((c) => textWidth(shorten(name(data.systems[c.system].name)))));
    const side = width > 560 ? Math.min(longest + 20, 200) : 12;
    const box = { left: 56, right: width - side, top: 34, bottom: height - 48 };
    const canvas = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    const all = curves.flatMap((c) => c.points.map((p) => p[0])).filter((v) => v > 0);
    const low = all.length ? Math.min(...all) : 0.001;
    const high = all.length ? Math.max(...all) : 1;
    const log = high / low > 8;
    const x = log ? { low: low / 1.05, high: high * 1.05, log } : { low: 0, high: high * 1.05 || 1 };
    const [toX, toY] = axes(canvas, box, { ...x, unit: "seconds", title: log ? "Seconds per call, logarithmic" : "Seconds per call" }, { low: 0, high: 1, unit: "share", title: "Share of calls that took at most so long" });
    const labels = [];
    for (const curve of curves) {
      const system = data.systems[curve.system];
      const grey = many && curve.system !== data.baseline;
      const colour = grey ? "var(--grey)" : COLOURS[many ? 0 : curve.system % COLOURS.length];
      let path = "";
      let share = 0;
      for (const [value, upTo] of curve.points) {
        const px = toX(Math.max(value, x.low)).toFixed(1);
        path += path ? `H${px}V${toY(upTo).toFixed(1)}` : `M${px},${toY(share).toFixed(1)}V${toY(upTo).toFixed(1)}`;
        share = upTo;
      }
      canvas.append(svg("path", { class: "curve" + (grey ? " grey" : ""), d: path, vars: { stroke: colour }, tip: `${name(system.name)}\n${curve.marks.map(([what, , v]) => `${what} ${Numbers.seconds(v)}`).join(", ")}\nn = ${Numbers.plain(curve.n, 0)}` }));
      for (const [what, , value] of curve.marks) {
        const at = { p50: 0.5, p95: 0.95, p99: 0.99 }[what];
        if (at === undefined || grey) continue;
        canvas.append(shape(SHAPES[curve.system % SHAPES.length], toX(Math.max(value, x.low)), toY(at), 4, { class: "mark", vars: { fill: colour }, tip: `${name(system.name)}: ${what} ${Numbers.seconds(value)}` }));
      }
      const median = curve.marks.find(([what]) => what === "p50");
      labels.push({ y: toY(1), order: median ? median[2] : 0, text: shorten(name(system.name)), colour, kind: SHAPES[curve.system % SHAPES.length], grey });
    }
    if (side > 12) {
      // In the order of the medians, as the curves stand from left to right.
      labels.sort((a, b) => a.order - b.order);
      const step = Math.min(22, (box.bottom - box.top) / labels.length);
      labels.forEach((one, n) => {
        const y = box.top + 8 + n * step;
        canvas.append(shape(one.grey ? "circle" : one.kind, box.right + 12, y - 4, 4, { vars: { fill: one.colour } }), svg("text", { class: "label", x: box.right + 20, y }, one.text));
      });
    }
    return canvas;
  };
  const rows = curves.map((c) => [name(data.systems[c.system].name), number(c.n, "count"), ...["p50", "p95", "p99"].map((what) => {
    const mark = c.marks.find(([known]) => known === what);
    return mark ? number(mark[2], "seconds", { path: mark[1] ? ["summary", data.systems[c.system].name, mark[1]] : null }) : MISSING;
  })]);
  return chart("latency", "How long calls took", "Marks are p50, p95 and p99. Time inside the system, without waits of our own.", draw, simpleTable(["System", "Calls", "p50", "p95", "p99"], rows, "Latency"));
}

const shorten = (text) => (text.length > 24 ? text.slice(0, 14) + "…" + text.slice(-8) : text);

/** How the quality of rows is spread, one small histogram per system on the same scale. */
function spread(data, histograms, onPick) {
  const most = Math.max(...histograms.flatMap((h) => h.counts), 1);
  const holder = el("div", { class: "multiples" });
  for (const one of histograms) {
    const system = data.systems[one.system];
    const draw = (width) => {
      const height = 118;
      const box = { left: 6, right: width - 6, top: 8, bottom: height - 24 };
      const canvas = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
      const w = (box.right - box.left) / one.counts.length;
      const step = (one.high - one.low) / one.counts.length;
      one.counts.forEach((count, n) => {
        const h = (count / most) * (box.bottom - box.top);
        const [from, to] = [one.low + n * step, one.low + (n + 1) * step];
        const tip = `${name(system.name)}\n${Numbers.counted(count, "row")} from ${Numbers.of(from, "number")} to ${Numbers.of(to, "number")}`;
        const pick = () => onPick(one.system, from, to);
        canvas.append(svg("rect", {
          class: "column", x: box.left + n * w + 1, y: box.bottom - h, width: Math.max(1, w - 2), height: Math.max(count ? 1 : 0, h),
          tip, role: count ? "button" : null, tabindex: count ? 0 : null, "aria-label": count ? tip.replace("\n", ", ") : null,
          on: count ? { click: pick, keydown: (e) => { if (e.key === "Enter") pick(); } } : {},
        }));
      });
      canvas.append(svg("line", { class: "base", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
      for (const [value, anchor, x] of [[one.low, "start", box.left], [one.high, "end", box.right]]) {
        canvas.append(svg("text", { class: "tick", x, y: box.bottom + 16, "text-anchor": anchor }, Numbers.tick(value, 0.5, "number").replace(".0", "")));
      }
      return canvas;
    };
    const small = chart(null, name(system.name), null, draw, null);
    holder.append(small);
  }
  return holder;
}

/** Paired differences with their intervals, 0 in the middle. */
function forest(data, differences, unit, words) {
  const draw = (width) => {
    const narrow = width < 560;
    const step = narrow ? 46 : 30;
    const height = 30 + differences.length * step + 44;
    const names = differences.map((d) => shorten(name(data.systems[d.system].name)));
    const left = narrow ? 10 : Math.max(...names.map(textWidth)) + 20;
    const box = { left, right: width - (narrow ? 20 : 190), top: 30, bottom: height - 44 };
    const canvas = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    const ends = differences.flatMap((d) => [d.difference, ...(d.interval || [])]).concat(0, data.comparison.margin ? -data.comparison.margin : 0);
    const reach = Math.max(...ends.map(Math.abs), 0.01) * 1.08;
    const low = Math.min(...ends) < 0 ? -reach : -reach * 0.15;
    const high = Math.max(...ends) > 0 ? reach : reach * 0.15;
    const toX = (v) => box.left + ((v - low) / (high - low)) * (box.right - box.left);
    const ticks = Numbers.ticks(low, high, Math.max(2, (box.right - box.left) / 90));
    for (const tick of ticks) {
      canvas.append(svg("line", { class: tick === 0 ? "zero" : "grid", x1: toX(tick), x2: toX(tick), y1: box.top - 8, y2: box.bottom }),
        svg("text", { class: "tick", x: toX(tick), y: box.bottom + 18, "text-anchor": "middle" }, (tick > 0 ? "+" : "") + Numbers.tick(tick, ticks[1] - ticks[0] || 1, "number")));
    }
    if (data.comparison.margin) canvas.append(svg("line", { class: "margin", x1: toX(-data.comparison.margin), x2: toX(-data.comparison.margin), y1: box.top - 8, y2: box.bottom }));
    const undecided = data.comparison.margin === null ? "no difference shown" : "not decided";
    canvas.append(svg("text", { class: "axis", x: (box.left + box.right) / 2, y: box.bottom + 38, "text-anchor": "middle" }, `Difference to ${shorten(name(data.systems[data.baseline].name))}`));
    differences.forEach((d, n) => {
      const y = box.top + n * step + (narrow ? 26 : 10);
      const tip = `${name(data.systems[d.system].name)}: ${d.sentence}`;
      canvas.append(svg("text", { class: "label", x: narrow ? 10 : left - 12, y: narrow ? y - 12 : y + 4, "text-anchor": narrow ? "start" : "end" }, names[n]));
      if (d.interval) canvas.append(svg("line", { class: "bar " + d.tone, x1: toX(d.interval[0]), x2: toX(d.interval[1]), y1: y, y2: y }));
      canvas.append(shape("square", toX(d.difference), y, 5, { class: "mark " + d.tone, tabindex: 0, role: "img", "aria-label": tip, tip }));
      if (!narrow) canvas.append(svg("text", { class: "tick", x: box.right + 12, y: y + 4 }, `${Numbers.difference(d.difference, unit)}  ${words[d.verdict] || undecided}`));
    });
    return canvas;
  };
  return draw;
}

/** Quality against tokens of one sweep: a line with its band, values at the points. */
function sweepCurve(data, sweep) {
  return (width) => {
    const height = Math.max(260, Math.min(360, width * 0.55));
    const box = { left: 56, right: width - 28, top: 34, bottom: height - 48 };
    const canvas = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    const { points } = sweep;
    const y = range(points.flatMap((p) => [p.quality, ...p.interval]), { least: 0.05 });
    if (points.every((p) => p.quality >= 0 && p.quality <= 1)) Object.assign(y, { low: Math.max(0, y.low), high: Math.min(1.02, y.high), most: 1 });
    const [least, most] = [Math.min(...points.map((p) => p.tokens)), Math.max(...points.map((p) => p.tokens))];
    // Settings that double each time would crowd on the left.
    const log = least > 0 && most / least > 12;
    const x = log ? { low: least / 1.15, high: most * 1.15, log } : range(points.map((p) => p.tokens), { zero: true });
    const [toX, toY] = axes(canvas, box, { ...x, unit: "tokens", title: `Prompt tokens${log ? ", logarithmic" : ""}` }, { ...y, unit: "number", title: name(sweep.score) });
    const at = (p, value) => `${toX(p.tokens).toFixed(1)},${toY(Math.min(y.high, Math.max(y.low, value))).toFixed(1)}`;
    canvas.append(svg("polygon", { class: "band", points: [...points.map((p) => at(p, p.interval[1])), ...points.slice().reverse().map((p) => at(p, p.interval[0]))].join(" ") }));
    canvas.append(svg("polyline", { class: "front", points: points.map((p) => at(p, p.quality)).join(" ") }));
    const placed = points.map((p) => ({ left: toX(p.tokens) - 7, right: toX(p.tokens) + 7, top: toY(p.quality) - 7, bottom: toY(p.quality) + 7 }));
    for (const p of points) {
      const [px, py] = [toX(p.tokens), toY(p.quality)];
      if (p.is_smallest) canvas.append(svg("circle", { class: "ring", cx: px, cy: py, r: 11 }));
      const tip = `${name(sweep.setting)} ${Numbers.significant(p.value)}\n${name(sweep.score)} ${Numbers.plain(p.quality, 3)}, 95 % interval ${p.interval.map((end) => Numbers.plain(end, 3)).join(" to ")}\n${Numbers.of(p.tokens, "tokens")} prompt tokens${p.verdict ? `\n${p.verdict}` : ""}`;
      canvas.append(shape("circle", px, py, 5, { class: "mark on", tabindex: 0, role: "img", "aria-label": tip.replace(/\n/g, ", "), tip }));
      label(canvas, placed, box, px, py, Numbers.significant(p.value), p.is_smallest ? "label on" : "label");
    }
    return canvas;
  };
}
