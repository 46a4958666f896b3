import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { createRuntime } from "../../../src/edge/create-runtime.ts";
import { withEnd } from "../../../src/edge/http/client-body.ts";
import { directoryOf, eventually } from "../../support/directory.ts";
import { json, newId, objectOf, problemIn } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { approved, planning, planOf, streamed } from "../../support/planning.ts";
import { finish, type Step, text, toolCall } from "../../../packages/testing/src/testing.ts";
import { slow } from "../../support/slow.ts";
import { refuseRows } from "../../support/storage.ts";
import {
  endless,
  many,
  REFUSED,
  refusedOf,
  say,
  spendAtOnce,
  spendingTenant,
  spendInOne,
} from "../../support/tenant.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("a tenant's limit", () => {
  it("holds for many conversations at once, and is spent to the last call", () =>
    spendAtOnce({ conversations: 12, maximum: 30 }));

  it.each([
    { what: "toolCalls", maximum: 10, last: 10 },
    // Each call takes 100 tokens, and the last one takes more than the rest.
    { what: "tokens", maximum: 550, last: 600 },
  ] as const)("of $what holds for many at once", async ({ what, maximum, last }) => {
    const tenant = spendingTenant({ tenant: { [what]: maximum } }, { steps: endless(1) });
    expect(refusedOf(await many(12, tenant.ask))).toBeGreaterThan(0);
    // Amounts that were leased during the refusals become available again.
    await eventually(async () => {
      await tenant.ask();
      expect(await tenant.used(what)).toBe(last);
    });
    expect(refusedOf([await tenant.ask()])).toBe(1);
    if (what === "toolCalls") expect(tenant.acts()).toBe(maximum);
  });

  it("survives a restart of the directory", async () => {
    const tenant = spendingTenant({ tenant: { modelCalls: 2 } });
    await tenant.ask();
    await eventually(async () => expect(await tenant.used("modelCalls")).toBe(1));
    await evictDurableObject(directoryOf(tenant.name));
    expect(refusedOf([await tenant.ask(), await tenant.ask()])).toBe(1);
  });
});

/** A step that reports that it was reached, and then hangs. */
function hanging() {
  const reached = Promise.withResolvers<void>();
  const step: Step = async function* () {
    yield text("Before.", { id: "1" });
    reached.resolve();
    await new Promise<never>(() => {});
  };
  return { reached: reached.promise, step };
}

const done: Step = [text("Done."), finish()];

/** Makes writes of model calls fail until the returned function repairs the directory. */
async function breakDirectory(name: string): Promise<() => void> {
  const repair = await runInDurableObject(directoryOf(name), (_, { storage }) => {
    const makeRoom = refuseRows(storage, "modelCalls");
    return () => makeRoom();
  });
  return () => void repair();
}

describe("a turn's settlement", () => {
  it("is made even if the conversation is deleted", async () => {
    const { reached, step } = hanging();
    const tenant = spendingTenant({ tenant: { modelCalls: 2 } }, { steps: [step, done] });
    await tenant.inside(async (own) => {
      const asked = say(own);
      await reached;
      expect((await own.call("DELETE", "/conversations/c")).status).toBe(204);
      await asked;
    });
    await eventually(async () => expect(await tenant.used("modelCalls")).toBe(1));
    expect(refusedOf([await tenant.ask(), await tenant.ask()])).toBe(1);
  });

  it("is repeated if it did not arrive; until then the lease counts as spent", slow, async () => {
    const refused = vi.spyOn(console, "error").mockImplementation(() => undefined);
    let repair = () => {};
    const last: Step = async () => {
      repair = await breakDirectory(tenant.name);
      return [text("Done."), finish()];
    };
    const first: Step = [toolCall("act", {}), finish("tool-calls")];
    const tenant = spendingTenant({ tenant: { modelCalls: 1_000 } }, { steps: [first, last] });
    await tenant.ask();
    await eventually(async () => expect(refused).toHaveBeenCalled());
    expect(await tenant.used("modelCalls")).toBeGreaterThan(2);
    repair();
    await eventually(async () => expect(await tenant.used("modelCalls")).toBe(2));
  });
});

