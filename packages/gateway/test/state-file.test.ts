import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { StateFile } from "../src/cli/state.ts";
import { NO_COUNTS } from "../src/gateway-state.ts";
import { slow } from "../../../test/support/slow.ts";

const folder = mkdtempSync(join(tmpdir(), "byref-statistics-"));

/** Counts 200 calls in a separate process. */
async function counting(): Promise<void> {
  const source = new URL("../src/cli/state.ts", import.meta.url).href;
  const program = `
    const { StateFile } = await import(${JSON.stringify(source)});
    const statistics = new StateFile(${JSON.stringify(folder)}, (line) => { throw new Error(line); });
    for (let count = 0; count < 200; count++) statistics.add({ calls: 1, charactersSent: 3 });
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
}

it("counts in a file add up what two processes count at once", slow, async () => {
  await Promise.all([counting(), counting()]);
  const counts = new StateFile(folder, () => undefined).read();
  expect(counts).toEqual({ ...NO_COUNTS, calls: 400, charactersSent: 1_200 });
});
