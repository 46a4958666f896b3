import { tool, type ToolExecutionOptions } from "ai";
import { type Agent, createRuntime, runCode } from "byref";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import guide from "../../../docs/guides/tools.md?raw";
import { clientOf } from "../../support/client.ts";
import { fencesIn } from "../../support/fences.ts";
import { json } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime, withWorker } from "../../support/own-runtime.ts";
import { finish, scriptedModel, startRuntime, type Step, text, toolCall } from "byref/testing";

const fetched = Array.from({ length: 60 }, (_, at) => ({ id: `ord_${at + 1}`, total: at }));
const fetchOrders = (_customer: string) => Promise.resolve(fetched);
const sent: { to: string; orders: readonly { id: string }[] }[] = [];
const send = (to: string, orders: readonly { id: string }[]) => {
  sent.push({ to, orders });
  return { sent: orders.length };
};

const call = (name: string, input: unknown): Step => [toolCall(name, input), finish("tool-calls")];
const say = (words: string): Step => [text(words), finish()];
const agentWith = (more: Partial<Agent>): Agent => ({
  name: "test",
  description: "For tests.",
  instructions: "Help.",
  tools: {},
  ...more,
});

const model = scriptedModel([
  call("list_orders", { customer: "Ada" }),
  call("email_orders", { to: "ada@example.com", orders: "$list_orders_ada[0:10]" }),
  say("Sent."),
]);

// --- a tool that returns data
const list_orders = tool({
  description: "All orders of a customer.",
  inputSchema: z.object({ customer: z.string() }),
  execute: ({ customer }) => fetchOrders(customer),
});
// ---

// --- a tool that takes data
const email_orders = tool({
  description: "Sends orders to an address.",
  inputSchema: z.object({
    to: z.email(),
    orders: z.array(z.object({ id: z.string(), total: z.number() })),
  }),
  execute: ({ to, orders }) => send(to, orders),
});
// ---

// --- a Worker
const shop: Agent = {
  name: "shop",
  description: "Answers questions about orders.",
  instructions: "Look orders up before you speak of them.",
  tools: { list_orders, email_orders },
};

const runtime = createRuntime({ agents: [shop], model });

export class Conversation extends runtime.Conversation {}
export default runtime.worker;
// ---

/** Asks once, and returns the answer's text. */
const ask = (own: Pick<OwnRuntime, "call">) =>
  clientOf(own as OwnRuntime)
    .conversation("c")
    .send("Go.")
    .text();

/** Runs one turn with a scripted model. Returns its answer, its variables and its last prompt. */
async function turn(agent: Agent, steps: readonly Step[]) {
  const model = scriptedModel(steps);
  await using runtime = await startRuntime({ agents: [agent], model });
  const conversation = runtime.client.conversation("c");
  const said = await conversation.send("Go.").text();
  const { variables } = await conversation.variables.list();
  return { said, variables, model, prompt: JSON.stringify(model.calls.at(-1)?.prompt) };
}

it("gives the second tool the values, and the model a handle and a wider schema", async () => {
  expect(await withWorker({ ...runtime, Conversation }, ask)).toBe("Sent.");
  expect(sent).toEqual([{ to: "ada@example.com", orders: fetched.slice(0, 10) }]);
  const [first, second] = model.calls;
  const shown = first?.tools?.find(({ name }) => name === "email_orders");
  expect(JSON.stringify(shown)).toContain("or a $reference");
  expect(JSON.stringify(second?.prompt.at(-2))).toContain('"$var":"list_orders_ada"');
});

