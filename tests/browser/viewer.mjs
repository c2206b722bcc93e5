// `context-bench view` for the tests: started, asked, ended.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
export const PROGRAM = process.env.CONTEXT_BENCH || join(HERE, "../../target/debug/context-bench");
export const GATED = join(HERE, "gated.mjs");

const viewers = new Set();

/** Ends all viewers that nobody ended. */
export const endViewers = () => viewers.forEach((child) => child.kill("SIGKILL"));

/** Starts the viewer of a store; `url` has the token. */
export async function startViewer(store) {
  const since = performance.now();
  const child = spawn(PROGRAM, ["view", store], { stdio: ["ignore", "pipe", "pipe"] });
  viewers.add(child);
  child.once("exit", () => viewers.delete(child));
  let said = "";
  child.stderr.on("data", (part) => { said += part; });
  const [url] = await Promise.race([once(createInterface({ input: child.stdout }), "line"), once(child, "exit").then(() => { throw new Error(`the viewer ended: ${said}`); })]);
  const started = performance.now() - since;
  const { origin, port, searchParams } = new URL(url);
  return {
    url, origin, port: Number(port), token: searchParams.get("token"), child, started,
    said: () => said,
    /** The most memory it had so far, in MB. */
    memory: async () => Number((await readFile(`/proc/${child.pid}/status`, "utf8")).match(/VmHWM:\s+(\d+)/)[1]) / 1024,
    /** Ends it as Ctrl-C does; its exit code. */
    end: async () => {
      if (child.exitCode !== null) return child.exitCode;
      child.kill("SIGINT");
      return (await once(child, "exit"))[0];
    },
  };
}

/** Asks with exactly these headers; the status and the text. */
export function ask(port, path, { method = "GET", headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path, method, headers, setHost: !("Host" in headers) }, (response) => {
      let text = "";
      response.on("data", (part) => { text += part; });
      response.on("end", () => resolve({ status: response.statusCode, text, headers: response.headers }));
    });
    asked.on("error", reject);
    asked.end();
  });
}
