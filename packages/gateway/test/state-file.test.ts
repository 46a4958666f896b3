import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { StateFile } from "../src/cli/state.ts";
import { NO_COUNTS } from "../src/gateway-state.ts";
import { slow } from "../../../test/support/slow.ts";

let folder = "";
let file = "";
let log: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "byref-statistics-"));
  file = join(folder, "gateway.sqlite");
  log = [];
});

const open = () => new StateFile(folder, (line) => log.push(line));

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

it("the key for what clients send back is that of the workspace", () => {
  const [key, same] = [open().signingKey(), open().signingKey()];
  expect(key).toHaveLength(32);
  expect(same).toEqual(key);
});

describe("counts in a file", () => {
  it("adds up what two processes count at once", slow, async () => {
    await Promise.all([counting(), counting()]);
    expect(open().read()).toEqual({ ...NO_COUNTS, calls: 400, charactersSent: 1_200 });
  });

  it.each([
    [
      "text",
      () => writeFileSync(file, "This is no database, but a text of some length.".repeat(99)),
    ],
    ["cut off", () => truncateSync(file, statSync(file).size - 4_096)],
  ])("starts over if it is damaged (%s), and keeps the damaged file", (_what, damage) => {
    const first = open();
    first.add({ calls: 1 });
    first.close();
    damage();
    const damaged = readFileSync(file);
    const again = open();
    expect(log).toEqual([expect.stringContaining("damaged")]);
    again.add({ calls: 3 });
    expect(again.read().calls).toBe(3);
    expect(readFileSync(`${file}.damaged`)).toEqual(damaged);
  });

  it("fails no call while another process has locked it", slow, () => {
    const statistics = open();
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    statistics.add({ calls: 1 });
    expect(log).toEqual([expect.stringContaining("locked")]);
    other.exec("COMMIT");
    statistics.add({ calls: 1 });
    expect(statistics.read().calls).toBe(1);
  });
});
