import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { json } from "../../../support/edge.ts";
import {
  approve,
  carryOut,
  dataIn,
  offer,
  planAt,
  PLANS,
  problemOf,
  refused,
  runPlan,
  startRun,
  statuses,
  taken,
  withPlanner,
  until,
  valueOf,
} from "../../../support/plan-requests.ts";
import { framesIn } from "../../../support/turn-client.ts";

const greet = { _id: "g", _tool: "echo", value: "†input.who", _outputPath: "†state.greeting" };
const echo = (id: string, value: unknown, _outputPath: string) => ({
  _id: id,
  _tool: "echo",
  value,
  _outputPath,
});
const plain = { _id: "p", _tool: "echo", value: 1, _outputPath: "†state.one" };

describe("proposing", () => {
  it("answers 201 with id, status, calls and findings", () =>
    withPlanner({}, async ({ own }) => {
      const plan = await taken(offer(own, [greet, { _tool: "echo", value: 2 }], { name: "n" }));
      expect(plan).toMatchObject({ id: expect.any(String), status: "proposed", findings: [] });
      expect(plan.calls).toHaveLength(2);
      expect(plan.calls[0]).toMatchObject({ _id: "g", _tool: "echo", status: expect.any(String) });
      expect(plan.calls[1]).toMatchObject({ _id: expect.any(String), _tool: "echo" });
    }));

  it("gives calls without an id one each", () =>
    withPlanner({}, async ({ own }) => {
      const two = [
        { _tool: "echo", value: 1 },
        { _tool: "echo", value: 2 },
      ];
      const { calls } = await taken(offer(own, two));
      expect(new Set(calls.map(({ _id }) => _id)).size).toBe(2);
    }));

  it.each([
    ["no JSON", "{", "application/json"],
    ["a list", "[]", "application/json"],
    ["no calls", "{}", "application/json"],
    ["calls that are none", '{"calls":"x"}', "application/json"],
    ["a call without a tool", '{"calls":[{"value":1}]}', "application/json"],
    [
      "an output path that is no text",
      '{"calls":[{"_tool":"echo","_outputPath":7}]}',
      "application/json",
    ],
    ["another content type", "calls", "image/png"],
  ])("refuses %s with a problem", (_, body, type) =>
    withPlanner({}, async ({ own }) => {
      await problemOf(own.call("POST", PLANS, { body, headers: { "content-type": type } }));
    }),
  );
});

describe("findings", () => {
  it("come all at once, each with its own call", () =>
    withPlanner({}, async ({ own, seen }) => {
      const findings = await refused(
        offer(own, [
          { _id: "a", _tool: "nope", _outputPath: "†state.a" },
          echo("b", "†state.nowhere", "†input.b"),
          { _id: "c", _tool: "add", a: true, b: 1 },
          echo("d", "†state.e", "†state.d"),
          echo("e", "†state.d", "†state.e"),
          echo("f", 1, "†state.f"),
          echo("g", 1, "†state.f"),
        ]),
      );
      const of = (code: string) => findings.filter((one) => one.code === code);
      expect(of("unknown_tool")).toMatchObject([{ call: "a" }]);
      expect(of("no_producer")).toMatchObject([{ call: "b" }]);
      expect(of("bad_output_path")).toMatchObject([{ call: "b" }]);
      expect(of("cycle")).toHaveLength(1);
      expect(of("duplicate_producer")).toHaveLength(1);
      expect(findings.some(({ call }) => call === "c")).toBe(true);
      expect(findings).toHaveLength(6);
      expect(seen).toEqual([]);
    }));

  it("leave no plan behind", () =>
    withPlanner({}, async ({ own }) => {
      await refused(offer(own, [{ _tool: "nope" }]));
      expect(await (await own.call("GET", PLANS)).json()).toEqual({ plans: [] });
    }));
});

