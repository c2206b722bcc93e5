// The report in a real browser. Pages are those of real runs (`fixtures.mjs`). Nothing here asserts a
// time; the time to open a large page is printed.
import assert from "node:assert/strict";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { AXE, PATIENCE, eventAfter, launch, open, rowsAfter } from "./browser.mjs";
import { ALL, HOSTILE, TARGET, fixture, joinedPage, largePage } from "./fixtures.mjs";

const SHOTS = join(TARGET, "screenshots");
const PICTURE = new URL("../../docs/images/report.png", import.meta.url);
let browser;
before(async () => { await mkdir(SHOTS, { recursive: true }); browser = await launch(); }, { timeout: PATIENCE });
after(() => browser.close());

// Runs are made two at a time, before the pages are opened.
before(async () => {
  const waiting = [...ALL];
  const worker = async () => { for (let name = waiting.shift(); name; name = waiting.shift()) await fixture(name); };
  await Promise.all([worker(), worker()]);
}, { timeout: PATIENCE * 4 });

const it = (name, body) => test(name, { timeout: PATIENCE * 2 }, body);
const result = async (json) => JSON.parse(await readFile(json, "utf8"));
const quiet = (page) => assert.deepEqual(page.seen, { console: [], requests: [], errors: [] });
const at = (value, path) => path.reduce((part, key) => (part === undefined || part === null ? undefined : part[key]), value);

