// A store with a run of N rows, for measuring the viewer: two systems over N / 2 examples.
//   node large_store.mjs FOLDER N
import { execFileSync } from "node:child_process";
import { createWriteStream, existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { PROGRAM } from "./viewer.mjs";

const [folder, n] = [process.argv[2], Number(process.argv[3])];
const answers = join(dirname(fileURLToPath(import.meta.url)), "answers.mjs");
if (!existsSync(join(folder, "store.sqlite"))) {
  await mkdir(folder, { recursive: true });
  const file = join(folder, "large.jsonl");
  const out = createWriteStream(file);
  for (let i = 0; i < n / 2; i++) {
    const text = JSON.stringify({ id: `e${i}`, question: `What is the square of ${i}?`, answer: `${i * i}`, dataset: `part-${i % 7}` }) + "\n";
    if (!out.write(text)) await once(out, "drain");
  }
  out.end();
  await once(out, "close");
  const command = (rate) => `node '${answers}' ${rate}`;
  execFileSync(PROGRAM, ["run", "--dataset", file, "--command", command(0.9), "--command", command(0.6), "--name", "first", "--name", "second", "--cache-dir", folder, "--quiet", "--max-workers", "8"], { stdio: ["ignore", "ignore", "inherit"] });
}