describe("lists", () => {
  it("GET plans is {plans}", () =>
    withPlanner({}, async ({ own }) => {
      const none = await own.call("GET", PLANS);
      expect(await none.json()).toEqual({ plans: [] });
      const { id } = await taken(offer(own, [plain]));
      const one = await (await own.call("GET", PLANS)).json();
      expect(one).toMatchObject({ plans: [{ id, status: "proposed" }] });
    }));

  it("GET a plan has its runs with all that they are", () =>
    withPlanner({}, async ({ own }) => {
      const { id, run } = await carryOut(own, [greet], { input: { who: "Ada" } });
      expect(run).toMatchObject({
        id: expect.any(String),
        status: "done",
        input: { who: "Ada" },
        state: { greeting: "Ada" },
        calls: [{ _id: "g", _tool: "echo", status: "done" }],
      });
      expect(await planAt(own, id)).toMatchObject({ id, status: "done" });
    }));

  it("an unknown plan is a problem, wherever it is asked for", () =>
    withPlanner({}, async ({ own }) => {
      await problemOf(own.call("GET", `${PLANS}/nope`), 404);
      await problemOf(own.call("POST", `${PLANS}/nope/approve`), 404);
      await problemOf(own.call("POST", `${PLANS}/nope/cancel`), 404);
      await problemOf(startRun(own, "nope"), 404);
    }));
});

describe("a run's stream", () => {
  it("is a turn's: headers, integer frame ids, [DONE]", () =>
    withPlanner({}, async ({ own }) => {
      const { id } = await taken(offer(own, [plain]));
      await approve(own, id);
      const response = await startRun(own, id);
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toContain("text/event-stream");
      expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
      const frames = framesIn(await response.text());
      expect(frames.at(-1)).toEqual({ id: undefined, data: "[DONE]" });
      for (const frame of frames.slice(0, -1)) expect(frame.id).toMatch(/^\d+$/);
    }));

  it("has data-call for each call and a last data-run", () =>
    withPlanner({}, async ({ own }) => {
      const calls = [
        plain,
        { _id: "f", _tool: "fail", _outputPath: "†state.f" },
        { _id: "s", _tool: "echo", value: "†state.f" },
      ];
      const { parts, run } = await carryOut(own, calls);
      const last = parts.at(-1);
      expect(last).toMatchObject({ type: "data-run", data: { run: run.id, state: { one: 1 } } });
      expect(last?.data["status"]).toBe(run.status);
      expect(parts.filter(({ type }) => type === "data-run")).toHaveLength(1);
      const ends = parts.filter(
        ({ type, data }) => type === "data-call" && data["status"] !== "running",
      );
      const ofCall = (call: string) => ends.findLast(({ data }) => data["call"] === call)?.data;
      expect(ofCall("p")).toMatchObject({ call: "p", tool: "echo", status: "done" });
      expect(ofCall("f")).toMatchObject({ tool: "fail", status: "failed" });
      expect(String(ofCall("f")?.["reason"])).toContain("boom");
      expect(ofCall("s")).toMatchObject({ tool: "echo", status: "skipped" });
      expect(String(ofCall("s")?.["reason"])).toMatch(/\S/);
    }));

  it("refuses a body that is none", () =>
    withPlanner({}, async ({ own, seen }) => {
      const { id } = await taken(offer(own, [plain]));
      await approve(own, id);
      await problemOf(startRun(own, id, { keep: "yes" }));
      const init = { body: "{", headers: { "content-type": "application/json" } };
      await problemOf(own.call("POST", `${PLANS}/${id}/run`, init));
      expect(seen).toEqual([]);
    }));

  it("an input that does not fit the plan's schema is a problem, and nothing runs", () =>
    withPlanner({}, async ({ own, seen }) => {
      const properties = { who: { type: "string" } };
      const input = { type: "object", properties, required: ["who"] };
      const { id } = await taken(offer(own, [greet], { input }));
      await approve(own, id);
      await problemOf(startRun(own, id, { input: { who: 7 } }));
      await problemOf(startRun(own, id, { input: {} }));
      expect(seen).toEqual([]);
      const { run } = await runPlan(own, id, { input: { who: "Ada" } });
      expect(run.state).toEqual({ greeting: "Ada" });
    }));
});

