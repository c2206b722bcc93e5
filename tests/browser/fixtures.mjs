// Runs of the real program whose pages the tests open. Each is stored once; page and JSON export
// are made of the same stored run. They are kept in target/browser until the program changes; with
// KEEP_RUNS=1 only page and export are made anew, to look at changes of the page.
import { execFile } from "node:child_process";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { freePort, model, proxy } from "./endpoints.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
export const TARGET = join(HERE, "../../target/browser");
const PROGRAM = join(HERE, "../../target/debug/context-bench");
const run = promisify(execFile);
const answers = (...words) => ["node", join(HERE, "answers.mjs"), ...words].map((word) => `'${word}'`).join(" ");

const lines = (examples) => examples.map((example) => JSON.stringify(example)).join("\n") + "\n";
const numbered = (n, make) => Array.from({ length: n }, (_, i) => make(i));

const ITEMS = numbered(40, (i) => ({ id: `i${i}`, question: `What is the number of item ${i * 7}?`, answer: `number ${i * 7}`, context: numbered(60, (n) => `Item ${Math.max(0, i * 7 - 30 + n)} has the number ${Math.max(0, i * 7 - 30 + n)}. `).join("") }));
const TASKS = [["ones", 0], ["tens", 30], ["hundreds", 300], ["thousands", 3000]];

const RLO = "\u202e";
export const HOSTILE = [
  "<script>window.hacked = 1</script>",
  "</script><script>window.hacked = 2</script>",
  "<!--<script>window.hacked = 3",
  "--><img src=x onerror='window.hacked = 4'>",
  "<svg onload='window.hacked = 5'></svg><iframe srcdoc='<script>parent.hacked = 6</script>'></iframe>",
  `${RLO}detrevni si siht\u2066\u200b`,
  "line\u2028separator\u2029and\u0000NUL\u001b[2Jescape\u0007",
  "javascript:window.hacked=7 {{constructor.constructor('window.hacked=8')()}} ${window.hacked=9}",
  "\ud83d\ude00 a\u0301 \ufeff \u{e0041}tag",
  "LONG",
];

const SYSTEMS = ["passthrough", "dedup", "extractive 10%=extractive:ratio=0.1", "extractive 2%=extractive:ratio=0.02", "truncate 50%=truncate:ratio=0.5", "truncate 25%=truncate:ratio=0.25", "truncate 10%=truncate:ratio=0.1"];

/** Fixtures: files of examples by name, and the flags of the run. */
const FIXTURES = {
  demo: { files: {}, flags: [...SYSTEMS.flatMap((system) => ["--system", system]), "--dataset", "demo", "--text-field", "context", "--max-workers", "4"] },
  pair: {
    files: { questions: numbered(60, (i) => ({ id: `q${i}`, question: `What is the number of item ${i}?`, answer: `number ${i}`, context: numbered(30, (n) => `Item ${i + n} has the number ${i + n}. `).join("") })) },
    commands: [["baseline", "0.8"], ["compressor", "0.7", "cut"]],
  },
  wide: {
    files: Object.fromEntries(numbered(40, (d) => [`dataset-${String(d + 1).padStart(2, "0")}`, numbered(12, (i) => ({ id: `d${d}-${i}`, question: `Question ${i} of set ${d}?`, answer: `answer ${i}` }))])),
    commands: numbered(12, (s) => [`system ${String.fromCharCode(65 + s)}`, String(0.9 - s * 0.06), s === 7 ? "sometimes" : ""]),
  },
  sweep: { files: {}, flags: ["--system", "passthrough", "--sweep", "extractive:ratio=0.01..0.3/5/log", "--sweep", "truncate:ratio=0.1..0.9/5", "--margin", "0.05", "--control", "passthrough", "--dataset", "demo", "--text-field", "context"] },
  tapped: {
    files: { items: ITEMS },
    endpoints: async () => {
      const [provider, tap] = [await model(), await freePort()];
      const cutter = await proxy(tap);
      return { flags: ["--proxy", `cutter=http://127.0.0.1:${cutter.port}`, "--upstream", `http://127.0.0.1:${provider.port}`, "--tap-listen", `127.0.0.1:${tap}`, "--max-workers", "2"], close: () => { cutter.close(); provider.close(); } };
    },
  },
  groups: {
    files: {},
    more: {
      "tasks.yaml": "group: everything\ntask:\n  - group: small\n    task: [ones, tens]\n    aggregate_metric_list: [{metric: exact_match, filter_list: none}]\n  - group: large\n    task: [hundreds, thousands]\n    aggregate_metric_list: [{metric: exact_match, filter_list: none}]\naggregate_metric_list: [{metric: exact_match, filter_list: none}]\n",
      ...Object.fromEntries(TASKS.flatMap(([task, first]) => [
        [`${task}.yaml`, `task: ${task}\ndataset_path: json\ndataset_kwargs: {data_files: {test: ${task}.jsonl}}\ntest_split: test\noutput_type: generate_until\ndoc_to_text: "{{question}}"\ndoc_to_target: "{{answer}}"\nmetric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]\n`],
        [`${task}.jsonl`, lines(numbered(25, (i) => ({ id: i, question: `What is the number of item ${first + i}?`, answer: `number ${first + i}` })))],
      ])),
    },
    endpoints: async (folder) => {
      const provider = await model();
      const at = (rate) => `http://127.0.0.1:${provider.port}/${rate}`;
      return { flags: ["--proxy", `strong=${at(0.9)}`, "--proxy", `weak=${at(0.6)}`, "--proxy", `other=${at(0.85)}`, "--tasks", "everything", "--include-path", folder], close: () => provider.close() };
    },
  },
  memory: { command: "memory", files: {}, flags: ["--system", "naive", "--system", "bm25:top_k=2", "--system", "oracle", "--system", "none", "--dataset", join(HERE, "../../examples/memory/conversations.jsonl")] },
  one: { files: { single: [{ id: "only", question: "Is this all?", answer: "yes" }] }, commands: [["solo", "1"]] },
  failed: { files: { questions: numbered(8, (i) => ({ id: `q${i}`, question: `Question ${i}?`, answer: "yes" })) }, commands: [["broken", "1", "fails"], ["also broken", "0.5", "fails"]] },
  names: {
    files: { ["a-dataset-whose-name-somebody-made-from-a-path-and-a-date-and-a-long-list-of-x"]: numbered(20, (i) => ({ id: `an-identifier-of-an-example-that-goes-on-and-on-until-it-has-eighty-characters-${i}`, question: "A question?", answer: "yes" })) },
    commands: [["https://gateway.example.internal/compression/v2/models/long-context-layer-enterp", "0.9"], ["https://gateway.example.internal/compression/v2/models/long-context-layer-enterX", "0.6"], ["WithoutAnyPlaceToBreakTheLineBecauseItIsOneSingleWordOfEightyCharactersInARowAnd", "0.4"]],
  },
  languages: {
    files: { world: [
      { id: "zh", question: "灯塔是谁设计的?请用一句话回答。", answer: "灯塔由托比亚斯·哈尔加思设计", say: "灯塔由托比亚斯·哈尔加思在一八四二年设计。" },
      { id: "ar", question: "من صمّم المنارة القديمة في سكيروفيك؟", answer: "صمّمها توبياس هالغارث", say: "صمّمها المهندس توبياس هالغارث عام 1842." },
      { id: "mixed", question: "What does “مرحبا” mean? 你好 🙂", answer: "hello", say: "It means hello: مرحبا, 你好." },
    ] },
    commands: [["echo", "1", "hostile"], ["right", "1"]],
  },
  hostile: {
    files: { ["<img src=x onerror=hacked=1>"]: HOSTILE.map((say, i) => ({ id: `<b>${i}</b>${RLO}`, question: say, answer: say, say })) },
    commands: [["<script>window.hacked=10</script>", "1", "hostile"], [`bidi${RLO}name</script>`, "1"]],
  },
};

