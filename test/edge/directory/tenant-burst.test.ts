import { tool } from "ai";
import { afterEach, expect, it, vi } from "vitest";
import * as z from "zod";
import { eventually } from "../../support/directory.ts";
import { json } from "../../support/edge.ts";
import type { OwnRuntime } from "../../support/own-runtime.ts";
import {
  finish,
  type Script,
  type Step,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";
import { slow } from "../../support/slow.ts";
import { HOUR_MS } from "../../support/storage.ts";
import { spendingTenant } from "../../support/tenant.ts";

afterEach(() => vi.useRealTimers());

const TURNS = 200;
const MAXIMUM = 100;
/** What happens to a turn during its first call of the model. */
const FATES = ["answered", "stopped", "killed", "approved", "failed"] as const;
type Fate = (typeof FATES)[number];

it(
  "two hundred turns at once make exactly the hundred calls of the limit, whatever happens to them",
  slow,
  async () => {
    const nowMs = Date.UTC(2027, 5, 15);
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs });
    const begun = Array.from({ length: TURNS }, () => Promise.withResolvers<"begun">());
    const killed = new Set<number>();
    const step: Step = (options): Script | Promise<Script> => {
      const [, fate, number] = / (\w+) #(\d+)/u.exec(JSON.stringify(options.prompt)) ?? [];
      const isFirst = !options.prompt.some(({ role }) => role === "tool");
      begun[Number(number)]?.resolve("begun");
      if (fate === "failed") throw new Error("The model is gone.");
      if (fate === "approved" && isFirst) return [toolCall("pay", {}), finish("tool-calls")];
      const isKilled = fate === "killed" && !killed.has(Number(number));
      if (fate === "stopped" || isKilled) return new Promise<Script>(() => {});
      return [text("Done."), finish()];
    };
    const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "paid" });
    const agent = { name: "a", description: "", instructions: "", tools: { pay } };
    const tenant = spendingTenant(
      { tenant: { modelCalls: MAXIMUM, per: "month" } },
      { steps: Array.from({ length: TURNS * 2 }, () => step), more: { agents: [agent] } },
    );
    const outcomes: (readonly [fate: Fate, outcome: string])[] = [];
    const expectRefused = async (response: Response) => {
      expect(response.status).toBe(429);
      const renewal = Date.UTC(2027, 6, 1);
      const retryAfterMs = Number(response.headers.get("retry-after")) * 1_000;
      expect(retryAfterMs).toBeLessThanOrEqual(renewal - nowMs);
      expect(retryAfterMs).toBeGreaterThan(renewal - nowMs - HOUR_MS);
      expect(await response.json()).toMatchObject({
        code: "spend_exceeded",
        limit: "tenant.modelCalls",
        maximum: MAXIMUM,
        renewsAt: "2027-07-01T00:00:00.000Z",
      });
    };
    const turn = (number: number) => async (own: OwnRuntime) => {
      const fate = FATES[number % FATES.length] ?? "answered";
      const init = json({ message: ` ${fate} #${number}` }, { accept: "application/json" });
      const asked = own.call("POST", "/conversations/c/messages", init);
      const first = await Promise.race([begun[number]?.promise, asked]);
      if (first instanceof Response && first.status === 429) {
        await expectRefused(first);
        outcomes.push([fate, "refused"]);
        return;
      }
      if (fate === "stopped") await own.call("POST", "/conversations/c/stop");
      if (fate === "killed") {
        killed.add(number);
        own.wakeAgain();
        await vi.waitUntil(async () => {
          const about = await own.call("GET", "/conversations/c");
          return (await about.json<{ status: string }>()).status === "idle";
        });
      } else if (fate === "approved") {
        const { message } = await (
          await asked
        ).json<{ message: { parts: { approval?: { id: string } }[] } }>();
        const approval = message.parts.find(({ approval }) => approval)?.approval?.id;
        await burst.promise;
        const decision = json({ approved: true }, { accept: "application/json" });
        await expectRefused(
          await own.call("POST", `/conversations/c/approvals/${approval}`, decision),
        );
      } else {
        const response = await asked;
        expect([200, 409, 500, 502], await response.text()).toContain(response.status);
      }
      outcomes.push([fate, "made"]);
    };
    const burst = Promise.withResolvers<void>();
    const turns = Array.from({ length: TURNS }, (_, number) => tenant.inside(turn(number)));
    const isOver = eventually(async () => {
      expect(outcomes.filter(([, outcome]) => outcome === "refused")).toHaveLength(TURNS - MAXIMUM);
    });
    await Promise.race([isOver, Promise.all(turns)]);
    burst.resolve();
    await Promise.all(turns);
    const made = (fate?: Fate) =>
      outcomes.filter(([which, outcome]) => outcome === "made" && (fate ?? which) === which).length;
    expect(made()).toBe(MAXIMUM);
    for (const fate of FATES) expect(made(fate), fate).toBeGreaterThan(0);
    // The call that a kill cut off and its repetition count once.
    expect(tenant.model.calls).toHaveLength(MAXIMUM + made("killed"));
    await eventually(async () => expect(await tenant.used("modelCalls")).toBe(MAXIMUM));
    vi.setSystemTime(Date.UTC(2027, 6, 1));
    expect(await tenant.ask()).toContain("Done.");
  },
);
