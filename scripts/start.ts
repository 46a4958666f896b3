/** Starts the local server: `npm start`. Settings come from the environment; see docs/guides/operating.md. */
import { modelKinds, modelNamed } from "../src/edge/models/model.ts";
import { readSettings } from "../src/edge/settings.ts";
import { startLocalServer } from "./local-server.ts";
import { portFromEnvironment, runStartScript } from "./start-script.ts";

const stateDir = process.env.STATE_DIR ?? ".wrangler/state";
const auth = process.env.AUTH || "none";
// The listener in front creates its own secret.
const settings = { ...process.env, AUTH: auth, LOCAL_SECRET: undefined };

await runStartScript(async (signal) => {
  const port = portFromEnvironment();
  modelNamed(readSettings(settings), modelKinds);
  const listen = auth === "none" ? "loopback" : "everywhere";
  const log = (line: string) => console.log(line);
  const worker = await startLocalServer({ port, stateDir, settings, listen, log, signal });
  console.log(`ready ${worker.url}`);
  console.log(
    `\nOpen ${worker.url} in a browser, or ask from here:\n\n  ${exampleFor(worker.url)}\n`,
  );
  console.log(`Ctrl-C stops it; the conversations stay in ${stateDir}.`);
  const code = await worker.exited;
  if (!signal.aborted) console.error("wrangler has ended, so the server stops.");
  return code === 0 ? 1 : code;
});

function exampleFor(url: string): string {
  const key = auth === "none" ? "" : ` -H 'authorization: Bearer <key>'`;
  return `curl ${url}/conversations/first/messages${key} -H 'accept: text/plain' --json '{"message": "What is the weather in NYC?"}'`;
}
