// `context-bench view` in a real browser, on stores of real runs. Nothing here asserts a time; the
// times of a large store are printed.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { AXE, PATIENCE, launch, rowsAfter, searchedAfter } from "./browser.mjs";
import { TARGET, fixture } from "./fixtures.mjs";
import { GATED, PROGRAM, ask, endViewers, startViewer } from "./viewer.mjs";

const SHOTS = join(TARGET, "screenshots");
const STORE = process.env.VIEW_STORE;
let browser;
let folder;
before(async () => {
  await mkdir(SHOTS, { recursive: true });
  folder = await mkdtemp(join(tmpdir(), "context-bench-view-"));
  browser = await launch();
}, { timeout: PATIENCE });
const runs = [];
// What a failed test left running would keep this file from ending.
after(async () => { endViewers(); runs.forEach((run) => run.kill("SIGKILL")); await browser.close(); await rm(folder, { recursive: true, force: true }); });
const it = (name, body) => test(name, { timeout: PATIENCE * 2, skip: STORE ? !name.startsWith("a large store") : false }, body);

/** Opens an address of a viewer and waits until it is there. */
async function open(viewer, path = "/", { width = 1440, scheme = "light" } = {}) {
  const page = await browser.newPage();
  await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  page.seen = [];
  page.on("console", (message) => page.seen.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => page.seen.push(String(error)));
  page.on("request", (request) => { if (!request.url().startsWith(viewer.origin)) page.seen.push(`request: ${request.url()}`); });
  const address = new URL(path, viewer.origin);
  address.searchParams.set("token", viewer.token);
  await page.goto(address.href);
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  return page;
}
const quiet = (page) => assert.deepEqual(page.seen, []);

/** Starts a run of two systems whose second waits for a gate after `at` answers. */
async function startRun(name, n, at, kind = "fails") {
  const here = join(folder, name);
  await mkdir(here, { recursive: true });
  const file = join(here, "questions.jsonl");
  await writeFile(file, Array.from({ length: n }, (_, i) => JSON.stringify({ id: `q${i}`, question: `What is the number of item ${i}?`, answer: `number ${i}` })).join("\n"));
  const gate = join(here, "gate");
  const command = (rate, from, kind_) => `node '${GATED}' ${rate} '${gate}' ${from} ${kind_}`;
  const child = spawn(PROGRAM, ["run", "--dataset", file, "--command", command(0.8, at, ""), "--command", command(0.6, at, kind), "--name", "first", "--name", "second", "--cache-dir", join(here, "store"), "--quiet", "--max-error-rate", "1"], { stdio: ["ignore", "ignore", "pipe"] });
  runs.push(child);
  let said = "";
  child.stderr.on("data", (part) => { said += part; });
  const ended = once(child, "exit");
  return { store: join(here, "store"), child, ended, said: () => said, openGate: () => writeFile(gate, "") };
}

/** The newest run, once there is one. */
async function newestRun(viewer) {
  for (;;) {
    const { status, text } = await ask(viewer.port, "/api/runs", { headers: { "X-Context-Bench-Token": viewer.token } });
    assert.equal(status, 200, text);
    const [newest] = JSON.parse(text).runs;
    if (newest) return newest;
    await new Promise((resume) => setTimeout(resume, 100));
  }
}

async function violations(page) {
  // The policy of the pages refuses a script that is put into them; the debugger's is none of theirs.
  await page.evaluate(await readFile(AXE, "utf8") + "; undefined");
  return page.evaluate(async () => (await axe.run()).violations.filter((one) => one.impact === "serious" || one.impact === "critical").map((one) => `${one.id}: ${one.nodes[0].html}`));
}

