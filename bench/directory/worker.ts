import { type DirectoryEntry, DirectoryObject } from "../../src/edge/directory/directory.ts";
import { answerMeter, metered, type MeterEnv } from "../meter.ts";
import type { Drive, Driven } from "./drive.ts";

/** A Worker with a real Directory and its clients, which call it as conversations do. */

interface Env extends Cloudflare.Env, MeterEnv {
  readonly DIRECTORY: DurableObjectNamespace<Directory>;
}

export class Directory extends DirectoryObject {
  constructor(state: DurableObjectState, env: Env) {
    super(metered(state, env), env);
  }

  bytes(): number {
    return this.ctx.storage.sql.databaseSize;
  }

  /** Adds entries from this number on, in one call. */
  fill(from: number, count: number): void {
    this.ctx.storage.transactionSync(() => {
      for (let number = from; number < from + count; number++) this.put(entryOf(number, number));
    });
  }
}

type Stub = DurableObjectStub<Directory>;

const TICK_MS = 5;
/** Prime to the number of entries, so that all are written in turn, far apart. */
const STRIDE = 7_919;

/** A conversation's entry, as its object sends it. */
function entryOf(number: number, updatedMs: number): DirectoryEntry {
  // As long as the ids that clients create.
  const id = `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
  const title = `A question about order ${number} and its delivery`;
  return { id, title, createdMs: 1_700_000_000_000, updatedMs: 1_700_000_000_000 + updatedMs };
}

async function drive(stub: Stub, options: Drive): Promise<Driven> {
  const { writesPerSecond, clients, seconds, entries } = options;
  const latenciesMs: number[] = [];
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  let sent = 0;
  const write = async (dueMs: number) => {
    const number = sent++;
    await stub.put(entryOf((number * STRIDE) % entries, entries + number));
    latenciesMs.push(performance.now() - dueMs);
  };
  if (writesPerSecond === 0) {
    const client = async () => {
      while (performance.now() < endMs) await write(performance.now());
    };
    await Promise.all(Array.from({ length: clients }, client));
    return { latenciesMs, elapsedMs: performance.now() - startMs };
  }
  const pending: Promise<void>[] = [];
  const total = writesPerSecond * seconds;
  while (pending.length < total) {
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    const due = Math.min(total, ((performance.now() - startMs) * writesPerSecond) / 1_000);
    while (pending.length < Math.floor(due)) {
      pending.push(write(startMs + (pending.length * 1_000) / writesPerSecond));
    }
  }
  await Promise.all(pending);
  return { latenciesMs, elapsedMs: performance.now() - startMs };
}

/** Timed by the caller, because this clock does not advance between two calls within one isolate. */
async function lists(stub: Stub, count: number): Promise<number> {
  for (let number = 0; number < count; number++) await stub.list({ limit: 20 });
  return count;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const meter = answerMeter(request, env);
    if (meter !== undefined) return meter;
    const [, name = "", action] = new URL(request.url).pathname.split("/");
    const stub: Stub = env.DIRECTORY.get(env.DIRECTORY.idFromName(name));
    if (action === "bytes") return Response.json(await stub.bytes());
    if (action === "lists") {
      const { count } = await request.json<{ count: number }>();
      return Response.json(await lists(stub, count));
    }
    if (action === "fill") {
      const { from, count } = await request.json<{ from: number; count: number }>();
      await stub.fill(from, count);
      return Response.json(count);
    }
    if (action === "drive") return Response.json(await drive(stub, await request.json<Drive>()));
    return new Response("Not found", { status: 404 });
  },
};