it("saves what a Response streams, and passes bytes on", async () => {
  const got: Uint8Array[] = [];
  const look = (image: Uint8Array) => void got.push(image);
  const pngOf = (totals: readonly number[]) => new Uint8Array(totals);
  const download_report = tool({
    inputSchema: z.object({ month: z.string() }),
    execute: () =>
      new Response('{"a":1}\n{"a":2}\n', { headers: { "content-type": "application/x-ndjson" } }),
  });
  // --- bytes
  const draw_chart = tool({
    inputSchema: z.object({ totals: z.array(z.number()) }),
    execute: ({ totals }) => ({ bytes: pngOf(totals), mediaType: "image/png" }),
  });

  const mail_image = tool({
    inputSchema: z.object({ image: z.unknown().pipe(z.instanceof(Uint8Array)) }),
    execute: ({ image }) => look(image),
  });
  // ---
  const { variables } = await turn(
    agentWith({ tools: { download_report, draw_chart, mail_image } }),
    [
      call("download_report", { month: "may" }),
      call("draw_chart", { totals: "$download_report_may[*].a" }),
      call("mail_image", { image: "$draw_chart_1" }),
      say("Done."),
    ],
  );
  expect(variables).toMatchObject([
    { name: "download_report_may", type: "array", count: 2 },
    { name: "draw_chart_1", type: "bytes", count: 2, mediaType: "image/png" },
    { name: "mail_image_1", type: "null" },
  ]);
  expect(got).toEqual([new Uint8Array([1, 2])]);
});

const hello = () => new Response("Hello.", { headers: { "content-type": "text/plain" } });
const answers: Record<string, () => Response> = {
  "https://docs.example.com/a": hello,
  "https://docs.example.com:443/a": hello,
  "https://docs.example.com/moved": () => Response.redirect("https://10.0.0.1/"),
};
// In the object of the turn: a response belongs to the object that has created it.
const fetch = async (url: string, _init: RequestInit) => answers[url]?.() ?? Response.error();
// --- hosts that a tool fetches from
const HOSTS = ["docs.example.com", "example.org:8443"];

const fetch_page = tool({
  inputSchema: z.object({ url: z.url({ protocol: /^https$/ }) }),
  execute: async ({ url }) => {
    const { host } = new URL(url);
    if (!HOSTS.includes(host)) throw new Error(`${host} is not allowed. Use ${HOSTS.join(", ")}.`);
    const signal = AbortSignal.timeout(30_000);
    const page = await fetch(url, { redirect: "manual", signal });
    if (!page.ok) throw new Error(`${host} answered ${page.status}.`);
    return page;
  },
});
// ---

it.each([
  ["https://docs.example.com/a", "Hello."],
  ["https://docs.example.com:443/a", "Hello."],
  ["https://docs.example.com/moved", "docs.example.com answered 302."],
  ["https://docs.example.com:8443/", "docs.example.com:8443 is not allowed."],
  ["https://docs.example.com@10.0.0.1/", "10.0.0.1 is not allowed."],
  ["https://0x7f.1/", "127.0.0.1 is not allowed."],
  ["http://docs.example.com/a", "invalid_tool_input"],
])("a tool that fetches what a model wrote asked for %s, has %s", async (url, outcome) => {
  const agent = agentWith({ tools: { fetch_page } });
  const { prompt } = await turn(agent, [call("fetch_page", { url }), say("Done.")]);
  expect(prompt).toContain(outcome);
});

it("gives each call a key, and says what running it again would do", async () => {
  const keys: unknown[] = [];
  const pay = (cents: number, key: string | undefined) => {
    keys.push(key);
    return { cents };
  };
  // --- effects
  type Options = ToolExecutionOptions<unknown> & { readonly idempotencyKey?: string };

  const charge_card = tool({
    inputSchema: z.object({ cents: z.number().int() }),
    execute: ({ cents }, options: Options) => pay(cents, options.idempotencyKey),
  });

  const till: Agent = {
    ...shop,
    tools: { list_orders, charge_card, email_orders },
    effects: {
      list_orders: "none", // run again
      charge_card: "idempotent", // run again, with the same key
      email_orders: "once", // the default: not run again, the model is told outcome_unknown
    },
  };
  // ---
  await turn(till, [call("charge_card", { cents: 5 }), say("Paid.")]);
  expect(keys).toEqual([expect.stringMatching(/\S/)]);
});

