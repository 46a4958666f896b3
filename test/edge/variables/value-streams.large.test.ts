import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { call, get, newId, objectOf, problemIn } from "../../support/edge.ts";
import { blobsOf, rowsIn, runAlarm } from "../../support/storage.ts";
import { anyBytes, bytesOf, putAs, TEXT } from "../../support/values.ts";

// Tens of megabytes take longer on a busy machine.
/** Streams the pieces on demand, then ends, or fails with `fail`. */
function streamOf(pieces: Iterable<Uint8Array>, fail?: Error): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.iterator]();
  return new ReadableStream(
    {
      pull(controller) {
        const next = iterator.next();
        if (next.done !== true) controller.enqueue(next.value);
        else if (fail === undefined) controller.close();
        else controller.error(fail);
      },
    },
    { highWaterMark: 0 },
  );
}

function* repeated(piece: Uint8Array, times: number): Generator<Uint8Array> {
  for (let time = 0; time < times; time++) yield piece.slice();
}

/** A checksum that depends on every byte and on their order. */
class Digest {
  length = 0;
  #sum = 0;

  add(bytes: Uint8Array): this {
    let sum = this.#sum;
    for (let index = 0; index < bytes.length; index++)
      sum = Math.imul(sum, 31) + (bytes[index] ?? 0);
    this.#sum = sum | 0;
    this.length += bytes.length;
    return this;
  }

  get value(): string {
    return `${this.length} ${this.#sum}`;
  }
}

async function digestOf(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const digest = new Digest();
  for await (const bytes of body ?? []) digest.add(bytes);
  return digest.value;
}

/** Passes pieces through, and adds them to the digest. */
function* digested(pieces: Iterable<Uint8Array>, digest: Digest): Generator<Uint8Array> {
  for (const piece of pieces) {
    digest.add(piece);
    yield piece;
  }
}

/** Expects that the bucket contains only the values of variables. */
async function expectSwept(id: string, blobs: number): Promise<void> {
  const isSwept = async () => {
    await runAlarm(id);
    expect(await rowsIn(id, "garbage")).toEqual([]);
    expect(await blobsOf(id)).toHaveLength(blobs);
  };
  await vi.waitFor(isSwept, { interval: 50 });
}

it("90 MB of text are streamed in and out, and cut anywhere", async () => {
  const id = newId();
  const line = "The quick é€😀 fox.\n";
  const lines = 41_000;
  const piece = new TextEncoder().encode(line.repeat(lines));
  const times = Math.floor(90_000_000 / piece.length);
  const sent = new Digest();
  const body = streamOf(digested(repeated(piece, times), sent));
  const info = await (await putAs(id, "a", { body, type: TEXT })).json<VariableInfo>();
  const [characters, all] = [[...line].length, lines * times];
  expect(info).toMatchObject({ type: "string", location: "r2", bytes: sent.length });
  expect(info.count).toBe(characters * all);
  await evictDurableObject(objectOf(id));
  expect(await digestOf((await get(id, "a")).body)).toBe(sent.value);
  const from = characters * Math.floor(all * 0.8) + 10;
  const part = await get(id, `a?offset=${from}&limit=5`);
  expect(await part.text()).toBe("é€😀 f");
  const problem = await problemIn(await get(id, "a?path=[1:]"), "limit_exceeded");
  expect(problem).toMatchObject({ limit: "maxJsonBytes" });
});

describe("a value that is being read", () => {
  const old = anyBytes(6_000_000);

  async function begun(id: string, type = "video/mp4") {
    await putAs(id, "a", { body: old, type });
    const response = await get(id, "a");
    const reader = response.body?.getReader();
    if (reader === undefined) throw new Error("There is no body.");
    const first = await reader.read();
    const rest = async () => {
      const parts = [first.value ?? new Uint8Array()];
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        parts.push(read.value);
      }
      return Buffer.concat(parts);
    };
    return { reader, rest };
  }

  it("is released when its reader stops", async () => {
    const id = newId();
    const { reader } = await begun(id);
    await call("DELETE", `/conversations/${id}/variables/a`);
    expect(await blobsOf(id)).toHaveLength(1);
    await reader.cancel();
    await expectSwept(id, 0);
  });
});

it("an object that ends during an upload has nothing of the upload when it is back, and its old value unchanged", async () => {
  const id = newId();
  await putAs(id, "a", { body: anyBytes(100_000), type: "image/png" });
  const stuck = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array(20_000_000)),
  });
  const upload = putAs(id, "a", { body: stuck, type: "video/mp4" }).catch(() => undefined);
  await vi.waitFor(async () => expect(await rowsIn(id, "garbage")).toHaveLength(1));
  await runInDurableObject(objectOf(id), (_, state) => {
    setTimeout(() => state.abort("gone"), 0);
  });
  await upload;
  expect(await bytesOf(await get(id, "a"))).toEqual([...anyBytes(100_000)]);
  await expectSwept(id, 1);
});
