import { describe, expect, it } from "vitest";
import { json } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { approved, planning, runOf } from "../../support/planning.ts";

const ROOT = "/conversations/c/plans";

const gated = [
  { _tool: "echo", _id: "gated", value: "†approvals.legal", _outputPath: "†state.gated" },
];

describe("bounds of plans", () => {
  it("findings are bounded", async () => {
    await withRuntime(planning(), async (own) => {
      const calls = Array.from({ length: 200 }, () => ({
        _tool: "echo",
        value: 1,
        _outputPath: Array.from({ length: 5 }, () => "†x").join("&&"),
      }));
      const response = await own.call("POST", ROOT, json({ calls }));
      expect(response.status).toBe(422);
      const said = await response.text();
      expect(said.length).toBeLessThan(100_000);
    });
  });

  it("what is said of a wrong input is bounded", async () => {
    await withRuntime(planning(), async (own) => {
      const options = Array.from({ length: 1_000 }, (_, index) => `option-${index}`);
      const input = { type: "array", items: { enum: options } };
      const id = await approved(own, [{ _tool: "echo", value: "†input" }], { input });
      const wrong = Array.from({ length: 300 }, () => 0);
      const response = await own.call("POST", `${ROOT}/${id}/run`, json({ input: wrong }));
      expect(response.status).toBe(422);
      expect((await response.text()).length).toBeLessThan(100_000);
    });
  });

  it("listing many plans", async () => {
    await withRuntime(planning(), async (own) => {
      await own.call("PUT", "/conversations/c/variables/v", json("w".repeat(490)));
      const value = Array.from({ length: 900 }, () => "†v").join(" ");
      const calls = Array.from({ length: 200 }, () => ({ _tool: "echo", value }));
      await own.call("POST", ROOT, json({ calls }));
      const response = await own.call("GET", ROOT);
      const { length } = await response.text();
      expect(length).toBeLessThan(10_000_000);
    });
  });

  it("a list of plans does not read what their runs came to", async () => {
    await withRuntime(planning(), async (own) => {
      const id = await approved(own, [{ _tool: "echo", value: "†input", _outputPath: "†state.x" }]);
      const input = "x".repeat(500_000);
      for (let run = 0; run < 3; run++) await runOf(own, id, { input, keep: false });
      const { sql } = own.state.storage;
      const read: string[] = [];
      const real = sql.exec.bind(sql);
      Object.defineProperty(sql, "exec", {
        value: (statement: string, ...given: unknown[]) => {
          read.push(statement);
          return real(statement, ...given);
        },
      });
      await (await own.call("GET", ROOT)).text();
      expect(read.filter((statement) => statement.includes("input, data, state"))).toEqual([]);
    });
  });

  it("too large an input is refused with a status", async () => {
    await withRuntime(planning(), async (own) => {
      const id = await approved(own, [{ _tool: "echo", value: 1, _outputPath: "†state.x" }]);
      const response = await own.call(
        "POST",
        `${ROOT}/${id}/run`,
        json({ input: "x".repeat(1_200_000) }),
      );
      expect([response.status, (await response.text()).slice(0, 300)]).toEqual([
        413,
        expect.anything(),
      ]);
    });
  });

  it("const and enum compare values, whatever the order of their keys", async () => {
    await withRuntime(planning(), async (own) => {
      const input = { const: { a: 1, b: 2 } };
      const id = await approved(own, [{ _tool: "echo", value: "†input" }], { input });
      const response = await own.call(
        "POST",
        `${ROOT}/${id}/run`,
        json({ input: { b: 2, a: 1 } }, { accept: "application/json" }),
      );
      expect(response.status).toBe(200);
    });
  });

  it("runs of one plan that wait are so many, and what they were given is not read for nothing", async () => {
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
  });
});