it("tells a tool who asks", async () => {
  const charge_card = tool({ inputSchema: z.object({}), execute: () => "charged" });
  const ordersOf = (tenant: string, principal: string) => `orders of ${principal} at ${tenant}`;
  // --- who asks
  const my_orders = tool({
    inputSchema: z.object({}),
    contextSchema: z.object({ tenant: z.string(), principal: z.string() }),
    execute: (_, { context }) => ordersOf(context.tenant, context.principal),
  });

  const desk: Agent = {
    name: "desk",
    description: "Answers customers.",
    instructions: ({ tenant }) => `You answer customers of ${tenant}.`,
    tools: ({ claims }) => ({ my_orders, ...(claims?.["role"] === "staff" && { charge_card }) }),
    policies: ({ tenant }) => ({ charge_card: { approval: tenant !== "acme" } }),
  };
  // ---
  const model = scriptedModel([call("my_orders", {}), say("$my_orders_1")]);
  const identity = { tenant: "globex", principal: "gus", claims: { role: "staff" } };
  await withRuntime({ agents: [desk], model, authenticator: () => identity }, async (own) => {
    const init = json({ message: "Mine?" }, { accept: "text/plain" });
    const response = await own.call("POST", "/conversations/c/messages", init);
    expect(await response.text()).toContain("orders of gus at globex");
  });
  const { prompt, tools } = model.calls[0] ?? {};
  expect(JSON.stringify(prompt)).toContain("customers of globex");
  expect(tools?.map(({ name }) => name)).toContain("charge_card");
});

it("saves results where the model, or the agent, says", async () => {
  // --- where results go
  const named: Agent = {
    ...shop,
    naming: (name, input) => `${name}_of_${(input as { customer?: string }).customer ?? "nobody"}`,
  };
  const placed: Agent = { ...shop, outputPath: { list_orders: "$orders" } };
  const free: Agent = { ...shop, outputPath: true };
  // ---
  const list = (more = {}) => call("list_orders", { customer: "Ada", ...more });
  const names = async (agent: Agent, step: Step) =>
    (await turn(agent, [step, say("Done.")])).variables.map(({ name }) => name);
  expect(await names(named, list())).toEqual(["list_orders_of_Ada"]);
  expect(await names(placed, list())).toEqual(["orders"]);
  expect(await names(free, list({ _outputPath: "$a.ada && $b" }))).toEqual(["a", "b"]);
});

describe("the calls of one step in the guide", () => {
  const block = fencesIn(guide).find(({ lines }) => lines[0]?.startsWith("memory_recall("));
  const calls = (block?.lines ?? []).map((line) => {
    const [, name = "", input = ""] = /^(\w+)\((.*)\)$/.exec(line) ?? [];
    return { name, input: JSON.parse(input) as unknown };
  });

  async function oneStep(recall: () => string, step = calls) {
    const bodies: string[] = [];
    const memory_recall = tool({ inputSchema: z.object({ query: z.string() }), execute: recall });
    const summarize = tool({
      inputSchema: z.object({ text: z.string() }),
      execute: (given) => `In short: ${given.text}`,
    });
    const send_mail = tool({
      inputSchema: z.object({ body: z.string() }),
      execute: ({ body }) => void bodies.push(body),
    });
    const parts = step.flatMap(({ name, input }, at) => toolCall(name, input, { id: `c${at}` }));
    const tools = { memory_recall, summarize, send_mail };
    const agent = agentWith({ tools, outputPath: true });
    const { prompt } = await turn(agent, [[...parts, finish("tool-calls")], say("Done.")]);
    return { bodies, prompt };
  }

  it("wait for one another, and get values", async () => {
    expect(calls.map(({ name }) => name)).toEqual(["memory_recall", "summarize", "send_mail"]);
    const { bodies } = await oneStep(() => "Ada can fly.");
    expect(bodies).toEqual(["In short: Ada can fly."]);
  });
});

it("runs code on variables, and asks another agent", async () => {
  const model = scriptedModel([
    call("list_orders", { customer: "Ada" }),
    call("run_code", {
      code: "return list_orders_ada.reduce((sum, { total }) => sum + total, 0)",
      variables: ["list_orders_ada"],
    }),
    call("delegate", { agent: "writer", task: "Say it of $run_code_1." }),
    say("It is $run_code_1."),
    say("$delegate_writer"),
  ]);
  // --- code and other agents
  const writer: Agent = { name: "writer", description: "Writes.", instructions: "", tools: {} };
  const runtime = createRuntime({
    agents: [{ ...shop, delegates: ["writer"] }, writer],
    model,
    code: runCode, // with a Worker Loader bound as LOADER
  });
  // ---
  const said = await withWorker(runtime, ask);
  expect(said).toBe("It is 1770.");
});
