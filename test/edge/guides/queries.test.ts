import { type Agent, createRuntime, queries, Tables } from "byref";
import { createClient } from "byref/client";
import { expect, it } from "vitest";
import { withWorker, type OwnRuntime } from "../../support/own-runtime.ts";
import { ORIGIN } from "../../support/edge.ts";
import { sendTo } from "../../support/client.ts";
import { scriptedModel } from "byref/testing";

const shop: Agent = { name: "shop", description: "Orders.", instructions: "Help.", tools: {} };
const model = scriptedModel([]);

// --- turn it on
const runtime = createRuntime({ agents: [shop], model, queries });

export class Conversation extends runtime.Conversation {}
export { Tables };
export default runtime.worker;
// ---

it("answers the client's query, in the object of the binding", () =>
  withWorker(runtime, async (own) => {
    const url = ORIGIN;
    const options = { fetch: sendTo(own as OwnRuntime) };
    // --- with the client
    const conversation = createClient(url, options).conversation("guide");
    await conversation.variables.put("orders", [
      { id: 1, total: 10 },
      { id: 2, total: 5 },
    ]);
    const large = await conversation.query("SELECT id FROM orders WHERE total > 6");
    const saved = await conversation.query("SELECT id FROM orders", { saveAs: "ids" });
    // ---
    expect(saved).toMatchObject({ name: "ids", count: 2 });
    expect(large).toEqual([{ id: 1 }]);
  }));
