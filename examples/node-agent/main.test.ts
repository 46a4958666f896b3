import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("prints calls by reference and an answer by value", async () => {
  const { stdout, stderr } = await promisify(execFile)("node", ["main.ts"]);
  expect(stderr).toBe("");
  const [first, ...rest] = stdout.trimEnd().split("\n");
  expect(first).toBe("list_orders {}");
  expect(rest.at(-2)).toMatch(/^query_variables .*list_orders_1/);
  expect(rest.at(-1)).toBe("100 of 300 records of list_orders_1 have country DE.");
}, 60_000);
