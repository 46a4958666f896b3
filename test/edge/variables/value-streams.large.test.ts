import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { call, get, namesIn, newId, objectOf, problemIn, put } from "../../support/edge.ts";
import { blobsOf, rowsIn, runAlarm } from "../../support/storage.ts";
import { anyBytes, bytesOf, getWith, NDJSON, putAs, TEXT } from "../../support/values.ts";

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

describe("90 MB", () => {
  it("of text are streamed in and out, and cut anywhere", async () => {
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

  it("of records are written as lines, and read as lines or as one array", async () => {
    const id = newId();
    const [times, perPiece] = [90, 1_000];
    function* records(): Generator<Uint8Array> {
      const text = "some text to fill é€ ".repeat(42);
      for (let time = 0; time < times; time++) {
        const lines = Array.from({ length: perPiece }, (_, index) => {
          return `${JSON.stringify({ id: time * perPiece + index, text })}\n`;
        });
        yield new TextEncoder().encode(lines.join(""));
      }
    }
    const sent = new Digest();
    const body = streamOf(digested(records(), sent));
    const info = await (await putAs(id, "a", { body, type: NDJSON })).json<VariableInfo>();
    const count = times * perPiece;
    expect(sent.length).toBeGreaterThan(85_000_000);
    expect(info).toMatchObject({ type: "array", count, bytes: sent.length, location: "r2" });
    expect(info.shape).toBe("{id: number, text: string}[]");
    await evictDurableObject(objectOf(id));
    const lines = await getWith(id, "a", { accept: NDJSON });
    expect(await digestOf(lines.body)).toBe(sent.value);
    const asArray = new Digest().add(new TextEncoder().encode("["));
    let index = 0;
    for (const piece of records()) {
      const isLast = ++index === times;
      const array = piece.map((byte) => (byte === 0x0a ? 0x2c : byte));
      if (isLast) array[array.length - 1] = 0x5d;
      asArray.add(array);
    }
    expect(await digestOf((await get(id, "a")).body)).toBe(asArray.value);
    expect(await (await get(id, `a?path=[${count - 1}].id`)).text()).toBe(String(count - 1));
    expect(await (await get(id, `a?offset=${count / 2}&limit=2&path=`)).json()).toMatchObject([
      { id: count / 2 },
      { id: count / 2 + 1 },
    ]);
  });
});

describe("a failed upload", () => {
  const failure = new Error("The client is gone.");

  it.each([
    ["text", TEXT, 0.001],
    ["text", TEXT, 20],
    ["lines", NDJSON, 20],
    ["bytes", "video/mp4", 0.001],
    ["bytes", "video/mp4", 20],
    ["JSON", "application/json", 1],
  ])("leaves nothing of %s (%s) after %d MB", async (_, type, megabytes) => {
    const id = newId();
    await put(id, "there", "before");
    const piece = new Uint8Array(megabytes * 100_000).fill(0x20);
    piece[0] = 0x31;
    piece[piece.length - 1] = type === NDJSON ? 0x0a : 0x20;
    for (const name of ["there", "new"]) {
      const body = streamOf(repeated(piece, 10), failure);
      const response = await putAs(id, name, { body, type }).catch(() => undefined);
      expect(response?.status ?? 500).toBeGreaterThanOrEqual(400);
    }
    expect(await (await get(id, "there")).text()).toBe("before");
    expect(await (await get(id, "there/info")).json()).toMatchObject({ version: 1 });
    expect(await namesIn(id)).toEqual(["there"]);
    await expectSwept(id, 0);
    expect(await rowsIn(id, "chunk")).toEqual([]);
  });
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

  const deleteIt = (id: string) => call("DELETE", `/conversations/${id}/variables/a`);

  it.each<readonly [string, (id: string) => Promise<unknown>]>([
    ["it is replaced by a large one", (id) => replace(id, anyBytes(9_000_000).reverse())],
    ["it is replaced by a small one", (id) => put(id, "a", 1)],
    ["it is deleted", deleteIt],
    ["all are reset", (id) => call("DELETE", `/conversations/${id}/variables`)],
  ])("if %s, arrives whole, as it was", async (_, change) => {
    const id = newId();
    const { rest } = await begun(id);
    await change(id);
    await deleteIt(id);
    await runAlarm(id);
    expect(Buffer.compare(await rest(), old)).toBe(0);
    await expectSwept(id, 0);
  });

  it("is released when its reader stops", async () => {
    const id = newId();
    const { reader } = await begun(id);
    await call("DELETE", `/conversations/${id}/variables/a`);
    expect(await blobsOf(id)).toHaveLength(1);
    await reader.cancel();
    await expectSwept(id, 0);
  });

  it("breaks off if its object is missing in the bucket, and is not held", async () => {
    const id = newId();
    await putAs(id, "a", { body: old, type: "video/mp4" });
    const [key = ""] = await blobsOf(id);
    const { env } = await import("cloudflare:workers");
    await env.BLOBS.delete(key);
    const response = await get(id, "a");
    expect(await bytesOf(response).catch(() => "broken off")).toBe("broken off");
    await call("DELETE", `/conversations/${id}/variables/a`);
    await expectSwept(id, 0);
  });

  function replace(id: string, body: Uint8Array<ArrayBuffer>): Promise<Response> {
    return putAs(id, "a", { body, type: "image/png" });
  }
});

describe("an object that ends during an upload", () => {
  it("has nothing of the upload when it is back, and its old value unchanged", async () => {
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
});
