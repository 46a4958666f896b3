import { describe, expect, it } from "vitest";
import cases from "../../../cases/workflows/plans.json" with { type: "json" };
import {
  approve,
  type Calls,
  type LawRun,
  offer,
  refused,
  runPlan,
  taken,
  underLaw,
} from "../../../support/plans-law.ts";

interface Expected {
  readonly input?: object;
  readonly state?: unknown;
  readonly skipped?: readonly string[];
  readonly failed?: readonly string[];
}

interface Case extends Expected {
  readonly name: string;
  readonly calls: Calls;
  readonly rejected?: readonly string[];
  readonly runs?: readonly Expected[];
}

function toolsThat(run: LawRun, status: string): readonly string[] {
  return run.calls.filter((call) => call.status === status).map(({ _tool }) => _tool);
}

describe("plans.json over HTTP", () => {
  it.each(cases.cases as readonly Case[])("$name", ({ calls, rejected, runs, ...one }) =>
    underLaw({}, async ({ own, seen }) => {
      if (rejected !== undefined) {
        const findings = await refused(offer(own, calls));
        expect(findings.map(({ code }) => code).toSorted()).toEqual(rejected.toSorted());
        expect(seen).toEqual([]);
        return;
      }
      const { id } = await taken(offer(own, calls));
      await approve(own, id);
      for (const { input, state, skipped = [], failed = [] } of runs ?? [one]) {
        const { run } = await runPlan(own, id, input === undefined ? {} : { input });
        expect(run.state).toEqual(state);
        expect(toolsThat(run, "skipped")).toEqual(skipped);
        expect(toolsThat(run, "failed")).toEqual(failed);
      }
    }),
  );
});