it("opens without a word on the console and without a request", async () => {
  for (const name of ALL) {
    const page = await open(browser, (await fixture(name)).page);
    quiet(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${name} scrolls sideways`);
    await page.close();
  }
});

it("every number equals the JSON export of the same run", async () => {
  for (const name of ["demo", "pair", "wide", "failed", "sweep", "tapped", "groups", "memory"]) {
    const { page: file, json } = await fixture(name);
    const export_ = await result(json);
    const page = await open(browser, file);
    await page.getByRole("button", { name: /^Show all/ }).first().click();
    for (let closed; (closed = page.locator("button.group[aria-expanded=false]")), await closed.count();) await closed.first().click();
    const numbers = await page.$$eval("data[data-path]", (all) => all.map((one) => ({ value: Number(one.value), text: one.textContent, path: JSON.parse(one.dataset.path) })));
    assert.ok(numbers.length >= (name === "failed" ? 2 : 40), `${name}: ${numbers.length} numbers`);
    for (const { value, text, path } of numbers) {
      assert.equal(value, at(export_, path), `${name}: ${path.join("/")} is shown as ${text}`);
      // What people read is the same number, rounded.
      const read = Number(text.replace(/[^0-9.−]/g, "").replace("−", "-"));
      const scale = text.includes("%") ? 100 : text.includes("µs") ? 1e6 : text.includes("ms") ? 1e3 : 1;
      if (!text.includes("min") && !text.includes("∞")) assert.ok(Math.abs(read - value * scale) <= Math.max(0.51, Math.abs(value * scale) * 0.01), `${text} for ${value}`);
    }
    await page.close();
  }
});

it("rows in the list equal the rows of the export", async () => {
  const { page: file, json } = await fixture("pair");
  const { rows } = await result(json);
  const page = await open(browser, file, { fragment: "#sort=order" });
  const shown = await page.$$eval(".space .row", (all) => all.map((row) => ({ number: Number(row.dataset.row), system: row.querySelector(".c1").textContent, numbers: [...row.querySelectorAll("data")].map((one) => Number(one.value)) })));
  assert.ok(shown.length > 8);
  for (const { number, system, numbers } of shown) {
    const row = rows[number];
    assert.equal(system, row.system);
    assert.deepEqual(numbers, [row.scores.f1, row.output_tokens, row.latency]);
  }
  await page.close();
});

it("charts have a mark for every system, and the front joins those that nobody beats", async () => {
  const { page: file, json } = await fixture("demo");
  const { summary, counts } = await result(json);
  const systems = Object.keys(summary);
  const page = await open(browser, file);
  const count = (selector) => page.locator(selector).count();
  assert.equal(await count("#cost .mark"), systems.length);
  assert.equal(await count("#compression .mark"), systems.length);
  assert.equal(await count("#cost line.bar"), systems.length);
  assert.equal(await count("#latency path.curve"), systems.length);
  // p50, p95 and p99 of each.
  assert.equal(await count("#latency .mark"), systems.length * 3);
  assert.equal(await count("#spread figure"), systems.length);
  assert.equal(await count(".summary tbody tr"), systems.length);
  assert.equal(await count(".sentences li"), systems.length);
  const points = systems.map((system) => [summary[system].mean_prompt_tokens, summary[system].mean_score]);
  const front = points.filter(([x, y]) => !points.some(([a, b]) => a <= x && b >= y && (a < x || b > y)));
  assert.equal(await count("#cost .mark.on"), front.length);
  // All rows with a score are in the histograms.
  const labels = await page.$$eval("#spread rect", (all) => all.map((one) => Number(one.dataset.tip.split("\n")[1].replace(/,/g, "").split(" ")[0])));
  assert.equal(labels.reduce((a, b) => a + b), Object.values(counts).reduce((total, one) => total + one.scored, 0));
  await page.close();
});

it("a run behind a tap shows what the wire saw", async () => {
  const { page: file, json } = await fixture("tapped");
  const { summary, rows } = await result(json);
  const page = await open(browser, file, { fragment: `#row=${rows.findIndex((row) => row.system === "cutter")}` });
  const shown = await page.$$eval("#side-on-the-wire data", (all) => all.map((one) => JSON.parse(one.dataset.path)));
  const keys = new Set(shown.filter(([, system]) => system === "cutter").map((path) => path[2]));
  for (const key of ["wire_saved", "engagement", "extra_calls", "added_before_p50", "added_after_p50"]) assert.ok(keys.has(key), key);
  assert.ok(summary.cutter.wire_saved > 0.4);
  assert.match(await page.locator("#compression figcaption").textContent(), /saved on the wire/i);
  await page.waitForSelector("#example[open]");
  assert.match(await page.locator("#example .card.own .numbers").innerText(), /reached the provider\s+\d+ of \d+ tokens/);
  quiet(page);
  await page.close();
});

it("sweeps are curves, and the forest plot has a bar for every other system", async () => {
  const { page: file, json } = await fixture("sweep");
  const { sweeps, summary } = await result(json);
  const page = await open(browser, file);
  for (const [n, sweep] of sweeps.entries()) {
    assert.equal(await page.locator(`#sweep-${n} .mark`).count(), sweep.points.length);
    assert.equal(await page.locator(`#sweep-${n} .ring`).count(), sweep.smallest ? 1 : 0);
  }
  assert.equal(await page.locator("#differences .mark").count(), Object.keys(summary).length - 1);
  assert.equal(await page.locator("#differences line.bar").count(), Object.keys(summary).length - 1);
  assert.equal(await page.locator("#differences line.margin").count(), 1);
  assert.match(await page.locator("#paired .note").last().textContent(), /against itself/);
  quiet(page);
  await page.close();
});

it("groups of tasks open to their members", async () => {
  const page = await open(browser, (await fixture("groups")).page);
  assert.deepEqual(await page.locator(".heatmap tbody th").allTextContents(), ["▸ everything 2"]);
  await page.click("button.group");
  assert.equal(await page.locator(".heatmap tbody tr").count(), 3);
  await page.locator("button.group", { hasText: "small" }).click();
  assert.equal(await page.locator(".heatmap tbody tr").count(), 5);
  const found = await rowsAfter(page, () => page.locator(".heatmap tbody th a", { hasText: "tens" }).click());
  assert.equal(found, 75);
  assert.match(await page.locator(".space .row .c3").first().textContent(), /What is the number of item 3\d/);
  quiet(page);
  await page.close();
});

it("what is missing is shown as missing, and failed as failed", async () => {
  const page = await open(browser, (await fixture("failed")).page, { fragment: "#row=0" });
  await page.waitForSelector("#example[open]");
  assert.match(await page.locator("#example .failed-box").first().innerText(), /Failed: process/);
  assert.match(await page.locator("#short").textContent(), /broken: no quality, because no answer has a score; 8 calls failed/);
  const cells = await page.locator(".summary tbody tr:first-child td").allTextContents();
  assert.deepEqual(cells.slice(0, -1).filter((text) => text !== "—"), []);
  assert.equal(await page.locator(".space .row .c4 .missing").count(), await page.locator(".space .row").count());
  assert.equal(await page.locator("#trade").count(), 0);
  assert.equal(await page.locator(".failures tbody tr").count(), 2);
  quiet(page);
  await page.close();
});

it("several runs are one page, and only the same examples are paired", async () => {
  const page = await open(browser, await joinedPage());
  const names = await page.locator(".summary tbody th a").allTextContents();
  assert.equal(names.length, 4);
  // Both runs have a system `baseline`; each says whose it is.
  assert.match(names[0], /^baseline of \d{8}-/);
  assert.match(names[2], /^baseline of \d{8}-/);
  assert.deepEqual([names[1], names[3]], ["compressor", "late"]);
  const row = await page.locator("#short li").last().textContent();
  assert.match(row, /^late.*beside baseline of/);
  await page.evaluate(() => { location.hash = "row=0"; });
  await page.waitForSelector("#example[open]");
  assert.equal(await page.locator("#example .card").count(), 4);
  assert.equal(await page.locator("#made .command").count(), 3);
  quiet(page);
  await page.close();
});

it("the heat map has a cell for every dataset and system", async () => {
  const page = await open(browser, (await fixture("wide")).page);
  assert.equal(await page.locator(".heatmap tbody tr").count(), 40);
  assert.equal(await page.locator(".heatmap tbody td").count(), 40 * 12);
  const found = await rowsAfter(page, () => page.locator(".heatmap tbody td a").nth(5).click());
  assert.equal(found, 12);
  await rowsAfter(page, () => page.click(".clear"));
  const failed = Object.values((await result((await fixture("wide")).json)).counts).reduce((total, one) => total + one.failed, 0);
  assert.ok(failed > 0);
  assert.equal(await rowsAfter(page, () => page.selectOption("[data-filter=show]", "failed")), failed);
  quiet(page);
  await page.close();
});

it("filters and orders rows, and keeps both in the address", async () => {
  const { page: file, json } = await fixture("demo");
  const { rows } = await result(json);
  const page = await open(browser, file);
  const pick = (key, value) => rowsAfter(page, () => page.selectOption(`[data-filter=${key}]`, value));
  assert.equal(await pick("system", "dedup"), 110);
  assert.equal(await rowsAfter(page, () => page.fill("[data-filter=max]", "0.5")), rows.filter((row) => row.system === "dedup" && row.scores.f1 <= 0.5).length);
  await rowsAfter(page, () => page.click(".clear"));
  const lost = rows.filter((row) => row.scores.f1 < 0.7 && rows.some((other) => other.system === "passthrough" && other.example_id === row.example_id && other.scores.f1 >= 0.7));
  assert.equal(await pick("show", "lost"), lost.length);
  await rowsAfter(page, () => page.click(".clear"));
  await pick("sort", "-latency");
  const slowest = Math.max(...rows.map((row) => row.latency));
  assert.equal(Number(await page.locator(".space .row .c6 data").first().getAttribute("value")), slowest);
  const words = await rowsAfter(page, () => page.fill("[data-filter=text]", "lighthouse restoration"));
  const has = (row) => ["lighthouse", "restoration"].every((word) => [row.example_id, row.question, row.answer, row.response].join("\n").toLowerCase().includes(word));
  assert.equal(words, rows.filter(has).length);
  // A link shows the same again.
  const again = await open(browser, file, { fragment: new URL(page.url()).hash });
  assert.match(await again.locator(".found").textContent(), new RegExp(`^${words} of 770`));
  assert.equal(await again.inputValue("[data-filter=sort]"), "-latency");
  quiet(page);
  await page.close();
  await again.close();
});

it("works with the keyboard alone", async () => {
  const page = await open(browser, (await fixture("demo")).page);
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.filter), "text");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  assert.equal(await page.locator(".row.at").getAttribute("aria-rowindex"), "3");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#example[open]");
  const first = await page.locator("#example-title").textContent();
  const hash = () => page.evaluate(() => location.hash);
  const second = await hash();
  assert.match(second, /row=/);
  for (let i = 0; i < 6 && (await page.locator("#example-title").textContent()) === first; i++) {
    await eventAfter(page, "example-shown", () => page.keyboard.press("j"));
  }
  assert.notEqual(await hash(), second);
  await page.keyboard.press("Escape");
  await page.waitForSelector("#example:not([open])", { state: "attached" });
  // The address follows the dialog's event, a moment later.
  await page.waitForURL((url) => !url.hash.includes("row="));
  await page.keyboard.press("?");
  await page.waitForSelector("#help[open]");
  quiet(page);
  await page.close();
});

