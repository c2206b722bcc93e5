// A system for tests of runs that are going: answers as answers.mjs does, and after AT answers waits
// until the file GATE is there.
//   node gated.mjs RATE GATE AT [fails]
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

const [rate, gate, at, kind] = [Number(process.argv[2]), process.argv[3], Number(process.argv[4]), process.argv[5]];
const share = (text) => createHash("sha256").update(text).digest().readUInt32BE() / 2 ** 32;
let n = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const example = JSON.parse(line);
  while (++n > at && !existsSync(gate)) await pause(20);
  const fails = kind === "fails" && share(`${example.id} fails`) < 0.05;
  const response = share(`${example.id} ${rate}`) < rate ? String(example.answer) : `not ${example.id}`;
  process.stdout.write((fails ? "this is no JSON" : JSON.stringify({ response })) + "\n");
}