export const ALL = Object.keys(FIXTURES);

const exists = async (path, newerThan = 0) => stat(path).then((found) => found.mtimeMs > newerThan, () => false);

/** The page of a fixture and the JSON export of the same run. */
export async function fixture(name) {
  const folder = join(TARGET, "runs", name);
  const page = join(folder, "page.html");
  const json = join(folder, "result.json");
  const built = (await stat(PROGRAM)).mtimeMs;
  if ((await exists(json, built)) && (await exists(page, built))) return { page, json };
  const options = { maxBuffer: 1 << 28, env: { ...process.env, NO_COLOR: "1" } };
  const store = join(folder, "store");
  const show = async () => {
    await Promise.all([
      run(PROGRAM, ["export", "last", "--cache-dir", store, "--output", "json", "--output-file", json], options),
      run(PROGRAM, ["report", "last", "--cache-dir", store, "--output-file", page], options),
    ]);
    return { page, json };
  };
  if (process.env.KEEP_RUNS && (await exists(store))) return show();
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const { command = "run", files, more = {}, flags = [], commands = [], endpoints } = FIXTURES[name];
  const given = [...flags];
  for (const [file, text] of Object.entries(more)) await writeFile(join(folder, file), text);
  const served = endpoints ? await endpoints(folder) : { flags: [], close() {} };
  given.push(...served.flags);
  for (const [dataset, examples] of Object.entries(files)) {
    // A name is not a path: names that no file system takes are given in the examples.
    const file = join(folder, /[<>]/.test(dataset) ? "examples.jsonl" : `${dataset}.jsonl`);
    await writeFile(file, lines(/[<>]/.test(dataset) ? examples.map((example) => ({ ...example, dataset })) : examples));
    given.push("--dataset", file);
  }
  for (const [, rate, kind] of commands) given.push("--command", answers(rate, kind || ""));
  for (const [system] of commands) given.push("--name", system);
  // A run whose rows fail ends with an exit code of its own; it is stored all the same.
  await run(PROGRAM, [command, ...given, "--cache-dir", store, "--quiet", "--max-error-rate", "1"], options).catch((error) => {
    if (!/stored as run/.test(error.stderr)) throw error;
  }).finally(served.close);
  return show();
}

/** One page of two runs about the same examples, which share a system. */
export async function joinedPage() {
  await fixture("pair");
  const folder = join(TARGET, "runs", "pair");
  const page = join(folder, "joined.html");
  const [store, other] = [join(folder, "store"), join(folder, "other")];
  const options = { env: { ...process.env, NO_COLOR: "1" } };
  const given = ["--command", answers("0.8", ""), "--command", answers("0.75", ""), "--name", "baseline", "--name", "late"];
  await rm(other, { recursive: true, force: true });
  await run(PROGRAM, ["run", "--dataset", join(folder, "questions.jsonl"), ...given, "--cache-dir", other, "--quiet"], options);
  await run(PROGRAM, ["report", store, other, "--output-file", page], options);
  return page;
}

/** A page of 100,000 rows, written by an example of the page's crate: a run would take minutes. */
export async function largePage() {
  const page = join(TARGET, "runs", "large.html");
  await mkdir(dirname(page), { recursive: true });
  await run(join(HERE, "../../target/debug/examples/large_page"), [page, "50000"]);
  return page;
}