it("a run of 2,000 rows is watched from start to end", async () => {
  const run = await startRun("watched", 1000, 300);
  while (!(await readFile(join(run.store, "store.sqlite")).then(() => true, () => false))) await new Promise((resume) => setTimeout(resume, 50));
  const viewer = await startViewer(run.store);
  const { id } = await newestRun(viewer);
  const list = await open(viewer);
  await list.waitForSelector(".status.running");
  assert.equal(await list.evaluate(() => location.search), "", "the token stays in the address");
  await list.locator(`a[href="/run/${id}"]`).click();
  const page = list;
  await page.waitForSelector(".live progress");
  await page.waitForFunction(() => Number(document.querySelector(".live progress").value) >= 500);
  const going = Number(await page.locator(".live progress").evaluate((bar) => bar.value));
  assert.ok(going < 2000, `${going} rows`);
  assert.match(await page.locator(".live dl").textContent(), /of 2,000.*Failed\d/s);
  await page.waitForSelector(".space .row data");
  assert.deepEqual(await violations(page), []);
  await page.screenshot({ path: join(SHOTS, "view-going.png") });
  // What the reader does to the list stays while rows come.
  await rowsAfter(page, () => page.selectOption("[data-filter=system]", "second"));
  await run.openGate();
  await page.waitForSelector("html[data-run=done]", { state: "attached" });
  assert.equal((await run.ended)[0], 0, run.said());
  await page.waitForFunction(() => document.querySelector(".found").textContent.startsWith("1,000 of 2,000"));
  assert.equal(await page.inputValue("[data-filter=system]"), "second");
  assert.equal(await page.locator(".live").count(), 0);
  // The numbers are those of the export.
  const json = join(folder, "watched.json");
  await once(spawn(PROGRAM, ["export", id, "--cache-dir", run.store, "--output", "json", "--output-file", json], { stdio: "ignore" }), "exit");
  const exported = JSON.parse(await readFile(json, "utf8"));
  await page.waitForFunction(() => document.querySelectorAll("data[data-path]").length > 10);
  const numbers = await page.$$eval("data[data-path]", (all) => all.map((one) => [Number(one.value), JSON.parse(one.dataset.path)]));
  for (const [value, path] of numbers) assert.equal(value, path.reduce((part, key) => part?.[key], exported), path.join("/"));
  quiet(page);
  await page.close();
  assert.equal(await viewer.end(), 0);
});

it("stopping a run asks first, and then stops its process", async () => {
  const run = await startRun("stopped", 400, 50, "");
  while (!(await readFile(join(run.store, "store.sqlite")).then(() => true, () => false))) await new Promise((resume) => setTimeout(resume, 50));
  const viewer = await startViewer(run.store);
  const { id } = await newestRun(viewer);
  const stop = `/api/run/${id}/stop`;
  assert.equal((await ask(viewer.port, stop, { method: "POST" })).status, 401);
  assert.equal((await ask(viewer.port, stop, { method: "POST", headers: { "X-Context-Bench-Token": viewer.token, Origin: "http://evil.example" } })).status, 403);
  assert.equal((await ask(viewer.port, stop, { headers: { "X-Context-Bench-Token": viewer.token } })).status, 405);
  const page = await open(viewer, `/run/${id}`);
  await page.locator(".live .danger").click();
  await page.waitForSelector("#stop[open]");
  await page.getByRole("button", { name: "Let it go on" }).click();
  await page.waitForSelector("#stop:not([open])", { state: "attached" });
  assert.equal(run.child.exitCode, null);
  assert.equal(run.said().includes("interrupted"), false);
  await page.locator(".live .danger").click();
  await page.getByRole("button", { name: "Stop it" }).click();
  await page.waitForFunction((pid) => document.querySelector(".live").textContent.includes(`Process ${pid} was asked`), run.child.pid);
  await run.openGate();
  assert.equal((await run.ended)[0], 130, run.said());
  await page.waitForSelector("html[data-run=done]", { state: "attached" });
  assert.match(await page.locator(".warnings").first().textContent(), /interrupted/);
  // A run that is over has no process to stop.
  assert.equal((await ask(viewer.port, stop, { method: "POST", headers: { "X-Context-Bench-Token": viewer.token } })).status, 409);
  quiet(page);
  await page.close();
  await viewer.end();
});

it("two runs beside each other show what flipped, and a list leads there", async () => {
  const store = join(folder, "pair", "store");
  const answers = (rate) => `node '${GATED}' ${rate} / 1 ''`;
  const file = join(folder, "pair", "questions.jsonl");
  await mkdir(join(folder, "pair"), { recursive: true });
  await writeFile(file, Array.from({ length: 60 }, (_, i) => JSON.stringify({ id: `q${i}`, question: `Question ${i}?`, answer: `answer ${i}` })).join("\n"));
  for (const rate of [0.9, 0.6]) {
    const [code] = await once(spawn(PROGRAM, ["run", "--dataset", file, "--command", answers(rate), "--name", "layer", "--cache-dir", store, "--quiet"], { stdio: "ignore" }), "exit");
    assert.equal(code, 0);
  }
  const viewer = await startViewer(store);
  const page = await open(viewer);
  await page.waitForFunction(() => document.querySelectorAll("table.runs tbody tr").length === 2 && !document.body.textContent.includes("counting"));
  assert.match(await page.locator("table.runs tbody tr").first().textContent(), /60 scored of 60/);
  await page.screenshot({ path: join(SHOTS, "view-runs.png") });
  assert.deepEqual(await violations(page), []);
  await page.locator("table.runs input").nth(0).check();
  await page.locator("table.runs input").nth(1).check();
  await page.getByRole("link", { name: /^Compare/ }).click();
  await page.waitForSelector(".flip");
  const flips = await page.locator(".flip").count();
  const head = await page.locator(".flips-head").textContent();
  const [lost, gained] = head.match(/(\d+) lost, (\d+) gained/).slice(1).map(Number);
  assert.equal(flips, lost + gained);
  assert.ok(lost > gained && lost > 3, head);
  assert.deepEqual(await violations(page), []);
  await page.screenshot({ path: join(SHOTS, "view-compare.png") });
  quiet(page);
  await page.close();
  await viewer.end();
});

