import { describe, expect, it } from "vitest";
import { json } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { approved, planning, runOf } from "../../support/planning.ts";
import { slow } from "../../support/slow.ts";
import { finish, type ScriptedModel, text } from "../../../packages/testing/src/testing.ts";

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

const PLANS = "/conversations/c/plans";

/** Unit tests are in `test/plan`. Here a bucket stores the files. */
it("a template's steps write, extend and read files of the conversation's folder", async () => {
  const says = ["alpha", "beta", "One.", "Two.", "Read."].map((said) => [text(said), finish()]);
  const options = planning({}, { steps: says });
  const body = [
    "## A\n@output file:notes/a.md\n@write-mode replace\nA.",
    "## B\n@output file:notes/b-{today}.md\nB.",
    "## C\n@output file:notes/c.md\nC.",
    "## D\n@output file:notes/c.md\nD.",
    "## E\n@input file:notes/*.md (required)\nRead.",
  ].join("\n");
  await withRuntime(options, async (own) => {
    const init = { body, headers: { "content-type": "text/markdown" } };
    const { id } = await (await own.call("POST", PLANS, init)).json<{ id: string }>();
    await own.call("POST", `${PLANS}/${id}/approve`);
    expect((await runOf(own, id)).status).toBe("done");
    const { calls } = options.model as ScriptedModel;
    const prompt = JSON.stringify(calls[4]?.prompt);
    for (const part of ["alpha", "beta", "One.\\n\\nTwo."]) expect(prompt).toContain(part);
    expect(prompt).toMatch(/notes\/b-\d{4}-\d\d-\d\d\.md/);
  });
});
