// The list of runs: what was asked, about what, what became of it. Two can be put side by side.

const STATUS = { running: "running", finished: "finished", interrupted: "interrupted", failed: "failed", killed: "killed" };

/** `17 Nov 2026, 22:10`, in the reader's own time. */
function moment(seconds) {
  const time = new Date(seconds * 1000);
  return time.toLocaleString("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
}

/** A time that is left or has passed, as people say it. */
function span(seconds) {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Numbers.plain(Math.floor(seconds / 3600), 0)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

function statusTag(status) {
  return el("span", { class: "status " + (STATUS[status] || "") }, name(status));
}

/** A few names, and how many more. */
function few(names, most) {
  const shownNames = names.slice(0, most).map((one) => line(one, 60)).join(", ");
  return names.length > most ? `${shownNames} and ${names.length - most} more` : shownNames;
}

class RunsPage {
  constructor() { this.chosen = []; }

  async start() {
    document.title = "Runs · context-bench";
    this.body = el("tbody", {});
    this.bar = el("div", { class: "compare-bar", role: "status" });
    this.note = el("p", { class: "note" });
    this.search = el("input", { type: "search", placeholder: "id, system, dataset, command", autocomplete: "off", spellcheck: "false", on: { input: () => this.draw() } });
    const heads = ["Compare", "Run", "Status", "Begun", "Systems", "Datasets", "Rows", "Failed"];
    document.getElementById("page").replaceChildren(
      el("header", {}, el("h1", {}, "Runs"), this.note),
      el("form", { class: "filters", role: "search", on: { submit: (event) => event.preventDefault() } }, el("label", { class: "wide" }, "Find", this.search)),
      this.bar,
      el("div", { class: "scroll" }, el("table", { class: "runs" }, el("thead", {}, el("tr", {}, heads.map((head, n) => el("th", { scope: "col", class: n > 5 ? "num" : null }, head)))), this.body)));
    document.getElementById("skip").remove();
    await this.read();
    document.documentElement.dataset.ready = "";
  }

  async read() {
    const list = await Server.ask("runs");
    this.list = list;
    this.note.textContent = `${Numbers.counted(list.runs.length, "run")} in ${name(list.store)}`;
    this.draw();
    // Rows are counted in the background, and runs that are going change.
    const waits = list.runs.some((run) => !run.per_system && !run.problem) || list.runs.some((run) => run.status === "running");
    if (waits) setTimeout(() => this.read().catch(ViewPage.failed), 1000);
  }

  draw() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = this.list.runs.filter((run) => {
      const text = [run.id, run.status, run.command, ...run.systems, ...(run.benchmarks || [])].join("\n").toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const focused = document.activeElement && document.activeElement.dataset.run;
    this.body.replaceChildren(...all.slice(0, 500).map((run) => this.row(run)));
    if (!all.length) this.body.replaceChildren(el("tr", {}, el("td", { colspan: 8 }, this.list.runs.length ? "No run matches." : "The store has no runs yet; a run with --cache-dir puts itself here.")));
    if (all.length > 500) this.body.append(el("tr", {}, el("td", { colspan: 8 }, `${Numbers.counted(all.length - 500, "older run")} are left out; search for them.`)));
    if (focused) this.body.querySelector(`input[data-run="${CSS.escape(focused)}"]`)?.focus();
    this.drawBar();
  }

  row(run) {
    const parts = run.per_system || [];
    const sumOf = (key) => parts.reduce((total, one) => total + (one[key] || 0), 0);
    const failed = sumOf("failed");
    const known = parts.length > 0;
    const planned = known && parts.every((one) => one.planned !== null) ? sumOf("planned") : null;
    const rows = !known ? el("span", { class: "count" }, run.problem ? MISSING : "counting…")
      : `${Numbers.plain(sumOf("scored"), 0)} scored of ${planned === null ? Numbers.plain(sumOf("rows"), 0) : Numbers.plain(planned, 0)}`;
    const box = el("input", { type: "checkbox", "data-run": run.id, "aria-label": `Compare ${run.id}`, on: { change: (event) => this.choose(run.id, event.target.checked) } });
    box.checked = this.chosen.includes(run.id);
    return el("tr", {},
      el("td", {}, box),
      el("td", { class: "id" }, el("a", { href: `/run/${encodeURIComponent(run.id)}` }, name(run.id))),
      el("td", { "data-label": "Status" }, statusTag(run.status)),
      el("td", { class: "when", "data-label": "Begun" }, moment(run.created_at)),
      el("td", { "data-label": "Systems", title: run.systems.map((one) => line(one, 200)).join("\n") }, few(run.systems, 3)),
      el("td", { "data-label": "Datasets" }, run.problem ? el("span", { class: "missing" }, name(run.problem)) : few(run.benchmarks || [], 3) || MISSING),
      el("td", { class: "num", "data-label": "Rows" }, rows),
      el("td", { class: "num" + (failed ? " bad" : ""), "data-label": "Failed" }, known ? Numbers.plain(failed, 0) : MISSING));
  }

  choose(id, isChosen) {
    this.chosen = this.chosen.filter((one) => one !== id);
    if (isChosen) this.chosen = [...this.chosen, id].slice(-2);
    this.draw();
  }

  drawBar() {
    // The older one is what the newer is compared with. The list has the newest first; ids of one second say nothing.
    const age = (id) => this.list.runs.findIndex((run) => run.id === id);
    const [base, later] = [...this.chosen].sort((a, b) => age(b) - age(a));
    if (!base) this.bar.replaceChildren(el("span", { class: "note" }, "Choose two runs to see what flipped between them."));
    else if (!later) this.bar.replaceChildren(el("span", { class: "note" }, `${name(base)}: choose a second run to compare it with.`));
    else this.bar.replaceChildren(el("a", { href: `/compare?base=${encodeURIComponent(base)}&new=${encodeURIComponent(later)}` }, `Compare ${name(base)} with ${name(later)}`));
  }
}
