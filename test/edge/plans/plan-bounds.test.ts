import { describe, expect, it } from "vitest";
import { json } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { approved, planning } from "../../support/planning.ts";
import { slow } from "../../support/slow.ts";

const ROOT = "/conversations/c/plans";

const gated = [
  { _tool: "echo", _id: "gated", value: "†approvals.legal", _outputPath: "†state.gated" },
];

describe("bounds of plans", () => {
  it(
    "waiting runs of a plan are limited, and their inputs are not read needlessly",
    slow,
    async () => {
      await withRuntime(planning(), async (own) => {
        const id = await approved(own, gated);
        const init = () => json({ input: "x".repeat(1_000_000) }, { accept: "application/json" });
        const statuses = new Set<number>();
        for (let run = 0; run < 55; run++) {
          const response = await own.call("POST", `${ROOT}/${id}/run`, init());
          statuses.add(response.status);
          await response.body?.cancel();
        }
        const { sql } = own.state.storage;
        const real = sql.exec.bind(sql);
        let chars = 0;
        Object.defineProperty(sql, "exec", {
          configurable: true,
          value: (statement: string, ...given: unknown[]) => {
            const cursor = real(statement, ...given);
            if (!statement.includes("open = 1")) return cursor;
            const rows = cursor.toArray();
            chars += JSON.stringify(rows).length;
            return Object.assign(Object.create(null), {
              toArray: () => rows,
              rowsRead: 0,
              rowsWritten: 0,
            }) as typeof cursor;
          },
        });
        await own.call("GET", "/conversations/c");
        expect([[...statuses].some((status) => status >= 400), chars < 100_000]).toEqual([
          true,
          true,
        ]);
      });
    },
  );
});
