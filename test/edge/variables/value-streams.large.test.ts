import { runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { get, newId, objectOf } from "../../support/edge.ts";
import { blobsOf, rowsIn, runAlarm } from "../../support/storage.ts";
import { anyBytes, bytesOf, putAs } from "../../support/values.ts";

/** Expects that the bucket contains only the values of variables. */
async function expectSwept(id: string, blobs: number): Promise<void> {
  const isSwept = async () => {
    await runAlarm(id);
    expect(await rowsIn(id, "garbage")).toEqual([]);
    expect(await blobsOf(id)).toHaveLength(blobs);
  };
  await vi.waitFor(isSwept, { interval: 50 });
}

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
