// Two runs side by side: what the difference comes to, and which examples flipped, with both answers.

class ComparePage {
  async start() {
    const asked = new URLSearchParams(location.search);
    const [base, later] = [asked.get("base") || "", asked.get("new") || ""];
    document.title = "Two runs · context-bench";
    document.getElementById("skip").remove();
    const link = (id) => el("a", { href: `/run/${encodeURIComponent(id)}` }, name(id));
    const page = document.getElementById("page");
    const waiting = el("p", { class: "note", role: "status" }, "Reading both runs… Of a million rows that takes about a minute.");
    page.replaceChildren(el("header", {}, el("h1", {}, "Two runs"), el("p", {}, link(later), " beside ", link(base), " as the baseline.")), waiting);
    const { comparison, shown: most, is_large: isLarge } = await Server.ask(`compare?base=${encodeURIComponent(base)}&new=${encodeURIComponent(later)}`);
    waiting.remove();
    append(page, [
      isLarge ? el("p", { class: "note" }, `These runs are large: here they are compared by their score alone. context-bench compare ${base} ${later} compares every score, tokens and latency in a terminal.`) : null,
      comparison.notes && comparison.notes.length ? el("ul", { class: "warnings", role: "note" }, comparison.notes.map((text) => el("li", {}, shown(text)))) : null,
      comparison.systems.map((one) => this.system(one, comparison, most)),
    ]);
    Tooltip.start();
    document.documentElement.dataset.ready = "";
  }

  system(one, comparison, most) {
    const main = one.differences.find((difference) => difference.measure === comparison.score && difference.scope === "all") || one.differences.find((difference) => difference.flips) || one.differences[0];
    const flips = main && main.flips;
    const label = one.system === one.baseline ? one.system : `${one.system} beside ${one.baseline}`;
    const rows = one.differences.filter((difference) => difference.scope === "all");
    const digits = (difference, value) => number(value, difference.kind === "score" ? "number" : /latency|seconds/.test(difference.measure) ? "seconds" : difference.is_share ? "share" : /token/.test(difference.measure) ? "tokens" : "number", {});
    const table = el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ["Measure", "First run", "Second run", "Difference", "95 % interval", "Pairs"].map((head, n) => el("th", { scope: "col", class: n ? "num" : null }, head)))),
      el("tbody", {}, rows.map((difference) => el("tr", {},
        el("th", { scope: "row" }, name(difference.measure.replace(/_/g, " "))),
        el("td", { class: "num" }, digits(difference, difference.baseline_mean)),
        el("td", { class: "num" }, digits(difference, difference.system_mean)),
        el("td", { class: "num" }, digits(difference, difference.difference)),
        el("td", { class: "num" }, difference.interval ? [digits(difference, difference.interval.low), " to ", digits(difference, difference.interval.high)] : MISSING),
        el("td", { class: "num" }, Numbers.plain(difference.n, 0)))))));
    const matched = one.matched;
    return section("system-" + one.system.replace(/[^a-z0-9]/gi, "-"), name(label),
      el("p", {}, shown(one.sentence)),
      el("p", { class: "note" }, `${Numbers.counted(matched.paired, "example")} in both runs, ${Numbers.plain(matched.only_baseline, 0)} only in the first, ${Numbers.plain(matched.only_system, 0)} only in the second.`),
      one.notes && one.notes.length ? el("ul", { class: "warnings", role: "note" }, one.notes.map((text) => el("li", {}, shown(text)))) : null,
      table,
      el("h3", { class: "flips-head" }, flips ? `What flipped: ${Numbers.plain(flips.lost, 0)} lost, ${Numbers.plain(flips.gained, 0)} gained` : "What flipped"),
      one.flips && one.flips.length ? one.flips.map((flip) => this.flip(flip)) : el("p", { class: "note" }, "No example passed in only one of the runs."),
      flips && flips.lost + flips.gained > (one.flips || []).length ? el("p", { class: "note" }, `At most ${most} of each direction are shown.`) : null);
  }

  flip(flip) {
    const lost = flip.direction === "lost";
    const gold = goldOf(plainText(flip.answer).slice(0, 5000));
    const side = (title, score, text) => el("section", {}, el("h4", {}, title, " ", el("span", { class: "note" }, "score ", number(score, "score"))), textBlock(text, (part) => marked(part, gold)));
    return el("article", { class: "flip" },
      el("h4", {}, shown(String(flip.example_id)), flip.dataset ? el("span", { class: "note" }, " " + name(flip.dataset)) : null, el("span", { class: "tag " + (lost ? "lost" : "won") }, lost ? "lost" : "gained")),
      el("div", { class: "beside" },
        el("section", {}, el("h4", {}, "Question"), textBlock(flip.question, (part) => shown(part))),
        el("section", {}, el("h4", {}, "Gold answer"), textBlock(flip.answer, (part) => shown(part))),
        side("First run", flip.baseline_score, flip.baseline_answer),
        side("Second run", flip.system_score, flip.system_answer)));
  }
}
