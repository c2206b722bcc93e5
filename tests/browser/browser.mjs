// A browser for the tests: Debian's chromium, driven by playwright-core. Every page that is opened is
// watched: what it says on the console, which requests it makes, which errors it has.
import { createRequire } from "node:module";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { TARGET } from "./fixtures.mjs";

const require = createRequire(join(TARGET, "package.json"));
const { chromium } = require("playwright-core");
export const AXE = require.resolve("axe-core/axe.min.js");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
/** A machine may be ten times slower, and busy. */
export const PATIENCE = 300_000;

export async function launch() {
  const profile = await mkdtemp(join(tmpdir(), "context-bench-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, args: FLAGS, viewport: { width: 1440, height: 900 },
    timeout: PATIENCE,
  });
  context.setDefaultTimeout(PATIENCE);
  const close = context.close.bind(context);
  context.close = async () => { await close(); await rm(profile, { recursive: true, force: true }); };
  return context;
}

/** Opens a file and waits until its rows are there. */
export async function open(browser, file, { fragment = "", width = 1440, scheme = "light" } = {}) {
  const page = await browser.newPage();
  await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  const seen = { console: [], requests: [], errors: [] };
  page.on("console", (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("request", (request) => seen.requests.push(request.url()));
  page.seen = seen;
  const url = pathToFileURL(file).href;
  await page.goto(url + fragment);
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  seen.requests = seen.requests.filter((asked) => !asked.startsWith(url));
  return page;
}

/** Does something, and waits for the event of the page that follows from it. The listener is there before
 * anything is done: a key press that were sent beside the listener could be faster than it. */
export async function eventAfter(page, event, action, { isWhole = false } = {}) {
  const waiting = await page.evaluateHandle(([name, isWhole]) => {
    const box = {};
    box.seen = new Promise((resolve) => document.body.addEventListener(name, (event) => { if (!isWhole || event.detail.isWhole) resolve(event.detail); }));
    return box;
  }, [event, isWhole]);
  await action();
  const detail = await waiting.evaluate((box) => box.seen);
  await waiting.dispose();
  return detail;
}

/** Does something that shows other rows, and waits until they are shown. */
export async function rowsAfter(page, action) {
  return (await eventAfter(page, "rows-shown", action)).rows;
}

/** The same for a search, which shows what it has found so far: waits until all rows were searched. */
export async function searchedAfter(page, action) {
  return (await eventAfter(page, "rows-shown", action, { isWhole: true })).rows;
}
