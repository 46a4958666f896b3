import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { ask, call, json, messagesOf, newId, objectOf, put } from "../support/edge.ts";
import { slow } from "../support/slow.ts";

describe("an object that was evicted", () => {
  it("has its messages in both forms, and continues with them", async () => {
    const id = newId();
    await ask(id, "Weather in NYC?");
    const display = await messagesOf(id);
    const reference = await messagesOf(id, "?form=reference");
    await evictDurableObject(objectOf(id));
    expect(await messagesOf(id)).toEqual(display);
    expect(await messagesOf(id, "?form=reference")).toEqual(reference);
    expect(display.messages).toHaveLength(2);
    await evictDurableObject(objectOf(id));
    // The weather of New York is known only from the history.
    const { message, variables } = await ask(id, "Compare it with London");
    expect(JSON.stringify(message.parts)).toContain("$get_weather_nyc");
    expect(variables.map(({ name }) => name)).toContain("compare_weather_1");
    expect((await messagesOf(id)).messages).toHaveLength(4);
  });
});

describe("what is written", () => {
  it("is counted exactly in a turn's cost", async () => {
    const id = newId();
    const { cost } = await ask(id, "Weather in NYC?", { input: { a: 1 } });
    const rows = await runInDurableObject(objectOf(id), (_, { storage: { sql } }) => {
      const count = (table: string) => sql.exec(`SELECT * FROM ${table}`).toArray().length;
      return count("message") + count("variable") + count("event");
    });
    expect(rows).toBe(5);
    const turnRows = ["begin", "step", "results", "end"].length;
    expect(cost.rowsWritten).toBe(rows + turnRows + (cost.alarms ?? 0));
  });

  it("leaves nothing of a large value that was replaced, deleted or reset", async () => {
    const id = newId();
    const chunks = () =>
      runInDurableObject(objectOf(id), (_, { storage: { sql } }) =>
        sql.exec("SELECT * FROM chunk").toArray(),
      );
    const large = "x".repeat(limits.maxRowBytes + 1);
    const remove = (rest: string) => call("DELETE", `/conversations/${id}/variables${rest}`);
    for (const name of ["a", "a", "b", "c"]) await put(id, name, large);
    expect(await chunks()).toHaveLength(4);
    // A variable keeps two earlier versions.
    for (const left of [4, 3, 2]) {
      await put(id, "a", "small");
      expect(await chunks()).toHaveLength(left);
    }
    await remove("/b");
    expect(await chunks()).toHaveLength(1);
    for (const name of ["c", "d"]) await put(id, name, large);
    expect(await chunks()).toHaveLength(3);
    await remove("/c");
    expect(await chunks()).toHaveLength(1);
    await put(id, "d", "small");
    await remove("");
    expect(await chunks()).toEqual([]);
  });

  it("has no row that is too large for the platform", slow, async () => {
    const id = newId();
    for (const size of [1_900_000, 3_000_000]) {
      const init = json({ message: "x".repeat(size) }, { accept: "text/plain" });
      await (await call("POST", `/conversations/${id}/messages`, init)).text();
    }
    await put(id, "a", "€".repeat(3_000_000));
    const largest = await runInDurableObject(objectOf(id), (_, { storage: { sql } }) => {
      const bytesOf = (table: string, column: string) =>
        sql
          .exec<{ bytes: number | null }>(
            `SELECT max(length(CAST(${column} AS BLOB))) AS bytes FROM ${table}`,
          )
          .one().bytes;
      return [bytesOf("message", "body"), bytesOf("chunk", "bytes"), bytesOf("variable", "value")];
    });
    for (const bytes of largest) expect(bytes ?? 0).toBeLessThanOrEqual(limits.maxSqlValueBytes);
  });
});
