import { createRuntime, modelFromSettings, queries } from "byref";
import { demoModels } from "byref/demo";
import { expect, it, vi } from "vitest";
import { weather } from "../../../examples/agents/weather.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { json, problemIn } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime, withWorker } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";

const DAY_MS = 86_400_000;
const MIB = 1_048_576;
const NAME = JSON.stringify(["local", crypto.randomUUID()]);

it("an application sets its own limits", async () => {
  const asks = () => [toolCall("get_weather", { location: "NYC" }), finish("tool-calls")];
  const model = scriptedModel(Array.from({ length: 20 }, asks));
  // --- bounds
  const runtime = createRuntime({
    agents: [weather],
    model,
    retention: {
      quotaBytes: 64 * MIB,
      variableIdleMs: 7 * DAY_MS,
      conversationIdleMs: 365 * DAY_MS,
    },
    spend: {
      turn: { modelCalls: 10, tokens: 50_000 },
      conversation: { toolCalls: 500 },
      tenant: { tokens: 2_000_000, per: "day" },
    },
  });
  // ---
  await withWorker(
    runtime,
    async (own) => {
      const init = json({ message: "And again?" }, { accept: "text/plain" });
      const response = await own.call("POST", "/conversations/c/messages", init);
      expect(await response.text()).toContain("[error: spend_exceeded]");
      expect(model.calls).toHaveLength(10);
      // The next alarm evicts the variable, in a week.
      const alarm = async () => (await own.state.storage.getAlarm()) ?? 0;
      await vi.waitUntil(async () => (await alarm()) > Date.now());
      const dueMs = await alarm();
      expect((dueMs - Date.now()) / DAY_MS).toBeCloseTo(7, 1);
    },
    { name: NAME },
  );
});

const desk = { ...weather, name: "desk" };

it("an application uses the demo model", () => {
  // --- the demo model
  const runtime = createRuntime({ agents: [desk], model: modelFromSettings(demoModels), queries });
  // ---
  return withWorker(runtime, async (own) => {
    const init = json({ message: "Weather of Oslo?" }, { accept: "text/plain" });
    const response = await own.call("POST", "/conversations/c/messages", init);
    expect(await response.text()).toContain("get_weather with location Oslo");
  });
});

/** Sets `large` in a conversation of this name, deletes it, and brings its row back, as a recovery does. */
async function withRestored(
  bindings: Readonly<Record<string, string>>,
  work: (own: OwnRuntime, large: { readonly text: string }) => Promise<void>,
): Promise<void> {
  const model = scriptedModel([
    [...toolCall("read_variable", { name: "large" }), ...finish("tool-calls")],
    [...toolCall("get_weather", { location: "$large.text[:3]" }), ...finish("tool-calls")],
    [...text("It begins with $large.text[:3]."), ...finish()],
  ]);
  const name = JSON.stringify(["local", crypto.randomUUID()]);
  await withRuntime(
    { agents: [weather], model, queries },
    async (own) => {
      const large = { text: "x".repeat(9_000_000) };
      await own.call("PUT", "/conversations/c/variables/large", json(large));
      const { sql } = own.state.storage;
      const [row = {}] = sql.exec("SELECT * FROM variable").toArray();
      await own.call("DELETE", "/conversations/c/variables/large");
      await vi.waitUntil(async () => (await keysOf(own)).length === 0);
      const columns = Object.keys(row);
      const places = columns.map(() => "?").join(", ");
      sql.exec(
        `INSERT INTO variable (${columns.join(", ")}) VALUES (${places})`,
        ...Object.values(row),
      );
      own.wakeAgain();
      await work(own, large);
    },
    { name, bindings },
  );
}

async function keysOf({ state }: OwnRuntime, prefix = ""): Promise<readonly string[]> {
  const { objects } = await env.BLOBS.list({ prefix: `${prefix}${state.id}/` });
  return objects.map(({ key }) => key);
}

it("a conversation that was set back says which values are gone, and goes on", () =>
  withRestored({}, async (own) => {
    const read = await own.call("GET", "/conversations/c/variables/large");
    const problem = await problemIn(read, "variable_evicted");
    expect(problem.detail).toContain("no longer in the bucket");
    expect(JSON.stringify(problem)).not.toContain(String(own.state.id));
    const init = json({ message: "How does it begin?" }, { accept: "text/event-stream" });
    const answer = await (await own.call("POST", "/conversations/c/messages", init)).text();
    expect(answer.match(/"errorText":"variable_evicted/g)).toHaveLength(2);
    expect(answer).toContain('"type":"data-unresolved"');
    expect(answer).toContain('"finishReason":"stop"');
    const query = await own.call(
      "POST",
      "/conversations/c/query",
      json({ sql: "SELECT text FROM large" }),
    );
    await problemIn(query, "variable_evicted");
    expect((await own.call("DELETE", "/conversations/c/variables/large")).status).toBe(204);
  }));

it("with DELETED_VALUES=keep, values come back with the conversation that was set back", () =>
  withRestored({ DELETED_VALUES: "keep" }, async (own, large) => {
    expect(await keysOf(own, "deleted/")).toHaveLength(1);
    const read = await own.call("GET", "/conversations/c/variables/large");
    expect(await read.json()).toEqual(large);
    expect(await keysOf(own)).toHaveLength(1);
    await own.call("DELETE", "/conversations/c");
    expect([await keysOf(own), await keysOf(own, "deleted/")]).toEqual([[], [expect.any(String)]]);
  }));

it("an operator sets a conversation back", async () => {
  const model = scriptedModel([]);
  const runtime = createRuntime({ agents: [weather], model });
  // --- set back
  class Conversation extends runtime.Conversation {
    /** Sets the conversation back to a time of the last 30 days. Returns the bookmark of its state until now. */
    async setBack(timeMs: number): Promise<string> {
      const { storage } = this.ctx;
      const bookmark = await storage.getBookmarkForTime(timeMs);
      const undo = await storage.onNextSessionRestoreBookmark(bookmark);
      // The object starts again, with the older state.
      setTimeout(() => this.ctx.abort("The conversation is set back."), 100);
      return undo;
    }
  }
  // ---
  const { CONVERSATIONS } = env;
  await runInDurableObject(CONVERSATIONS.get(CONVERSATIONS.newUniqueId()), async (_, state) => {
    const conversation = new Conversation(state, env);
    // Local workerd has no bookmarks.
    await expect(conversation.setBack(0)).rejects.toThrow("point-in-time recovery");
    const abort = vi.fn<(reason: string) => void>();
    const storage = {
      getBookmarkForTime: async (timeMs: number) => `bookmark of ${timeMs}`,
      onNextSessionRestoreBookmark: async (bookmark: string) => `before ${bookmark}`,
    };
    Object.defineProperty(conversation, "ctx", { value: { storage, abort } });
    expect(await conversation.setBack(5)).toBe("before bookmark of 5");
    await vi.waitUntil(() => abort.mock.calls.length > 0);
  });
});
