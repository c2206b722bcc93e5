// Endpoints for runs of the browser tests, on loopback: a model that finds answers in what it is sent, and a
// proxy that cuts requests on their way to it.
import { createHash } from "node:crypto";
import { createServer, request } from "node:http";

const share = (text) => createHash("sha256").update(text).digest().readUInt32BE() / 2 ** 32;
const body = async (stream) => { let text = ""; for await (const part of stream) text += part; return text; };
const words = (text) => Math.ceil(text.length / 4);

async function listen(handler) {
  const server = createServer((asked, reply) => handler(asked, reply).catch((error) => { reply.statusCode = 502; reply.end(String(error)); }));
  await new Promise((resume) => server.listen(0, "127.0.0.1", resume));
  return { port: server.address().port, close: () => { server.closeAllConnections(); server.close(); } };
}

/** A chat endpoint. `/RATE/v1/…` answers that share of questions right, `/v1/…` those whose fact it was sent. */
export const model = () => listen(async (asked, reply) => {
  const [, rate] = asked.url.match(/^\/(0\.\d+|1)\//) || [];
  const text = JSON.parse(await body(asked)).messages.map((message) => JSON.stringify(message.content)).join("\n");
  const item = (text.match(/item (\d+)\?/) || [])[1];
  const knows = rate === undefined ? text.includes(`Item ${item} has the number ${item}.`) : share(`${item} ${rate}`) < Number(rate);
  const content = knows ? `number ${item}` : "I do not know";
  reply.setHeader("content-type", "application/json");
  reply.end(JSON.stringify({
    id: "1", object: "chat.completion", created: 0, model: "finder-1",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: { prompt_tokens: words(text), completion_tokens: words(content), total_tokens: words(text) + words(content) },
  }));
});

/** A proxy that drops two of three sentences and passes the rest on to `port`. */
export const proxy = (port) => listen(async (asked, reply) => {
  const said = JSON.parse((await body(asked)) || "{}");
  const cut = (text) => text.split(/(?<=\. )/).filter((part, n) => n % 3 === 0 || part.includes("?")).join("");
  for (const message of said.messages || []) {
    if (typeof message.content === "string") message.content = cut(message.content);
    else for (const part of message.content || []) if (part.text) part.text = cut(part.text);
  }
  const text = JSON.stringify(said);
  const headers = { ...asked.headers, host: `127.0.0.1:${port}`, "content-length": Buffer.byteLength(text) };
  const answer = await new Promise((resume, refuse) => request({ port, path: asked.url, method: asked.method, headers }, resume).on("error", refuse).end(text));
  reply.writeHead(answer.statusCode, answer.headers);
  answer.pipe(reply);
});

/** A port that nobody uses now. */
export async function freePort() {
  const held = await listen(async () => {});
  held.close();
  return held.port;
}