describe("the life of a plan", () => {
  it("nothing runs before approval", () =>
    withPlanner({}, async ({ own, seen }) => {
      const { id } = await taken(offer(own, [plain]));
      await problemOf(startRun(own, id), 409);
      expect(seen).toEqual([]);
      expect((await planAt(own, id)).status).toBe("proposed");
      await approve(own, id);
      expect((await planAt(own, id)).status).toBe("approved");
      expect(seen).toEqual([]);
      await runPlan(own, id);
      expect(seen).toHaveLength(1);
    }));

  it("a rule of the agent's may approve, but not by failing", async () => {
    const rule = { approvesPlan: () => true };
    await withPlanner({ agent: rule }, async ({ own, seen }) => {
      const { id } = await taken(offer(own, [plain]));
      await runPlan(own, id);
      expect(seen).toHaveLength(1);
    });
    const broken = {
      approvesPlan: () => {
        throw new Error("no");
      },
    };
    await withPlanner({ agent: broken }, async ({ own, seen }) => {
      const { id, status } = await taken(offer(own, [plain]));
      expect(status).toBe("proposed");
      await problemOf(startRun(own, id));
      expect(seen).toEqual([]);
    });
  });

  it("one that is cancelled does not run", () =>
    withPlanner({}, async ({ own, seen }) => {
      const { id } = await taken(offer(own, [plain]));
      expect((await own.call("POST", `${PLANS}/${id}/cancel`)).status).toBe(200);
      expect((await planAt(own, id)).status).toBe("cancelled");
      await problemOf(startRun(own, id), 409);
      expect(seen).toEqual([]);
    }));

  it("one that is cancelled stays so", () =>
    withPlanner({}, async ({ own }) => {
      const { id } = await taken(offer(own, [plain]));
      await own.call("POST", `${PLANS}/${id}/cancel`);
      await problemOf(own.call("POST", `${PLANS}/${id}/approve`), 409);
      expect((await planAt(own, id)).status).toBe("cancelled");
    }));

  it("a plan whose only call fails has failed", () =>
    withPlanner({}, async ({ own }) => {
      const { id, run } = await carryOut(own, [{ _id: "f", _tool: "fail" }]);
      expect(run.status).toBe("failed");
      expect((await planAt(own, id)).status).toBe("failed");
    }));

  it("one that runs is cancelled: what waits for it never starts", async () => {
    const seen: unknown[] = [];
    const hang = tool({
      inputSchema: z.object({}),
      execute: (): unknown => new Promise<never>(() => {}),
    });
    await withPlanner({ tools: { hang }, seen }, async ({ own }) => {
      const calls = [
        { _id: "h", _tool: "hang", _outputPath: "†state.h" },
        { _id: "e", _tool: "echo", value: "†state.h" },
      ];
      const { id } = await taken(offer(own, calls));
      await approve(own, id);
      const response = await startRun(own, id);
      const text = response.text();
      await until(async () => {
        const { status, runs } = await planAt(own, id);
        const running = runs[0] !== undefined && statuses(runs[0])["h"] === "running";
        return status === "running" && running ? true : undefined;
      });
      expect((await own.call("POST", `${PLANS}/${id}/cancel`)).status).toBe(200);
      expect(dataIn(await text).at(-1)).toMatchObject({ data: { status: "cancelled" } });
      const { status, runs } = await planAt(own, id);
      expect([status, runs[0]?.status]).toEqual(["cancelled", "cancelled"]);
      expect(seen).toEqual([]);
      expect(await valueOf(own, "state")).toBe(404);
    });
  });

  it("runs of one plan side by side keep their own state", () =>
    withPlanner({}, async ({ own }) => {
      const { id } = await taken(offer(own, [greet]));
      await approve(own, id);
      const names = ["Ada", "Bob", "Cid"];
      const ran = await Promise.all(names.map((who) => runPlan(own, id, { input: { who } })));
      const states = ran.map(({ run }) => run.state);
      expect(states).toEqual(names.map((greeting) => ({ greeting })));
    }));

  it("the same plan runs again with another input, each run with its own record", () =>
    withPlanner({}, async ({ own }) => {
      const { id } = await taken(offer(own, [greet]));
      await approve(own, id);
      const first = await runPlan(own, id, { input: { who: "Ada" } });
      const second = await runPlan(own, id, { input: { who: "Bob" } });
      expect(second.run.id).not.toBe(first.run.id);
      const { runs } = await planAt(own, id);
      const records = runs.map(({ input, state }) => JSON.stringify([input, state]));
      expect(records.toSorted()).toEqual([
        '[{"who":"Ada"},{"greeting":"Ada"}]',
        '[{"who":"Bob"},{"greeting":"Bob"}]',
      ]);
      const init = json({ input: { who: "Cid" }, keep: false });
      expect((await own.call("POST", `${PLANS}/${id}/run`, init)).status).toBe(200);
    }));
});