it("one example is shown in all systems, and rows equal the export", async () => {
  const { json } = await fixture("pair");
  const { rows } = JSON.parse(await readFile(json, "utf8"));
  const viewer = await startViewer(join(TARGET, "runs", "pair", "store"));
  const { id } = await newestRun(viewer);
  const page = await open(viewer, `/run/${id}#sort=order`);
  await page.waitForSelector("html[data-run=done]", { state: "attached" });
  const shown = await page.$$eval(".space .row[data-row]", (all) => all.map((row) => ({ number: Number(row.dataset.row), system: row.querySelector(".c1").textContent, id: row.querySelector(".c2").textContent, score: Number(row.querySelector(".c4 data").value) })));
  assert.ok(shown.length > 8);
  for (const { number, system, id: example, score } of shown) {
    assert.deepEqual([system, example, score], [rows[number].system, rows[number].example_id, rows[number].scores.f1]);
  }
  const lost = rows.filter((row) => row.system === "compressor" && row.scores.f1 < 0.7 && rows.some((other) => other.system === "baseline" && other.example_id === row.example_id && other.scores.f1 >= 0.7));
  assert.equal(await rowsAfter(page, () => page.selectOption("[data-filter=show]", "lost")), lost.length);
  const end = `${lost[0].example_id.slice(1)}?`;
  const words = await searchedAfter(page, () => page.fill("[data-filter=text]", `ITEM ${end}`));
  assert.equal(words, lost.filter((row) => row.question.toLowerCase().includes(end)).length);
  await page.locator(".space .row[data-row]").first().click();
  await page.waitForSelector("#example[open]");
  assert.equal(await page.locator("#example .card").count(), 2);
  await page.locator("#example .card.own details summary", { hasText: "Context" }).click();
  // What is folded up is made when it is opened, which the page is told after the click.
  await page.locator("#example .card.own .context del").nth(3).waitFor({ state: "attached" });
  assert.deepEqual(await violations(page), []);
  quiet(page);
  for (const [shot, options] of [["view-run", {}], ["view-run-dark", { scheme: "dark" }], ["view-run-phone", { width: 390 }]]) {
    const other = await open(viewer, `/run/${id}`, options);
    await other.waitForSelector("html[data-run=done]", { state: "attached" });
    assert.equal(await other.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${shot} scrolls sideways`);
    await other.screenshot({ path: join(SHOTS, `${shot}.png`), fullPage: true });
    await other.close();
  }
  const phone = await open(viewer, "/", { width: 390, scheme: "dark" });
  assert.equal(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  await phone.screenshot({ path: join(SHOTS, "view-runs-phone.png") });
  await page.close();
  await phone.close();
  await viewer.end();
});

it("foreign names and origins get nothing, and nobody anything without the token", async () => {
  await fixture("one");
  const viewer = await startViewer(join(TARGET, "runs", "one", "store"));
  const { port, token } = viewer;
  const { id } = await newestRun(viewer);
  const own = { "X-Context-Bench-Token": token };
  const status = async (path, headers, method) => (await ask(port, path, { headers, method })).status;
  for (const path of ["/api/runs", `/api/run/${id}`, `/api/run/${id}/rows`, `/api/run/${id}/example/0`]) {
    assert.equal(await status(path, own), 200, path);
    assert.equal(await status(path, {}), 401, path);
    assert.equal(await status(path, { ...own, Host: `evil.example:${port}` }), 421, path);
    assert.equal(await status(path, { ...own, Origin: "http://evil.example" }), 403, path);
    assert.equal(await status(path, { ...own, "Sec-Fetch-Site": "cross-site" }), 403, path);
  }
  for (const path of ["/", `/run/${id}`, "/assets/view.js"]) {
    const { headers, text } = await ask(port, path);
    assert.match(headers["content-security-policy"], /default-src 'none'.*trusted-types 'none'/);
    assert.equal(headers["access-control-allow-origin"], undefined);
    assert.equal(text.includes(id) || text.includes(token), false, `${path} holds data`);
    assert.equal(await status(path, { Host: "evil.example" }), 421, path);
  }
  assert.equal(await status("/api/runs", own, "OPTIONS"), 405);
  assert.equal(await status(`/api/run/..%2f..%2fetc/state`, own), 404);
  // A page without the token says so and shows nothing.
  const page = await browser.newPage();
  await page.goto(`${viewer.origin}/run/${id}`);
  await page.evaluate(() => localStorage.clear());
  await page.goto(`${viewer.origin}/run/${id}`);
  await page.waitForSelector("#failure");
  assert.match(await page.locator("#failure").textContent(), /token is missing/);
  await page.close();
  await viewer.end();
});

it("hostile names of systems and datasets are inert", async () => {
  await fixture("hostile");
  const viewer = await startViewer(join(TARGET, "runs", "hostile", "store"));
  const { id } = await newestRun(viewer);
  for (const path of ["/", `/run/${id}`, `/compare?base=${id}&new=${id}`, `/run/${id}#row=0`]) {
    const page = await open(viewer, path);
    await page.waitForFunction(() => !document.body.textContent.includes("counting"));
    if (path.startsWith("/run")) await page.waitForSelector("html[data-run=done]", { state: "attached" });
    assert.equal(await page.evaluate(() => window.hacked), undefined, path);
    assert.equal(await page.locator("main img, main iframe, main script, dialog img, dialog script").count(), 0, path);
    const text = await page.evaluate(() => document.body.innerText);
    assert.equal(/[\u202a-\u202e\u2066-\u2069]/.test(text), false, `${path} steers`);
    quiet(page);
    await page.close();
  }
  await viewer.end();
});

it("a large store opens, filters and pages", async (t) => {
  const store = STORE || join(folder, "large");
  if (!STORE) await promisify(execFile)(process.execPath, [join(import.meta.dirname, "large_store.mjs"), store, "4000"]);
  const viewer = await startViewer(store);
  const said = (what, since) => t.diagnostic(`${what}: ${((performance.now() - since) / 1000).toFixed(2)} s`);
  t.diagnostic(`listens after ${(viewer.started / 1000).toFixed(2)} s`);
  let since = performance.now();
  const list = await open(viewer);
  said("list of runs", since);
  const id = await list.locator("table.runs a").first().textContent();
  since = performance.now();
  const page = await open(viewer, `/run/${id}`);
  await page.waitForSelector(".space .row[data-row]");
  said("first rows", since);
  since = performance.now();
  assert.ok((await rowsAfter(page, () => page.selectOption("[data-filter=system]", { index: 1 }))) > 0);
  said("a filter while the run is read", since);
  await page.waitForSelector("html[data-run=done]", { state: "attached" });
  said("all rows read", since);
  await rowsAfter(page, () => page.click(".clear"));
  const all = Number((await page.locator(".found").textContent()).replace(/[^0-9]/g, ""));
  assert.ok(all >= (STORE ? 100_000 : 4_000), `${all} rows`);
  const timed = async (what, action) => {
    const begun = performance.now();
    const found = await rowsAfter(page, action);
    said(`${what} (${found} rows)`, begun);
    return found;
  };
  const ofFirst = await timed("filter by system", () => page.selectOption("[data-filter=system]", { index: 1 }));
  assert.ok(ofFirst > all / 3 && ofFirst < all, `${ofFirst} of ${all}`);
  await timed("filter by score", () => page.fill("[data-filter=max]", "0.5"));
  await timed("clear", () => page.click(".clear"));
  await timed("filter by flips", () => page.selectOption("[data-filter=show]", "lost"));
  await timed("order by latency", () => page.selectOption("[data-filter=sort]", "-latency"));
  await timed("clear", () => page.click(".clear"));
  since = performance.now();
  await page.locator(".view").focus();
  await page.keyboard.press("End");
  await page.waitForFunction((last) => { const row = document.querySelector(`.space .row[aria-rowindex="${last + 1}"][data-row]`); return row && row.querySelector(".c2").textContent !== "…"; }, all);
  said("last page", since);
  for (const [text, least] of [["square of 77?", 2], ["no such word", 0], ["square", all]]) {
    since = performance.now();
    const searched = searchedAfter(page, () => rowsAfter(page, () => page.fill("[data-filter=text]", text)).then((n) => said(`first ${n} rows of a search for ${text}`, since)));
    // A row has the number, or is about another example whose gold answer has it.
    const found = await searched;
    assert.ok(found >= least && (least || !found), `${found} rows have ${text}`);
    said(`the whole search (${found} rows)`, since);
  }
  t.diagnostic(`peak memory ${(await viewer.memory()).toFixed(0)} MB, ${all} rows`);
  quiet(page);
  await page.close();
  await list.close();
  assert.equal(await viewer.end(), 0);
});
