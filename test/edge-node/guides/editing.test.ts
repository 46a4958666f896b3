import { tool } from "ai";
import { type Agent, createRuntime } from "byref";
import { createClient } from "byref/client";
import { expect, it } from "vitest";
import * as z from "zod";
import { sendTo } from "../../support/client.ts";
import { ORIGIN } from "../../support/edge.ts";
import { type OwnRuntime, withWorker } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";
import { slow } from "../../support/slow.ts";

it("changes a page of 300 KB and sends it back in 200 tokens", slow, async () => {
  const row = '<tr><td>A thing</td><td class="price">EUR 19</td></tr>\n';
  const page = `<title>Prices 2025</title>\n${row.repeat(5_600)}`;
  expect(page.length).toBeGreaterThan(300_000);
  const sent: string[] = [];
  const getPage = tool({ inputSchema: z.object({ path: z.string() }), execute: () => page });
  const putPage = tool({
    inputSchema: z.object({ path: z.string(), html: z.string() }),
    execute: ({ html }) => {
      sent.push(html);
      return "saved";
    },
  });
  // --- the agent
  const agent: Agent = {
    name: "editor",
    description: "Edits pages.",
    instructions: "Change pages as you are asked.",
    tools: { get_page: getPage, put_page: putPage },
  };
  // ---
  // --- what the model writes
  const steps = [
    [toolCall("get_page", { path: "/prices" }), finish("tool-calls")],
    [
      toolCall("edit_variable", {
        name: "get_page_prices",
        edits: [
          { find: "<title>Prices 2025</title>", replace: "<title>Prices 2026</title>" },
          { find: "EUR 19", replace: "EUR 21", all: true },
        ],
      }),
      finish("tool-calls"),
    ],
    [toolCall("put_page", { path: "/prices", html: "$get_page_prices" }), finish("tool-calls")],
    [text("Done."), finish()],
  ];
  // ---
  const model = scriptedModel(steps);
  await withWorker(createRuntime({ agents: [agent], model }), async (own) => {
    const chat = createClient(ORIGIN, { fetch: sendTo(own as OwnRuntime) }).conversation("guide");
    expect(await chat.send("New prices, please.").text()).toBe("Done.");
    const edited = page.replace("2025", "2026").replaceAll("EUR 19", "EUR 21");
    expect(sent).toEqual([edited]);
    const result = JSON.stringify(model.calls[2]?.prompt);
    expect(result).toContain("-<title>Prices 2025</title>");
    expect(result.length).toBeLessThan(20_000);
    // Four characters are about one token.
    expect(
      JSON.stringify(steps.flat(2))
        .match(/"input":"(?:[^"\\]|\\.)*"/g)
        ?.join("").length,
    ).toBeLessThan(800);
  });
});

it("reads an earlier version", async () => {
  const agent = { name: "a", description: "", instructions: "", tools: {} };
  await withWorker(createRuntime({ agents: [agent], model: scriptedModel([]) }), async (own) => {
    const fetch = sendTo(own as OwnRuntime);
    const { variables } = createClient(ORIGIN, { fetch }).conversation("guide");
    // --- versions
    await variables.put("draft", "one");
    await variables.put("draft", "two");
    const before = await variables.get("draft", { version: 1 });
    // ---
    expect(before).toBe("one");
  });
});