it("shows one example in all systems, with what a layer removed", async () => {
  const { page: file, json } = await fixture("pair");
  const { rows } = await result(json);
  const number = rows.findIndex((row) => row.system === "compressor");
  const page = await open(browser, file, { fragment: `#row=${number}` });
  await page.waitForSelector("#example[open]");
  assert.equal(await page.locator("#example .card").count(), 2);
  const card = page.locator("#example .card.own");
  await card.locator("details summary", { hasText: "Context" }).click();
  await card.locator(".context del").first().waitFor();
  const removed = await card.locator(".context del").allTextContents();
  const kept = await card.locator(".context").evaluate((box) => [...box.childNodes].filter((node) => node.nodeName !== "DEL" && node.nodeName !== "BUTTON").map((node) => node.textContent).join(""));
  assert.ok(removed.length > 5);
  assert.match(kept, /^Item 0 has the number 0\. +Item 3 has/);
  assert.doesNotMatch(kept, /Item 1 has/);
  quiet(page);
  await page.close();
});

it("hostile texts and names execute nothing and hide nothing", async () => {
  const { page: file } = await fixture("hostile");
  const page = await open(browser, file, { fragment: "#sort=order" });
  const count = await page.locator(".space .row").count();
  assert.ok(count >= HOSTILE.length);
  for (let number = 0; number < HOSTILE.length; number++) {
    await eventAfter(page, "example-shown", () => page.evaluate((row) => { location.hash = `sort=order&row=${row}`; }, number));
    for (const button of await page.locator("#example .folded button:visible").all()) await button.click();
    const text = await page.locator("#example .card").first().innerText();
    if (HOSTILE[number] === "LONG") assert.match(text, /5,250,000 characters/);
    else if (number < 5) assert.ok(text.includes(HOSTILE[number].trim()), text);
    assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069\u0000\u001b\u2028]/);
  }
  const found = await page.evaluate(() => ({ hacked: window.hacked, images: document.images.length, frames: frames.length, svg: document.querySelectorAll("svg[onload]").length, scripts: [...document.scripts].filter((one) => !one.type).length }));
  assert.deepEqual(found, { hacked: undefined, images: 0, frames: 0, svg: 0, scripts: 1 });
  quiet(page);
  // Even a script of ours could not make markup of a text, nor load or send anything.
  const refused = await page.evaluate(async () => {
    const tried = {};
    try { document.body.innerHTML += "<b>x</b>"; } catch (error) { tried.markup = error.name; }
    await fetch("https://example.invalid/").catch((error) => { tried.fetch = error.name; });
    return tried;
  });
  assert.deepEqual(refused, { markup: "TypeError", fetch: "TypeError" });
  await page.close();
});

