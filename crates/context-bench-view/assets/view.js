// Starts the page of an address: the list of runs, one run, or two.

const ViewPage = {
  /** Says what went wrong, once, above everything. */
  failed(error) {
    let box = document.getElementById("failure");
    if (!box) {
      box = el("p", { id: "failure", class: "failure", role: "alert" });
      document.getElementById("page").prepend(box);
    }
    box.textContent = error.message;
  },
};

/** The page of one run, which is drawn again while the run goes on. */
class RunPage {
  constructor(run) {
    this.run = run;
    this.live = new LivePanel(run);
  }

  async start() {
    const page = await Server.ask(`run/${this.run}`);
    this.source = new ServerRows(this.run, page);
    this.page = new Page(this.data(page), this.source.index, this.source);
    await this.page.start();
    this.state = await Server.ask(`run/${this.run}/state`);
    await this.watch();
  }

  /** The data of an answer as the page uses them. */
  data(page) {
    const data = prepared(page.data);
    document.title = `${line(data.title, 80)} · context-bench`;
    const report = `context-bench report ${this.run} writes the page with all numbers.`;
    if (page.is_large && !page.is_compared && data.systems.length > 1) data.warnings.unshift("Differences between systems are worked out once all rows are read.");
    else if (page.is_large) data.warnings.unshift(`This run is too large to be held in memory: this page has its main score, tokens and latency, without intervals of the latter. ${report}`);
    return data;
  }

  /** Looks at the run until everything is known about it. */
  async watch() {
    for (;;) {
      const before = this.state;
      const isGoing = before.status === "running";
      if (isGoing) this.live.show(before);
      else this.live.hide();
      if (before.problem) ViewPage.failed(new Error(before.problem));
      const isDone = before.is_done;
      document.documentElement.dataset.run = isDone ? "done" : isGoing ? "going" : "reading";
      if (isDone && this.drawn === "done") return;
      await new Promise((resume) => setTimeout(resume, isDone ? 0 : 1000));
      this.state = await Server.ask(`run/${this.run}/state`);
      const grew = this.state.rows !== before.rows || this.source.more;
      if (grew) await this.page.browser.refresh();
      if (isDone || grew) await this.redraw();
      if (isDone) this.drawn = "done";
    }
  }

  /** Numbers and charts anew; the rows stay as they are. */
  async redraw() {
    const fresh = await Server.ask(`run/${this.run}`);
    this.page.renew(this.data(fresh));
    document.body.dispatchEvent(new CustomEvent("page-drawn"));
  }
}

function places() {
  const home = el("a", { href: "/" }, "All runs");
  const [, kind, id] = location.pathname.split("/");
  append(document.getElementById("places"), [
    kind ? home : el("strong", {}, "context-bench"),
    kind === "run" ? el("span", { class: "path" }, "Run " + name(decodeURIComponent(id))) : null,
  ]);
}

async function view() {
  Server.start();
  places();
  const [, kind, id] = location.pathname.split("/");
  try {
    if (kind === "run") await new RunPage(id).start();
    else if (kind === "compare") await new ComparePage().start();
    else await new RunsPage().start();
  } catch (error) {
    ViewPage.failed(error);
    document.documentElement.dataset.ready = "";
  }
}

view();
