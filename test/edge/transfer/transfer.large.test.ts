import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ask, call, get, messagesOf, newId, objectOf } from "../../support/edge.ts";
import { fork, importFile, remove } from "../../support/transfer.ts";
import { putAs } from "../../support/values.ts";

const MIB = 1_048_576;
/** Together more than one request may have, when they are base64. */
const VALUE_BYTES = 40 * MIB;
const NAMES = ["one", "two"];

function* pieces(bytes: number, seed: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes; at += 65_536) {
    yield new Uint8Array(65_536).fill(((at >>> 16) * 31 + seed) % 251);
  }
}

function streamOf(parts: Iterator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull(controller) {
      const { done, value } = parts.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

async function digestOf(response: Response): Promise<string> {
  const digest = new crypto.DigestStream("SHA-256");
  await response.body?.pipeTo(digest);
  return new Uint8Array(await digest.digest).join();
}

/** Splits the stream into bodies of this size; each is read before the next begins. */
async function* bodiesOf(stream: ReadableStream<Uint8Array>, size: number) {
  const reader = stream.getReader();
  let read = await reader.read();
  while (!read.done) {
    let left = size;
    yield new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (left === 0 || read.done) return controller.close();
        const taken = read.value.subarray(0, left);
        left -= taken.length;
        controller.enqueue(taken);
        const rest = read.value.subarray(taken.length);
        read = rest.length > 0 ? { done: false, value: rest } : await reader.read();
      },
    });
  }
}

it("a conversation that is larger than a request is exported in one stream, imported in parts, and forked", async () => {
  const id = newId();
  await ask(id, "Weather in NYC?");
  for (const [seed, name] of NAMES.entries()) {
    const body = streamOf(pieces(VALUE_BYTES, seed));
    const response = await putAs(id, name, { body, type: "application/octet-stream" });
    expect([response.status, await response.json()]).toMatchObject([201, { name }]);
  }
  const digests: string[] = [];
  for (const name of NAMES) digests.push(await digestOf(await get(id, name)));
  const copy = newId();
  expect(await fork(id, { id: copy })).toBe(copy);
  await remove(id);
  const exported = await call("GET", `/conversations/${copy}/export`);
  let part = 0;
  let upload = "";
  // 107 MiB of base64, and a little more, in parts of 40 MiB.
  const of = 3;
  for await (const body of bodiesOf(exported.body ?? new ReadableStream(), 40 * MIB)) {
    part++;
    const known = upload === "" ? "" : `&import=${upload}`;
    const response = await importFile(body, `?part=${part}&of=${of}${known}`);
    const answer = await response.json<{ readonly import?: string; readonly id?: string }>();
    upload = answer.import ?? upload;
    expect([part, response.status]).toEqual([part, part === of ? 201 : 202]);
    if (answer.id !== undefined) {
      expect((await messagesOf(answer.id)).messages.length).toBe(2);
      for (const [index, name] of NAMES.entries()) {
        expect(await digestOf(await get(answer.id, name))).toBe(digests[index]);
      }
      await remove(answer.id);
    }
  }
  expect(part).toBe(of);
  await remove(copy);
  const left = await env.BLOBS.list();
  expect(left.objects.filter(({ key }) => key.startsWith(`${objectOf(id).id}`))).toEqual([]);
  expect(left.objects).toEqual([]);
});
