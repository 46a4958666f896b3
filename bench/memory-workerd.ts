import { execFileSync } from "node:child_process";
import {
  bytePieces,
  recordPieces,
  streamOf,
  textPieces,
} from "../test/support/large-conversation.ts";
import { startServer } from "../test/support/server.ts";

const MIB = 1_048_576;
const SAMPLE_MS = 100;
const TEXT = "text/plain";

/** 300 MiB in values of 20 to 90 MiB; over the quota of 256 MiB the oldest are evicted. */
const bodies = [
  { name: "records_20", mediaType: "application/x-ndjson", pieces: () => recordPieces(20 * MIB) },
  { name: "text_40", mediaType: TEXT, pieces: () => textPieces(40 * MIB) },
  { name: "bytes_60", mediaType: "application/octet-stream", pieces: () => bytePieces(60 * MIB) },
  { name: "records_90", mediaType: "application/x-ndjson", pieces: () => recordPieces(90 * MIB) },
  { name: "text_90", mediaType: TEXT, pieces: () => textPieces(90 * MIB) },
] as const;

/**
 * Measures the memory of the workerd processes of `npm start` before, during and after writes of 300 MiB over
 * HTTP, reads of parts, and one turn of the demo model.
 */
export async function measureWorkerd(): Promise<void> {
  const server = await startServer();
  const conversation = `${server.url}/conversations/large`;
  try {
    await turn(conversation);
    const rss = new RssWatch();
    console.log(
      `${"".padEnd(34)}${["ms", "before, MB", "peak, MB", "after, MB"].map(cell).join("")}`,
    );
    for (const { name, mediaType, pieces } of bodies) {
      const variable = `${conversation}/variables/${name}`;
      await rss.during(`PUT ${name}`, () =>
        put(variable, { mediaType, pieces: streamOf(pieces()) }),
      );
    }
    // Would show unbounded growth.
    for (const time of ["again", "a third time"]) {
      const pieces = streamOf(textPieces(90 * MIB));
      const variable = `${conversation}/variables/text_90`;
      await rss.during(`PUT text_90 ${time}`, () => put(variable, { mediaType: TEXT, pieces }));
    }
    const reads = {
      "GET a list": "",
      "GET records_90 ?path=[0:10]": "/records_90?path=%5B0:10%5D",
      "GET records_90 ?path=[-1]": "/records_90?path=%5B-1%5D",
      "GET records_90 ?path=[*].id": "/records_90?path=%5B*%5D.id",
      "GET text_90 ?offset=1000000": "/text_90?offset=1000000&limit=1000",
      "GET records_90, all of it": "/records_90",
      "GET text_90, all of it": "/text_90",
    };
    for (const [name, path] of Object.entries(reads))
      await rss.during(name, () => get(`${conversation}/variables${path}`));
    await rss.during("POST a message", () => turn(conversation));
  } finally {
    await server.stop();
  }
}

class RssWatch {
  /** Prints the memory of the processes before the work, at its peak, and a second later. */
  async during(name: string, work: () => Promise<void>): Promise<void> {
    const before = rssOfWorkerd();
    let peak = before;
    const look = () => {
      peak = Math.max(peak, rssOfWorkerd());
    };
    const timer = setInterval(look, SAMPLE_MS);
    const startMs = performance.now();
    await work().finally(() => clearInterval(timer));
    const ms = performance.now() - startMs;
    look();
    await new Promise((done) => setTimeout(done, 1_000));
    const figures = [ms, before, peak, rssOfWorkerd()].map((figure) => figure.toFixed(0));
    console.log(name.padEnd(34) + figures.map(cell).join(""));
  }
}

function cell(text: string): string {
  return text.padStart(12);
}

/** Memory of all workerd processes that descend from this one, in MB. */
function rssOfWorkerd(): number {
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid=,rss=,comm="])
    .toString()
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  const family = new Set([String(process.pid)]);
  let total = 0;
  // Parents have smaller ids than their children, unless ids have wrapped around.
  for (const [pid = "", parent = "", rssKib = "0", command = ""] of rows) {
    if (!family.has(parent)) continue;
    family.add(pid);
    if (command.startsWith("workerd")) total += Number(rssKib) * 1_024;
  }
  return total / 1e6;
}

interface Body {
  readonly mediaType: string;
  readonly pieces: ReadableStream<Uint8Array>;
}

async function put(variable: string, { mediaType, pieces: body }: Body): Promise<void> {
  const headers = { "content-type": mediaType };
  // Node requires this option for a streamed body: the response begins after the whole body.
  const init: RequestInit & { readonly duplex: "half" } = {
    method: "PUT",
    headers,
    body,
    duplex: "half",
  };
  await drain(await fetch(variable, init));
}

async function get(url: string): Promise<void> {
  await drain(await fetch(url));
}

async function turn(conversation: string): Promise<void> {
  const response = await fetch(`${conversation}/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/plain" },
    body: JSON.stringify({ message: "What is the weather in NYC?" }),
  });
  await drain(response);
}

async function drain(response: Response): Promise<void> {
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  for await (const _ of response.body ?? []);
}
