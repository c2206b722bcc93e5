// A run that is going: how far it is, how fast, what fails, how long it takes, and a way to stop it
// that asks first.

class LivePanel {
  constructor(run) {
    this.run = run;
    this.box = document.getElementById("live");
    this.status = el("strong", { role: "status" });
    this.bar = el("progress", { "aria-label": "Rows that are there" });
    this.facts = el("dl", {});
    this.errors = el("ul", {});
    this.stopButton = el("button", { class: "plain danger", on: { click: () => this.dialog.showModal() } }, "Stop the run…");
    this.answer = el("p", { class: "note", role: "status" });
    this.dialog = el("dialog", { class: "ask", id: "stop", "aria-labelledby": "stop-title" },
      el("h2", { id: "stop-title" }, "Stop this run?"),
      el("p", {}, "Its process gets what Ctrl-C in its terminal would send: calls in flight are finished, and what is there stays. The same command resumes it."),
      el("div", { class: "buttons" },
        el("button", { class: "plain danger", on: { click: () => this.stop() } }, "Stop it"),
        el("button", { class: "plain", autofocus: true, on: { click: () => this.dialog.close() } }, "Let it go on")));
  }

  show(state) {
    if (!this.box.childElementCount) {
      this.box.replaceChildren(el("section", { class: "live", "aria-label": "Progress" }, el("div", { class: "line" }, this.status, this.stopButton), this.bar, this.facts, this.errors, this.answer));
      document.body.append(this.dialog);
    }
    const share = state.planned ? state.rows / state.planned : null;
    // The status is read out; it changes seldom.
    const words = share === null ? "Running" : `Running: ${Numbers.share(Math.floor(share * 20) / 20)}`;
    if (this.status.textContent !== words) this.status.textContent = words;
    if (state.planned) { this.bar.max = state.planned; this.bar.value = state.rows; } else this.bar.removeAttribute("value");
    const fact = (label, value, bad) => el("div", {}, el("dt", {}, label), el("dd", { class: bad ? "bad" : null }, value));
    this.facts.replaceChildren(
      fact("Rows", state.planned === null ? Numbers.plain(state.rows, 0) : `${Numbers.plain(state.rows, 0)} of ${Numbers.plain(state.planned, 0)}`),
      fact("Rate", state.rate === null ? MISSING : `${Numbers.significant(Number(state.rate.toPrecision(3)))} rows/s`),
      fact("Failed", Numbers.plain(state.failed, 0), state.failed > 0),
      ...(state.unscored ? [fact("Unscored", Numbers.plain(state.unscored, 0), true)] : []),
      fact("Since", span(state.elapsed_s)),
      fact("Left", state.left_s === null ? MISSING : `about ${span(state.left_s)}`));
    this.errors.replaceChildren(...state.errors.slice(0, 4).map((error) => el("li", {}, el("strong", {}, `${Numbers.plain(error.n, 0)} × ${error.kind.replace(/_/g, " ")}`), ` (${name(error.system)}): `, line(error.last, 240))));
  }

  hide() {
    if (this.dialog.open) this.dialog.close();
    this.box.replaceChildren();
  }

  async stop() {
    this.dialog.close();
    this.stopButton.disabled = true;
    try {
      const { process } = await Server.ask(`run/${this.run}/stop`, { method: "POST" });
      this.answer.textContent = `Process ${process} was asked to stop; it finishes the calls in flight.`;
    } catch (error) {
      this.answer.textContent = error.message;
      this.stopButton.disabled = false;
    }
  }
}
