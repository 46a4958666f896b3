/**
 * A program for `node -e` that ignores the end of its input and all signals that it can, like the one that it starts.
 * It sends the process ids of both as a notification, and answers `initialize`.
 */
export const STUBBORN = `
const { spawn } = require("node:child_process");
const stay = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1_000);';
process.on("SIGTERM", () => {});
setInterval(() => {}, 1_000);
const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const child = spawn(process.execPath, ["-e", stay + 'console.log("");'], { stdio: ["inherit", "pipe", "inherit"] });
child.stdout.once("data", () => {
  const pids = [process.pid, child.pid];
  if (process.argv[1]) require("node:fs").appendFileSync(process.argv[1], pids.join("\\n") + "\\n");
  send({ method: "notifications/started", params: { pids } });
});
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const serverInfo = { name: "stubborn", version: "1" };
  const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
  const tools = [{ name: "act", inputSchema: { type: "object" } }];
  if (method === "initialize") send({ id, result });
  else if (method === "tools/list") send({ id, result: { tools } });
  else if (id !== undefined && method !== "tools/call") send({ id, error: { code: -32601, message: "Unknown" } });
});`;

/** True if the process runs. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
