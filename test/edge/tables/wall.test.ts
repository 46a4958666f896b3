import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { QueryEngine } from "../../../packages/query/src/query-engine.ts";
import { newId } from "../../support/edge.ts";
import { answerTo, leakIn, walled } from "../../../packages/query/test/wall.ts";
import { wallStatements } from "../../../packages/query/test/wall-statements.ts";

it.each([[undefined], [["p1"]], [["p1", "u1"]]])(
  "statements of a model show nothing sealed or secret in objects of their own, if the reader finds %j",
  { timeout: 60_000 },
  async (believed) => {
    const id = newId();
    const open = (authority: string): QueryEngine => {
      // The type of the namespace is that of the bound class, which the generated types do not include.
      const stub = env.TABLES.get(
        env.TABLES.idFromName(`${id} ${authority}`),
      ) as unknown as QueryEngine;
      return {
        run: (query) => stub.run(query),
        begin: (key) => stub.begin(key),
        add: (table, chunk) => stub.add(table, chunk),
        complete: (table, shape) => stub.complete(table, shape),
        keep: (keys) => stub.keep(keys),
      };
    };
    const { store, databases } = await walled({ believed, open });
    let done = 0;
    for (const sql of wallStatements) {
      const { text, trusted, isDone } = await answerTo(sql, store, databases);
      expect.soft(leakIn(text, trusted), sql).toBeUndefined();
      if (isDone) done++;
    }
    // Without checks, many of them run.
    expect(done).toBeGreaterThan(believed === undefined ? 0 : 30);
  },
);
