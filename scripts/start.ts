/** The main job: `npm start`. Settings come from the environment; docs/guides/operating.md names them. */
import { codeOf, messageOf } from "../src/errors.ts";
import { modelKinds, modelNamed } from "../src/edge/models/model-settings.ts";
import { readSettings } from "../src/edge/settings.ts";
import { startLocalWorker } from "./local-worker.ts";
import { stopSignal } from "./stop-signal.ts";

const port = portFrom(process.env.PORT ?? "8787");
const stateDir = process.env.STATE_DIR ?? ".wrangler/state";
const auth = process.env.AUTH || "none";
// The listener in front has a secret of its own making.
const settings = { ...process.env, AUTH: auth, LOCAL_SECRET: undefined };

const stopping = stopSignal();

try {
  modelNamed(readSettings(settings), modelKinds);
  const listen = auth === "none" ? "loopback" : "everywhere";
  const worker = await startLocalWorker({
    port,
    stateDir,
    settings,
    listen,
    say: (line) => console.log(line),
    signal: stopping,
  });
  console.log(`ready ${worker.url}`);
  console.log(
    `\nOpen ${worker.url} in a browser, or ask from here:\n\n  ${exampleFor(worker.url)}\n`,
  );
  console.log(`Ctrl-C stops it; the conversations stay in ${stateDir}.`);
  const code = await worker.exited;
  process.exit(stopping.aborted ? 0 : code);
} catch (error) {
  if (stopping.aborted) process.exit(0);
  const code = codeOf(error);
  console.error(code === "internal" ? messageOf(error) : `${code}: ${messageOf(error)}`);
  process.exit(1);
}

function portFrom(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  console.error(`PORT must be a number from 1 to 65535, not ${text}.`);
  process.exit(1);
}

function exampleFor(url: string): string {
  const key = auth === "none" ? "" : ` -H 'authorization: Bearer <key>'`;
  return `curl ${url}/conversations/first/messages${key} -H 'accept: text/plain' --json '{"message": "What is the weather in NYC?"}'`;
}