it("a page of 100,000 rows opens, scrolls and filters", async () => {
  const file = await largePage();
  const began = performance.now();
  const page = await open(browser, file);
  const opened = performance.now() - began;
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  const size = (await stat(file)).size / 1e6;
  const timed = async (action) => { const from = performance.now(); const rows = await rowsAfter(page, action); return [rows, performance.now() - from]; };
  const [lost, filtering] = await timed(() => page.selectOption("[data-filter=show]", "lost"));
  await rowsAfter(page, () => page.click(".clear"));
  const [all, sorting] = await timed(() => page.selectOption("[data-filter=sort]", "-latency"));
  const [found, searching] = await timed(() => page.fill("[data-filter=text]", "square of 49999?"));
  assert.equal(all, 100_000);
  assert.equal(lost, 16_667);
  assert.equal(found, 2);
  await rowsAfter(page, () => page.click(".clear"));
  await page.locator(".view").evaluate((view) => { view.scrollTop = view.scrollHeight; });
  await page.waitForFunction(() => [...document.querySelectorAll(".space .row")].some((row) => row.ariaRowIndex === "100001"));
  assert.ok((await page.locator(".space .row").count()) < 100);
  quiet(page);
  console.log(`# 100,000 rows, ${size.toFixed(1)} MB: first paint ${Math.round(paint)} ms, rows there ${Math.round(opened)} ms, filter ${Math.round(filtering)} ms, order ${Math.round(sorting)} ms, search through all texts ${Math.round(searching)} ms`);
  await page.close();
});

