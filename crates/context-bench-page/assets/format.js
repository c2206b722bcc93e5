"use strict";
// Numbers for people. This is the one place that turns a number of the JSON export into text;
// everything else in the page asks `Numbers`.

const MISSING = "—";

const Numbers = {
  /** Groups of thousands; `digits` after the point. */
  plain(value, digits) {
    const text = Math.abs(value).toFixed(digits);
    const [whole, part] = text.split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    const sign = value < 0 && Number(text) !== 0 ? "−" : "";
    return sign + grouped + (part ? "." + part : "");
  },

  /** As many digits after the point as a standard error makes meaningful. */
  digitsOf(stderr) {
    if (!(stderr > 0)) return 3;
    return Math.min(4, Math.max(0, 1 - Math.floor(Math.log10(stderr))));
  },

  /** Three significant digits. */
  significant(value) {
    if (value === 0) return "0";
    const size = Math.floor(Math.log10(Math.abs(value)));
    return Number.isInteger(value) ? this.plain(value, 0) : this.plain(value, Math.min(6, Math.max(0, 2 - size)));
  },

  /** Three digits that say something, and at least cents. */
  money(value) {
    const size = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
    return this.plain(value, Math.min(12, Math.max(2, 2 - size)));
  },

  seconds(value) {
    const size = Math.abs(value);
    if (size === 0) return "0 s";
    if (size < 0.9995e-3) return this.significant(value * 1e6) + " µs";
    if (size < 0.9995) return this.significant(value * 1e3) + " ms";
    if (size < 119.5) return this.significant(value) + " s";
    const minutes = Math.floor(size / 60);
    return `${value < 0 ? "−" : ""}${this.plain(minutes, 0)} min ${Math.round(size - minutes * 60)} s`;
  },

  /** Percent without false precision: a decimal only where the last whole one says too little. */
  share(value) {
    const percent = value * 100;
    const close = Math.abs(percent) > 99 && Math.abs(percent) < 100;
    const small = Math.abs(percent) < 1 && percent !== 0;
    const text = this.plain(percent, close || small ? 1 : 0);
    // Almost all is not all.
    return (close && /^−?100/.test(text) ? (percent < 0 ? "< −99.9" : "> 99.9") : text) + " %";
  },

  /** A value of a unit; with its standard error the error decides the digits. */
  of(value, unit, stderr) {
    if (value === null || value === undefined || Number.isNaN(value)) return MISSING;
    if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
    switch (unit) {
      case "share": return this.share(value);
      case "tokens": return this.plain(value, Math.abs(value) < 10 && !Number.isInteger(value) ? 1 : 0);
      case "seconds": return this.seconds(value);
      case "money": return this.money(value);
      case "score": return this.significant(value);
      case "count": case "rank": return this.plain(value, 0);
      default: return stderr > 0 ? this.plain(value, this.digitsOf(stderr)) : this.plain(value, 3);
    }
  },

  /** `± 0.025`, in the unit of its value. */
  error(stderr, unit) {
    if (!(stderr > 0)) return "";
    if (unit === "share") return "± " + this.plain(stderr * 100, stderr < 0.01 ? 1 : 0) + " %";
    if (unit === "number") return "± " + this.plain(stderr, this.digitsOf(stderr));
    return "± " + this.of(stderr, unit);
  },

  /** A difference with its sign. */
  difference(value, unit, stderr) {
    if (value === null || value === undefined || Number.isNaN(value)) return MISSING;
    const text = this.of(value, unit, stderr);
    return value > 0 && /[1-9]/.test(text) ? "+" + text : text;
  },

  /** A difference in a table of them, where all have the same digits. */
  hundredths(value) {
    const text = this.plain(value, 2);
    return value > 0 && /[1-9]/.test(text) ? "+" + text : text;
  },

  /** A number of things: `1 row`, `2,000 rows`. */
  counted(n, what) {
    return `${this.plain(n, 0)} ${what}${n === 1 ? "" : "s"}`;
  },

  /** Round numbers that divide a range into about `n` parts. */
  ticks(low, high, n) {
    const raw = (high - low) / Math.max(1, n);
    if (!(raw > 0) || !Number.isFinite(raw)) return [low];
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * ([1, 2, 5, 10].find((m) => m * power >= raw) || 10);
    const first = Math.ceil(low / step - 1e-9);
    const last = Math.floor(high / step + 1e-9);
    const ticks = [];
    for (let i = first; i <= last; i++) ticks.push(Number((i * step).toPrecision(12)));
    return ticks;
  },

  /** A tick without digits that no other tick of the axis needs. */
  tick(value, step, unit) {
    if (unit === "share") return this.plain(value * 100, step < 0.00999 ? 1 : 0) + " %";
    if (unit === "seconds") return this.seconds(value).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ");
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    return this.plain(value, Math.min(unit === "money" ? 12 : 6, digits));
  },
};