describe("a run of a plan", () => {
  const three = ["a", "b", "c"].map((id) => ({ _tool: "echo", _id: id, value: 1 }));

  it("spends the tenant's limit: a call beyond it fails", async () => {
    const tenant = spendingTenant({ tenant: { toolCalls: 2 } }, { more: planning() });
    await tenant.inside(async (own) => {
      const id = await approved(own, three);
      const parts = await streamed(await own.call("POST", `/conversations/c/plans/${id}/run`));
      const failed = parts.filter(({ status, call }) => status === "failed" && call !== undefined);
      expect(failed).toMatchObject([{ reason: expect.stringContaining(REFUSED) }]);
    });
    await eventually(async () => expect(await tenant.used("toolCalls")).toBe(2));
  });

  it("is cancelled at once while it waits for its lease", async () => {
    const waiting = Promise.withResolvers<void>();
    const silent = {
      take: () => (waiting.resolve(), new Promise(() => {})),
      put() {},
      settle() {},
    };
    const DIRECTORY = { idFromName: (name: string) => name, get: () => silent };
    const runtime = { ...planning(), spend: { tenant: { toolCalls: 5 } } };
    const own = { name: JSON.stringify(["tenant", newId()]), bindings: { DIRECTORY } };
    const work = async (own: OwnRuntime) => {
      const id = await approved(own, three);
      const running = own.call("POST", `/conversations/c/plans/${id}/run`);
      await waiting.promise;
      await own.call("POST", `/conversations/c/plans/${id}/cancel`);
      await (await running).text();
      const [run] = (await planOf(own, id)).runs;
      return [run?.status, ...(run?.calls ?? []).map(({ status }) => status)];
    };
    const ended = await withRuntime(runtime, work, own);
    expect(ended).toEqual(["cancelled", "skipped", "skipped", "skipped"]);
  });
});

it("a run that a crash interrupts continues with its lease, even if nothing else is left", async () => {
  let isFirst = true;
  const begun = Promise.withResolvers<void>();
  const slow = tool({
    inputSchema: z.object({}),
    execute: (): Promise<number> | number => {
      if (!isFirst) return 1;
      isFirst = false;
      begun.resolve();
      return new Promise<number>(() => {});
    },
  });
  const more = planning({ slow }, { agent: { effects: { slow: "none" } } });
  const tenant = spendingTenant({ tenant: { toolCalls: 1 } }, { more });
  await tenant.inside(async (own) => {
    const id = await approved(own, [{ _tool: "slow", _outputPath: "†state.n" }]);
    void own.call("POST", `/conversations/c/plans/${id}/run`);
    await begun.promise;
    own.wakeAgain();
    await eventually(async () => expect((await planOf(own, id)).runs[0]?.status).toBe("done"));
  });
  await eventually(async () => expect(await tenant.used("toolCalls")).toBe(1));
});

describe("a directory", () => {
  it("that cannot answer is asked again; then the turn is refused", slow, async () => {
    const tenant = spendingTenant({ tenant: { modelCalls: 5 } });
    const repair = await breakDirectory(tenant.name);
    const refused = vi.spyOn(console, "error").mockImplementation(() => undefined);
    expect(await tenant.ask()).toContain("unavailable: ");
    expect(tenant.model.calls).toHaveLength(0);
    const tries = refused.mock.calls.length;
    expect(tries).toBeGreaterThanOrEqual(3);
    refused.mockImplementation(() => {
      if (refused.mock.calls.length > tries + 1) repair();
    });
    expect(await tenant.ask()).toContain("Done.");
  });

  it("that is not bound is reported before a turn starts", async () => {
    const model = spendingTenant({}).model;
    const agent = { name: "a", description: "", instructions: "", tools: {} };
    const spend = { tenant: { modelCalls: 5 } };
    const { Conversation } = createRuntime({ agents: [agent], model, spend });
    const { DIRECTORY: _, ...bindings } = env;
    await runInDurableObject(objectOf(newId()), async (__, state) => {
      // The types require the binding, but an application may leave it out.
      const conversation = new Conversation(state, bindings as Cloudflare.Env);
      const message = { id: "m", role: "user", parts: [{ type: "text", text: "Go." }] };
      const init = { method: "POST", ...json({ message }) };
      const response = await conversation.fetch(
        new Request("http://conversation/conversations/c/messages", init),
      );
      const { detail } = await problemIn(response, "bad_configuration");
      expect(detail).toContain("DIRECTORY");
      // Requests without model calls work.
      const { header, body } = withEnd(new Blob(["1"]).stream());
      const headers = [header, ["content-type", "application/json"]] as [string, string][];
      const put = { method: "PUT", headers, body };
      const request = new Request("http://conversation/conversations/c/variables/a", put);
      expect((await conversation.fetch(request)).status).toBe(201);
    });
    expect(model.calls).toHaveLength(0);
  });
});

it("a conversation's own limit is exact under many requests at once", () =>
  spendInOne({ requests: 60, maximum: 20 }));