it("axe finds no serious violation", async () => {
  const axe = await readFile(AXE, "utf8");
  for (const [name, fragment, scheme] of [["demo", "", "light"], ["demo", "", "dark"], ["demo", "#row=400", "light"], ["pair", "#row=70", "dark"], ["wide", "", "dark"], ["failed", "", "light"], ["hostile", "", "dark"], ["sweep", "", "light"], ["tapped", "", "dark"], ["groups", "#row=0", "light"]]) {
    const page = await open(browser, (await fixture(name)).page, { fragment, scheme });
    await page.evaluate(axe);
    const violations = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html + " " + node.failureSummary).join(" | ")}`)));
    assert.deepEqual(violations, [], `${name}${fragment} ${scheme}`);
    await page.close();
  }
});

it("on paper there are the numbers and charts, and not the list", async () => {
  const page = await open(browser, (await fixture("demo")).page);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator("#rows").isVisible(), false);
  assert.equal(await page.locator("#systems table").isVisible(), true);
  assert.equal(await page.locator("#cost svg").isVisible(), true);
  // Bars of charts are lines, and not what a screen alone needs.
  assert.equal(await page.locator("#cost line.bar").first().evaluate((bar) => getComputedStyle(bar).display), "inline");
  // Paper is white, also for readers of dark screens.
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  await page.close();
});

it("screenshots for review", async () => {
  const views = [[1440, "light"], [1440, "dark"], [768, "light"], [390, "light"]];
  for (const name of ALL) {
    const { page: file } = await fixture(name);
    // One page per fixture; its width and colours change.
    const page = await open(browser, file);
    for (const [width, scheme] of views) {
      await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
      await page.emulateMedia({ colorScheme: scheme });
      await page.screenshot({ path: join(SHOTS, `${name}-${width}-${scheme}.png`), fullPage: true });
    }
    await page.evaluate(() => { location.hash = "row=0"; });
    await page.waitForSelector("#example[open]");
    await page.screenshot({ path: join(SHOTS, `${name}-example-390-light.png`) });
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.screenshot({ path: join(SHOTS, `${name}-example-1440-dark.png`) });
    await page.close();
  }
  for (const name of ["demo", "wide", "names"]) {
    const printed = await open(browser, (await fixture(name)).page);
    await printed.pdf({ path: join(SHOTS, `${name}.pdf`), format: "A4", preferCSSPageSize: true });
    await printed.close();
  }
});

// The picture of README and guide. Fonts differ between machines, so it is made anew only on demand:
//   CONTEXT_BENCH_UPDATE=1 make test-browser
it("the picture of the README is small and shows this page", async () => {
  const page = await open(browser, (await fixture("demo")).page, { width: 1040 });
  await page.setViewportSize({ width: 1040, height: 2400 });
  const [top, bottom] = await page.evaluate(() => [document.querySelector("#systems").getBoundingClientRect().top, document.querySelector("#trade").getBoundingClientRect().bottom]);
  const shot = await page.screenshot({ path: join(SHOTS, "readme.png"), clip: { x: 0, y: Math.max(0, top - 16), width: 1040, height: bottom - top + 32 } });
  if (process.env.CONTEXT_BENCH_UPDATE) await writeFile(PICTURE, shot);
  assert.ok(shot.length < 150_000, `${shot.length} bytes`);
  const kept = await readFile(PICTURE);
  assert.ok(kept.length < 150_000);
  // Width and height of a PNG stand at byte 16. Another height means that the page has other parts by now.
  const size = (png) => [png.readUInt32BE(16), png.readUInt32BE(20)];
  const [[width, height], [keptWidth, keptHeight]] = [size(shot), size(kept)];
  assert.equal(keptWidth, width);
  assert.ok(Math.abs(keptHeight - height) < 0.08 * height, `${keptHeight} px, but the page is ${height} px high: CONTEXT_BENCH_UPDATE=1 make test-browser`);
  await page.close();
});
