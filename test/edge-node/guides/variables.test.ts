import { type Agent, createRuntime, csvRecords } from "byref";
import { type ClientError, createClient } from "byref/client";
import { expect, it } from "vitest";
import { failureOf, sendTo } from "../../support/client.ts";
import { ORIGIN } from "../../support/edge.ts";
import { type OwnRuntime, withWorker } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text } from "byref/testing";

const agents: readonly [Agent] = [
  { name: "test", description: "For tests.", instructions: "Help.", tools: {} },
];
const url = ORIGIN;
type Own = Pick<OwnRuntime, "call">;
const optionsFor = (own: Own) => ({ fetch: sendTo(own as OwnRuntime) });

function withVariables(work: (own: Own) => Promise<void>) {
  return withWorker(createRuntime({ agents, model: scriptedModel([]) }), work);
}

it("is written, read, changed and listed with the client", () =>
  withVariables(async (own) => {
    const options = optionsFor(own);
    // --- the client
    const { variables } = createClient(url, options).conversation("guide");
    await variables.put("user", { name: "Ada", city: "Oslo" }, { description: "who asks" });
    const city = await variables.get("user", { path: ".city" });
    await variables.put("user", { city: "Bergen" }, { mode: "merge", ttl: 3_600 });
    await variables.patch("user", { pinned: true, ttl: null });
    const { variables: newest } = await variables.list({ last: 20 });
    // ---
    expect(city).toBe("Oslo");
    expect(await variables.get("user")).toEqual({ name: "Ada", city: "Bergen" });
    expect(newest).toMatchObject([
      { name: "user", version: 2, pinned: true, description: "who asks", sources: ["caller"] },
    ]);
    expect(newest[0]?.expiresAt).toBeUndefined();
  }));

it("is guarded against lost updates", () =>
  withVariables(async (own) => {
    const { variables } = createClient(url, optionsFor(own)).conversation("guide");
    await variables.put("count", 1);
    // --- lost updates
    const response = await variables.open("count");
    const count = Number(await response.text());
    const ifMatch = response.headers.get("etag") ?? "";
    await variables.put("count", count + 1, { ifMatch });
    const second = variables.put("count", count + 1, { ifMatch }); // precondition_failed
    // ---
    expect(await failureOf(second)).toMatchObject({
      code: "precondition_failed",
      status: 412,
      details: { etag: expect.stringMatching(/^"2-/) },
    });
    expect(await variables.get("count")).toBe(2);
  }));

it("holds records that are read in parts", () =>
  withVariables(async (own) => {
    const { variables } = createClient(url, optionsFor(own)).conversation("guide");
    const rows = Array.from({ length: 1_000 }, (_, n) => ({ n }));
    // --- records
    const lines = rows.map((row) => JSON.stringify(row)).join("\n");
    await variables.put("rows", new Blob([lines], { type: "application/x-ndjson" }));
    const last = await variables.get("rows", { path: "[-1].n" });
    const some = await variables.get("rows", { offset: 10, limit: 2 });
    // ---
    expect([last, some]).toEqual([999, [{ n: 10 }, { n: 11 }]]);
    expect(await variables.info("rows")).toMatchObject({ type: "array", count: 1_000 });
  }));

it("holds the records of a CSV", () =>
  withWorker(createRuntime({ agents, model: scriptedModel([]), csv: csvRecords }), async (own) => {
    const { variables } = createClient(url, optionsFor(own)).conversation("guide");
    // --- csv
    const csv = new Blob(["id,zip,total\n1,00150,9.5\n2,,\n"], { type: "text/csv" });
    await variables.put("sales", csv);
    const sales = await variables.get("sales");
    // [{ id: 1, zip: "00150", total: 9.5 }, { id: 2, zip: "", total: null }]
    // ---
    expect(sales).toEqual([
      { id: 1, zip: "00150", total: 9.5 },
      { id: 2, zip: "", total: null },
    ]);
  }));

it("is stored as secret or sealed", async () => {
  const model = scriptedModel([[text("$api_key, $patients[0].name"), finish()]]);
  await withWorker(createRuntime({ agents, model }), async (own) => {
    const chat = createClient(url, optionsFor(own)).conversation("guide");
    const { variables } = chat;
    // --- guarded
    await variables.put("api_key", "abcdefgh", { visibility: "secret" });
    await variables.put("patients", [{ name: "Ada" }], { visibility: "sealed" });
    const refused = await variables.get("api_key").catch((error: ClientError) => error.code);
    // ---
    await variables.put("user", { name: "Ada", city: "Oslo" }, { description: "who asks" });
    expect(refused).toBe("variable_secret");
    expect(await variables.get("patients")).toEqual([{ name: "Ada" }]);
    expect(await variables.info("api_key")).toMatchObject({ preview: "", shape: "string" });
    expect(await chat.send("?").text()).toBe("[secret: api_key], Ada");
    const prompt = JSON.stringify(model.calls[0]?.prompt);
    expect(prompt).toContain("$api_key: secret\\n$patients: array (1) sealed");
    expect(prompt).toContain("$user: object (2) {name: string, city: string} // who asks");
  });
});

it("has its changes reported as events", () =>
  withVariables(async (own) => {
    const chat = createClient(url, optionsFor(own)).conversation("guide");
    await chat.variables.put("user", { name: "Ada" });
    await chat.variables.delete("user");
    const told: string[] = [];
    const log = (...words: readonly unknown[]) => void told.push(words.join(" "));
    // --- events
    for await (const { id, type, variable } of chat.events({ after: 0 })) {
      log(id, type, variable?.name, variable?.bytes);
      if (type === "variable.deleted") break;
    }
    // ---
    expect(told).toEqual(["1 variable.saved user 14", "2 variable.deleted user 14"]);
  }));

it("is evicted at the quota, the least recently used first, with a tombstone", async () => {
  const model = scriptedModel([]);
  // --- retention
  const runtime = createRuntime({
    agents,
    model,
    retention: {
      quotaBytes: 65_536, // of all values of a conversation
      variableIdleMs: 3_600_000, // an unused variable
      conversationIdleMs: 86_400_000, // an unused conversation
    },
  });
  // ---
  await withWorker(runtime, async (own) => {
    const { variables } = createClient(url, optionsFor(own)).conversation("guide");
    await variables.put("kept", "x".repeat(20_000), { pin: true });
    await variables.put("old", "x".repeat(40_000));
    await variables.put("new", "x".repeat(40_000));
    expect(await failureOf(variables.get("old"))).toMatchObject({
      code: "variable_evicted",
      status: 410,
      details: { tombstone: { name: "old", reason: "quota" } },
    });
    expect((await variables.list()).variables.map(({ name }) => name)).toEqual(["kept", "new"]);
    expect(await failureOf(variables.put("more", "x".repeat(60_000)))).toMatchObject({
      code: "limit_exceeded",
    });
    expect(await variables.reset()).toEqual({ deleted: ["new"] });
  });
});
