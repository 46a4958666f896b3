import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool } from "ai";
import { afterEach, beforeEach, expect, it } from "vitest";
import * as z from "zod";
import { sqliteStore, wrapTools } from "../../src/agent.ts";
import { slow } from "../../../../test/support/slow.ts";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "store-"));
  file = join(folder, "variables.sqlite");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("keeps variables from one process to the next, large ones too", slow, async () => {
  const large = "0123456789".repeat(1_200_000);
  const first = sqliteStore(file);
  await first.save({ name: "orders", value: [{ id: "a" }, { id: "b" }] });
  await first.save({ name: "page", value: large });
  first.close();
  const second = sqliteStore(file);
  expect(second.list().map(({ name }) => name)).toEqual(["orders", "page"]);
  expect((await second.read("page")) === large).toBe(true);
  const take = tool({
    inputSchema: z.object({ id: z.string() }),
    execute: ({ id }) => `It is ${id}.`,
  });
  const { execute } = wrapTools({ take }, { store: second }).take;
  const output = await execute(
    { id: "$orders[1].id" },
    { toolCallId: "1", messages: [], context: {} },
  );
  expect(output).toMatchObject({ value: "It is b." });
  second.close();
});

it(
  "has one owner: another process gets an error that the file is in use, and may open it afterwards",
  slow,
  async () => {
    const store = sqliteStore(file);
    await store.save({ name: "a", value: 1 });
    const other = () =>
      execFileSync(
        process.execPath,
        [
          "--input-type=module",
          "-e",
          `import { sqliteStore } from ${JSON.stringify(new URL("../../src/agent.ts", import.meta.url).href)};
         try { console.log(sqliteStore(${JSON.stringify(file)}).list().length); }
         catch (error) { console.log(error.code, error.message); }`,
        ],
        { encoding: "utf8" },
      );
    expect(other()).toContain(`conflict ${file} is in use by another process`);
    await store.save({ name: "b", value: 2 });
    store.close();
    expect(other().trim()).toBe("2");
  },
);
