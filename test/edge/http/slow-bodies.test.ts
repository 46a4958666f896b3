import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as limits from "../../../src/limits.ts";
import { call, get, json, messagesOf, namesIn, newId, problemIn, put } from "../../support/edge.ts";
import { slow } from "../../support/slow.ts";
import { blobsOf } from "../../support/storage.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

const utf8 = new TextEncoder();

/** Creates a body whose pieces the test sends. */
function slowBody() {
  let isCancelled = false;
  let push: (text: string) => void = () => undefined;
  let end: () => void = () => undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      push = (text) => controller.enqueue(utf8.encode(text));
      end = () => controller.close();
    },
    cancel() {
      isCancelled = true;
    },
  });
  return { body, push, end, isCancelled: () => isCancelled };
}

/** Waits until everything is done that does not wait for a timer. */
async function settle(): Promise<void> {
  for (let round = 0; round < 20; round++) await new Promise((done) => setImmediate(done));
}

async function pass(milliseconds: number): Promise<void> {
  await settle();
  vi.advanceTimersByTime(milliseconds);
  await settle();
}

const text = "x".repeat(2_000);
const question = { role: "user", parts: [{ type: "text", text }] };

/** All routes that read a body. Each body is longer than what may arrive at once. */
const ways = (id: string) =>
  [
    ["POST", "/conversations", "application/json", JSON.stringify({ id, messages: [question] })],
    [
      "POST",
      `/conversations/${id}/messages`,
      "application/json",
      JSON.stringify({ message: text }),
    ],
    ["PUT", `/conversations/${id}/variables/v`, "application/json", JSON.stringify(text)],
    ["PUT", `/conversations/${id}/variables/v`, "text/plain", text],
    ["PUT", `/conversations/${id}/variables/v`, "application/x-ndjson", `1\n${text}\n`],
    ["PUT", `/conversations/${id}/variables/v`, "image/png", text.repeat(100)],
    ["PUT", `/conversations/${id}/variables/s?mode=append`, "application/json", `["${text}"]`],
    ["POST", "/conversations/import", "application/octet-stream", text],
    ["POST", "/conversations/import?part=1&of=2", "application/octet-stream", text],
    ["POST", `/conversations/${id}/plans`, "application/json", `{"calls":[],"a":"${text}"}`],
    ["POST", `/conversations/${id}/interpolate`, "application/json", JSON.stringify({ text })],
  ] as const;
const titles = ways("id").map(
  ([method, path, type], index) => [`${method} ${path} of ${type}`, index] as const,
);

describe("a body that stops", () => {
  it.each(titles)("times out, and blocks nobody: %s", async (_, index) => {
    const id = newId();
    await put(id, "s", []);
    const objects = (await env.BLOBS.list()).objects.length;
    const way = ways(id)[index];
    if (way === undefined) throw new Error("There is no such way.");
    const [method, path, type, whole] = way;
    const { body, push, isCancelled } = slowBody();
    const answer = call(method, path, { body, headers: { "content-type": type } });
    push(whole.slice(0, whole.length / 2));
    await pass(limits.silenceMs - 1);

    await put(id, "meanwhile", 1);
    expect(await (await get(id, "meanwhile")).json()).toBe(1);
    const asked = json({ message: "Hello" }, { accept: "text/plain" });
    const said = await call("POST", `/conversations/${id}/messages`, asked);
    expect(said.status).toBe(200);
    await said.text();

    await pass(1);
    const problem = await problemIn(await answer, "body_timeout");
    expect(problem.detail).toContain("30 s");
    expect(isCancelled()).toBe(true);
    expect(await namesIn(id)).toEqual(["s", "meanwhile"]);
    expect((await messagesOf(id)).messages).toHaveLength(2);
    expect(await blobsOf(id)).toEqual([]);
    expect((await env.BLOBS.list()).objects).toHaveLength(objects);
  });
});

describe("a body that nobody reads", () => {
  it("is cancelled, so that it blocks nobody", async () => {
    const { body, isCancelled } = slowBody();
    await problemIn(await call("POST", "/nothing", { body }), "not_found");
    await settle();
    expect(isCancelled()).toBe(true);
  });
});

describe("a body that trickles", () => {
  it("times out, however often one of its bytes arrives", slow, async () => {
    const id = newId();
    const { body, push } = slowBody();
    const headers = { "content-type": "text/plain" };
    const answer = call("PUT", `/conversations/${id}/variables/v`, { body, headers });
    const ended: number[] = [];
    void answer.finally(() => ended.push(Date.now()));
    const startMs = Date.now();
    while (ended.length === 0 && Date.now() - startMs < 10 * limits.silenceMs) {
      push("x");
      await pass(1_000);
    }
    expect(ended).toEqual([startMs + limits.silenceMs]);
    await problemIn(await answer, "body_timeout");
    expect(await namesIn(id)).toEqual([]);
  });

  it("is accepted while it makes progress, however long that takes", slow, async () => {
    const id = newId();
    const { body, push, end } = slowBody();
    const headers = { "content-type": "text/plain" };
    const answer = call("PUT", `/conversations/${id}/variables/v`, { body, headers });
    for (let piece = 0; piece < 20; piece++) {
      push("x".repeat(limits.minBodyBytes));
      await pass(limits.silenceMs - 1);
    }
    push("the end");
    end();
    expect((await answer).status).toBe(201);
    const value = await (await get(id, "v")).text();
    expect(value).toBe(`${"x".repeat(20 * limits.minBodyBytes)}the end`);
  });
});
