import { expect, it } from "vitest";
import { problem } from "../../../src/edge/http/problem.ts";

it("says which lines are missing for an object without SQLite", async () => {
  // The error that workerd throws, from an object of another Worker.
  const platform = new Error(
    "Error: SQL is not enabled for this Durable Object class. To enable it, change `new_classes` to `new_sqlite_classes` within the 'migrations' field",
  );
  const response = problem(platform, { request: "GET /" });
  expect(response.status).toBe(501);
  expect(await response.json()).toMatchObject({
    code: "not_configured",
    detail: expect.stringContaining('new_sqlite_classes = ["Conversation", "Directory", "Tables"]'),
  });
});
