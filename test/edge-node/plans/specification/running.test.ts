import { type Tool, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { json } from "../../../support/edge.ts";
import { finish, text, toolCall } from "../../../support/scripted-model.ts";
import {
  approve,
  callOf,
  carryOut,
  dataIn,
  type ShownPlan,
  offer,
  planAt,
  PLANS,
  promptIn,
  ROOT,
  runPlan,
  startRun,
  statuses,
  taken,
  turnOf,
  withPlanner,
  until,
} from "../../../support/plan-requests.ts";

const echo = (id: string, value: unknown, path?: string) => ({
  _id: id,
  _tool: "echo",
  value,
  ...(path === undefined ? {} : { _outputPath: path }),
});

it("a call that is ready starts while others of its level go on", async () => {
  let release: (() => void) | undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow: Tool = tool({ inputSchema: z.object({}), execute: async () => released });
  const free: Tool = tool({
    inputSchema: z.object({ value: z.any() }),
    execute: () => release?.(),
  });
  await withPlanner({ tools: { slow, free } }, async ({ own }) => {
    const { run } = await carryOut(own, [
      { _id: "slow", _tool: "slow" },
      echo("one", 1, "†state.one"),
      echo("two", "†state.one", "†state.two"),
      { _id: "free", _tool: "free", value: "†state.two" },
    ]);
    expect(run.status).toBe("done");
  });
});

describe("results are stored", () => {
  it("before a dependent starts", async () => {
    const looks: (() => Promise<void>)[] = [];
    const look: Tool = tool({
      inputSchema: z.object({ value: z.any() }),
      execute: async () => {
        for (const one of looks) await one();
      },
    });
    await withPlanner({ tools: { look } }, async ({ own }) => {
      const calls = [echo("w", 7, "†state.w"), { _id: "l", _tool: "look", value: "†state.w" }];
      const { id } = await taken(offer(own, calls));
      await approve(own, id);
      const found: unknown[] = [];
      looks.push(async () => {
        const { runs } = await planAt(own, id);
        found.push(runs[0] === undefined ? "no run" : statuses(runs[0])["w"]);
      });
      await runPlan(own, id);
      expect(found).toEqual(["done"]);
    });
  });

  it("a killed process continues where it was", async () => {
    const hung = { begun: 0 };
    const stuck: Tool = tool({
      inputSchema: z.object({ value: z.any() }),
      execute: ({ value }): unknown => (++hung.begun === 1 ? new Promise<never>(() => {}) : value),
    });
    const agent = { effects: { stuck: "idempotent" } } as const;
    await withPlanner({ tools: { stuck }, agent }, async ({ own, seen }) => {
      const { id } = await taken(
        offer(own, [
          echo("first", 1, "†state.first"),
          { _id: "stuck", _tool: "stuck", value: "†state.first", _outputPath: "†state.second" },
          echo("third", "†state.second", "†state.third"),
        ]),
      );
      await approve(own, id);
      await startRun(own, id);
      await until(async () => (hung.begun > 0 ? true : undefined));
      own.wakeAgain();
      await own.conversation().alarm();
      const { runs, status } = await until(async () => {
        const plan = await planAt(own, id);
        return plan.status === "running" ? undefined : plan;
      });
      expect(status).toBe("done");
      expect(runs).toMatchObject([{ state: { first: 1, second: 1, third: 1 } }]);
      expect(hung.begun).toBe(2);
      expect(seen).toEqual([{ value: 1 }, { value: 1 }]);
    });
  });
});

describe("a gate", () => {
  const gated = [
    { ...echo("g", "†approvals.legal", "†state.g") },
    echo("next", "†state.g"),
    echo("free", "free", "†state.free"),
  ];

  it("keeps its readers waiting, who say so, until it is opened", () =>
    withPlanner({}, async ({ own, seen }) => {
      const { id } = await taken(offer(own, gated));
      await approve(own, id);
      const stream = (await startRun(own, id)).text();
      const waiting = await until(async () => {
        const { runs } = await planAt(own, id);
        return runs[0] !== undefined && statuses(runs[0])["free"] === "done" ? runs[0] : undefined;
      });
      expect(statuses(waiting)).toEqual({ g: "waiting", next: "waiting", free: "done" });
      expect(callOf(waiting, "g")?.reason).toContain("legal");
      expect(seen).toEqual([{ value: "free" }]);
      const opened = await own.call("POST", `${ROOT}/approvals/legal`, json({ approved: true }));
      expect(opened.status, await opened.clone().text()).toBe(200);
      await opened.text();
      await stream;
      const { runs, status } = await until(async () => {
        const plan = await planAt(own, id);
        return plan.status === "done" ? plan : undefined;
      });
      expect(status).toBe("done");
      expect(runs[0] && statuses(runs[0])).toEqual({ g: "done", next: "done", free: "done" });
    }));

  it("that is refused lets nobody through", () =>
    withPlanner({}, async ({ own, seen }) => {
      const { id } = await taken(offer(own, gated));
      await approve(own, id);
      const stream = (await startRun(own, id)).text();
      await until(async () => {
        const { runs } = await planAt(own, id);
        return runs[0] !== undefined && statuses(runs[0])["free"] === "done" ? true : undefined;
      });
      const init = json({ approved: false, reason: "not yet" });
      const answer = await own.call("POST", `${ROOT}/approvals/legal`, init);
      await answer.text();
      await stream;
      expect(seen).toEqual([{ value: "free" }]);
    }));

  it("stays shut for another run", () =>
    withPlanner({}, async ({ own }) => {
      const { id } = await taken(offer(own, gated));
      await approve(own, id);
      for (const nth of [1, 2]) {
        const stream = (await startRun(own, id)).text();
        await until(async () => {
          const { runs } = await planAt(own, id);
          const waits = runs.filter((run) => statuses(run)["g"] === "waiting");
          const free = runs.every((run) => statuses(run)["free"] === "done");
          return runs.length === nth && waits.length === 1 && free ? true : undefined;
        });
        const init = json({ approved: true });
        await (await own.call("POST", `${ROOT}/approvals/legal`, init)).text();
        await stream;
        await until(async () => ((await planAt(own, id)).status === "done" ? true : undefined));
      }
    }));
});

describe("a model's plan", () => {
  const calls = [
    { _tool: "echo", value: "†state.two", _outputPath: "†state.three" },
    { _tool: "add", a: 1, b: 1, _outputPath: "†state.two" },
  ];

  it("waits for approval, and then runs", () =>
    withPlanner(
      {
        steps: [
          [toolCall("propose_plan", { calls }), finish("tool-calls")],
          [text("Proposed."), finish()],
        ],
      },
      async ({ own, seen, model }) => {
        await turnOf(own, "Plan it.");
        expect(model.calls[0]?.tools?.map(({ name }) => name)).toContain("propose_plan");
        expect(seen).toEqual([]);
        const { plans } = await (await own.call("GET", PLANS)).json<{ plans: ShownPlan[] }>();
        expect(plans).toMatchObject([{ status: "proposed" }]);
        const id = plans[0]?.id ?? "";
        expect((await planAt(own, id)).calls.map(({ _tool }) => _tool)).toEqual(["echo", "add"]);
        await approve(own, id);
        const { run } = await runPlan(own, id);
        expect(run.state).toEqual({ two: 2, three: 2 });
      },
    ));

  it("that cannot run comes back to it with all findings", () =>
    withPlanner(
      {
        steps: [
          [
            toolCall("propose_plan", {
              calls: [
                { _tool: "nope", _outputPath: "†state.a" },
                { _tool: "echo", value: "†state.nowhere", _outputPath: "†input.b" },
              ],
            }),
            finish("tool-calls"),
          ],
          [text("Sorry."), finish()],
        ],
      },
      async ({ own, model }) => {
        await turnOf(own, "Plan it.");
        const prompt = promptIn(model, 1);
        const { prompt: messages = [] } = model.calls[1] ?? {};
        const answer = JSON.stringify(messages.at(-1));
        for (const word of ["nope", "state.nowhere", "input"]) expect(answer).toContain(word);
        expect(prompt).toContain("Plan it.");
        expect(await (await own.call("GET", PLANS)).json()).toEqual({ plans: [] });
      },
    ));
});

it("a stream of a run that is over is whole: every call has its end in it", () =>
  withPlanner({}, async ({ own }) => {
    const { stream, run } = await carryOut(own, [echo("a", 1, "†state.a"), echo("b", "†state.a")]);
    const ends = dataIn(stream).filter(({ data }) => data["status"] === "done");
    expect(ends.map(({ data }) => data["call"] ?? data["run"])).toEqual(["a", "b", run.id]);
  }));
