import { expect, it } from "vitest";
import { unstable_startWorker as startWorker } from "wrangler";
import { ask } from "../src/ask.ts";

it("answers by reference", { timeout: 60_000 }, async () => {
  const dev = { logLevel: "error", server: { port: 0 }, inspector: false, persist: false } as const;
  const worker = await startWorker({ config: "wrangler.toml", dev });
  try {
    const { origin } = await worker.url;
    expect(await ask(origin, "List the tickets.")).toContain("T-1001");
  } finally {
    await worker.dispose();
  }
});
