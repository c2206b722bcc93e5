// A system for the browser tests: reads an example per line, writes an answer per line.
//   node answers.mjs RATE [KIND]
// RATE is the share of right answers (decided by the id, so that runs repeat). KIND `hostile` answers
// what the example's `say` holds, `long` five megabytes, `fails` nothing that could be read.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

const [rate, kind] = [Number(process.argv[2]), process.argv[3]];
const share = (text) => createHash("sha256").update(text).digest().readUInt32BE() / 2 ** 32;

for await (const line of createInterface({ input: process.stdin })) {
  const example = JSON.parse(line);
  const right = share(`${example.id} ${example.dataset ?? ""} ${rate}`) < rate;
  let answer = { response: right ? String(example.answer) : `not ${example.id}` };
  if (kind === "hostile") answer = { response: example.say === "LONG" ? "5 MB </script> ".repeat(350_000) : example.say };
  if (kind === "cut" && example.context) answer.context = example.context.split(/(?<=\. )/).filter((_, n) => n % 3 === 0).join("");
  const fails = kind === "fails" || (kind === "sometimes" && share(`${example.id} fails`) < 0.2);
  process.stdout.write((fails ? "this is no JSON" : JSON.stringify(answer)) + "\n");
}
