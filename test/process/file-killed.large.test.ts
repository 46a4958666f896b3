import { rmSync } from "node:fs";
import { expect, it } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { temporaryFolder } from "../support/server.ts";
import { startWorkerServer } from "../support/worker-server.ts";

/** More than one part of an upload. */
const PIECE = new Uint8Array(4 * 1_048_576).fill(65);
const PIECES = 5;

it("a server killed while it replaces a file keeps the old one whole", async () => {
  const STATE_DIR = temporaryFolder();
  const server = await startWorkerServer({ STATE_DIR });
  const old = "old ".repeat(100_000);
  const path = "reports/a.txt";
  await createClient(server.url).conversation("c").files.put(path, old);
  const sent = Promise.withResolvers<void>();
  let pieces = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      // The body never ends.
      if (pieces === PIECES) return sent.resolve();
      pieces++;
      controller.enqueue(PIECE);
    },
  });
  const init = { method: "PUT", headers: { "content-type": "text/plain" }, body, duplex: "half" };
  const put = fetch(`${server.url}/conversations/c/files/${path}`, init as RequestInit);
  const cut = expect(put).rejects.toThrow("fetch failed");
  await sent.promise;
  await server.stop();
  await cut;
  const again = await startWorkerServer({ STATE_DIR });
  const { files } = createClient(again.url).conversation("c");
  expect(await (await files.open(path)).text()).toBe(old);
  expect((await files.list()).files).toMatchObject([{ path, bytes: old.length }]);
  await files.put(path, "new");
  expect(await (await files.open(path)).text()).toBe("new");
  await again.stop();
  rmSync(STATE_DIR, { recursive: true, force: true });
});
