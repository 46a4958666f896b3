import type { JSONObject, JSONValue } from "@ai-sdk/provider";
import type {
  DemoConversation,
  DemoScript,
  DemoStep,
  DemoTools,
  Outcome,
  Variable,
} from "../../packages/testing/src/demo.ts";
import { findCity } from "../agents/climate-normals.ts";
import { type Intent, type OrderGoal, understand } from "./understand.ts";

/** A result that an answer needs, with its outcome if the prompt already has one. */
type Need = {
  readonly toolName: string;
  readonly outcome: Outcome | undefined;
  /** Called once the earlier stages are done, so that the input can name their variables. */
  readonly input: () => JSONObject;
  /** The sentence about this result alone. */
  readonly say?: (variable: Variable) => string;
};

/** The needs of a stage are called in one step. A stage waits for the stages before it. */
type Plan = { readonly stages: readonly (readonly Need[])[]; readonly answer: () => string };

type WeatherIntent = Extract<Intent, { kind: "weather" }>;
type OrdersIntent = Extract<Intent, { kind: "orders" }>;

const examples: Readonly<Record<string, string>> = {
  get_weather: "What's the weather in NYC?",
  compare_weather: "Compare London and Paris.",
  list_orders: "Show my orders.",
  monthly_totals: "What are the monthly totals?",
  summarize_orders: "Summarize my orders.",
  write_report: "Write a report.",
  get_page: "Change the prices on my page, and publish it.",
  publish_page: "Change the prices on my page, and publish it.",
  get_order: "Refund order ord_00009.",
  refund_order: "Refund order ord_00009.",
  send_parcel: "Remember my address: 1 Harbour Street, Oslo.",
};

/** The questions of the example agents. */
export const shop: DemoScript = {
  examples,
  step({ conversation, tools }) {
    const intent = understand(conversation.question);
    const next = intent === undefined ? undefined : nextStep(intent, conversation, tools);
    // A variable may contain the result that another agent's tool would return.
    return next?.kind === "refusal" && conversation.variables.size > 0 ? undefined : next;
  },
};

/** Returns the missing calls, or the answer if there are none. */
function nextStep(intent: Intent, conversation: DemoConversation, tools: DemoTools): DemoStep {
  if (intent.kind === "refund") return follow(planRefund(intent.order, conversation), tools);
  if (intent.kind === "address") return follow(planAddress(intent.address, conversation), tools);
  if (intent.kind === "parcel") return follow(planParcel(intent.item, conversation), tools);
  if (intent.kind === "page") return follow(planPage(conversation), tools);
  if (intent.kind === "orders") return follow(planOrders(intent, conversation), tools);
  const plan = planWeather(intent, conversation);
  return plan === undefined
    ? say("Which city? I know forty, for example New York, London and Tokyo.")
    : follow(plan, tools);
}

function follow({ stages, answer }: Plan, offered: DemoTools): DemoStep {
  const names = new Set(offered.map((tool) => tool.name));
  const absent = stages
    .flat()
    .find(
      ({ outcome, toolName }) =>
        outcome === undefined && !names.has(toolName) && !LATER.has(toolName),
    );
  if (absent !== undefined) {
    const why = `I cannot do that here, because the tool ${absent.toolName} is not offered`;
    return { kind: "refusal", why };
  }
  for (const needs of stages) {
    const missing = needs.filter((need) => need.outcome === undefined);
    if (missing.length > 0) return call(missing);
    if (!needs.every((need) => isMet(need))) return say(sayEach(needs));
  }
  return say(answer());
}

/** The runtime offers these tools of its own only once there is a value to use them on. */
const LATER: ReadonlySet<string> = new Set(["edit_variable", "propose_plan"]);

function isMet(need: Need): boolean {
  const result = need.outcome?.result;
  return result?.kind === "variable" || isDone(result);
}

/** True for a plan that waits for a person's approval, and for a value of the user that was saved. */
function isDone(result: Outcome["result"] | undefined): boolean {
  if (result?.kind !== "failure" || !isObject(result.value)) return false;
  return "plan" in result.value || "saved" in result.value;
}

function planWeather(intent: WeatherIntent, conversation: DemoConversation): Plan | undefined {
  const requested = intent.places.map((place) => weatherNeed(place, conversation));
  if (!intent.compares) {
    return requested.length === 0
      ? undefined
      : { stages: [requested], answer: () => sayEach(requested) };
  }
  const known = earlierWeather(intent.places, conversation).slice(
    0,
    Math.max(0, 2 - requested.length),
  );
  const [first, ...others] = [...known.toReversed(), ...requested];
  const done = outcomesOf("compare_weather", conversation.thisTurn);
  const comparisons = others.map((other, index) => ({
    toolName: "compare_weather",
    outcome: done[index],
    input: () => ({ city1: reference(first), city2: reference(other) }),
    say: sayComparison,
  }));
  const lacking =
    comparisons.length === 0 ? ["Name two cities to compare, such as NYC and London."] : [];
  return {
    stages: [requested, comparisons],
    answer: () =>
      [sayEach(requested), sayEach(comparisons), ...lacking].filter(isNotEmpty).join("\n\n"),
  };
}

function weatherNeed(place: string, { thisTurn }: DemoConversation): Need {
  return {
    toolName: "get_weather",
    outcome: outcomesOf("get_weather", thisTurn).findLast((one) => placeOf(one) === place),
    input: () => ({ location: place }),
    say: sayWeather,
  };
}

/** Readings of other cities from earlier turns, newest first, one per city. */
function earlierWeather(places: readonly string[], { earlier }: DemoConversation): readonly Need[] {
  const seen = new Set(places.map((place) => findCity(place)));
  return outcomesOf("get_weather", earlier).flatMap((outcome) => {
    const city = findCity(placeOf(outcome));
    if (outcome.result.kind !== "variable" || seen.has(city)) return [];
    seen.add(city);
    return [{ toolName: "get_weather", outcome, input: () => ({}) }];
  });
}

/** Returns a function that makes needs, whose outcomes are the latest of their tools. */
function needsIn(thisTurn: readonly Outcome[]) {
  return (toolName: string, input: () => JSONObject): Need => ({
    toolName,
    outcome: outcomesOf(toolName, thisTurn).at(-1),
    input,
  });
}

function planPage({ thisTurn }: DemoConversation): Plan {
  const path = "/prices";
  const need = needsIn(thisTurn);
  const page = need("get_page", () => ({ path }));
  const edits = [
    { find: "<title>Prices 2025</title>", replace: "<title>Prices 2026</title>" },
    { find: "EUR 19", replace: "EUR 21", all: true },
  ];
  const edited = need("edit_variable", () => ({ name: variableOf(page)?.name ?? "", edits }));
  const published = need("publish_page", () => ({ path, html: reference(page) }));
  const answer = () =>
    `The page is published, with ${reference(published)}.characters characters. I wrote about 200 tokens of it.`;
  return { stages: [[page], [edited], [published]], answer };
}

function planRefund(id: string, { thisTurn }: DemoConversation): Plan {
  const need = needsIn(thisTurn);
  const order = need("get_order", () => ({ id }));
  const it = reference(order);
  const refund = need("refund_order", () => ({
    order: `${it}.id`,
    amount: `${it}.total`,
    currency: `${it}.currency`,
  }));
  const done = reference(refund);
  const answer = () =>
    `${done}.amount ${done}.currency of ${done}.order are paid back to ${it}.customer.`;
  return { stages: [[order], [refund]], answer };
}

/** Saves the address as a value of the user, which all conversations have. */
function planAddress(address: string, { thisTurn }: DemoConversation): Plan {
  const input = { name: "address", value: address, scope: "user" };
  const saved = needsIn(thisTurn)("set_variable", () => input);
  const answer = () =>
    'I keep it for all your conversations: $user.address. Say "Send me a lamp.", here or in a new one.';
  return { stages: [[saved]], answer };
}

function planParcel(item: string, { thisTurn }: DemoConversation): Plan {
  const sent = needsIn(thisTurn)("send_parcel", () => ({ item, to: "$user.address" }));
  const answer = () => `The ${item} is on its way to ${reference(sent)}.to.`;
  return { stages: [[sent]], answer };
}

function planOrders(
  { goal, status, list: name }: OrdersIntent,
  conversation: DemoConversation,
): Plan {
  const need = needsIn(conversation.thisTurn);
  const fresh = need("list_orders", () => (status === undefined ? {} : { status }));
  const given = conversation.variables.get(name ?? "");
  const named = given && { toolName: "list_orders", input: {}, result: given };
  // A question for the orders lists them again. A question for totals uses the saved list, or the one it names.
  const list =
    goal === "list"
      ? fresh
      : { ...fresh, outcome: named ?? fresh.outcome ?? earlierList(conversation, status) };
  const totals = need("monthly_totals", () => ({ orders: reference(list) }));
  const summary = need("summarize_orders", () => summaryInput(list));
  const report = need("write_report", () => ({
    title: "Orders in 2025",
    totals: reference(totals),
    summary: reference(summary),
  }));
  const plans: Readonly<Record<OrderGoal, Plan>> = {
    list: { stages: [[list]], answer: () => sayOrders(list, status) },
    totals: { stages: [[list], [totals]], answer: () => sayTotals(totals) },
    summary: { stages: [[list], [summary]], answer: () => saySummary(summary) },
    report: { stages: [[list], [totals, summary], [report]], answer: () => reference(report) },
    plan: proposal(need("propose_plan", () => reportPlan(status))),
  };
  return plans[goal];
}

function proposal(proposed: Need): Plan {
  const answer = () =>
    "Here is a plan for the report. Nothing runs until you approve it. Its calls pass their results on by " +
    "reference, and calls that do not depend on each other run at the same time.";
  return { stages: [[proposed]], answer };
}

function reportPlan(status: string | undefined): JSONObject {
  const call = (tool: string, output: string, input: JSONObject) => ({
    _id: output,
    _tool: tool,
    ...input,
    _outputPath: `†${output}`,
  });
  return {
    name: "Report on the orders of 2025",
    calls: [
      call("list_orders", "orders", status === undefined ? {} : { status }),
      call("monthly_totals", "totals", { orders: "†orders" }),
      call("summarize_orders", "summary", { orders: "†orders", currency: "USD" }),
      call("write_report", "report", {
        title: "Orders in 2025",
        totals: "†totals",
        summary: "†summary",
      }),
    ],
  };
}

function earlierList(
  { earlier }: DemoConversation,
  status: string | undefined,
): Outcome | undefined {
  return outcomesOf("list_orders", earlier).find(
    ({ input, result }) =>
      result.kind === "variable" && (isObject(input) ? input["status"] : undefined) === status,
  );
}

// An empty list has no first order to take the currency from.
function summaryInput(list: Need): JSONObject {
  const isEmpty = variableOf(list)?.count === 0;
  const currency = isEmpty ? "USD" : `${reference(list)}[0].currency`;
  return { orders: reference(list), currency };
}

function sayWeather(variable: Variable): string {
  const it = `$${variable.name}`;
  const shown = ["city", "temperature", "humidity", "conditions"];
  if (!shown.every((field) => hasField(variable, field))) return `Here is the weather:\n\n${it}`;
  return `It is ${it}.temperature °C in ${it}.city with ${it}.humidity % humidity: ${it}.conditions.`;
}

function sayComparison(variable: Variable): string {
  const it = `$${variable.name}`;
  return hasField(variable, "summary") ? `${it}.summary` : `Here is the comparison:\n\n${it}`;
}

function sayOrders(list: Need, status: string | undefined): string {
  const variable = variableOf(list);
  const orders = status === undefined ? "orders" : `${status} orders`;
  if (variable?.count === 0) return `There are no ${orders}.`;
  const first = `${reference(list)}[0]`;
  const count =
    variable?.count === undefined
      ? `Here are the ${orders}`
      : `There are ${variable.count} ${orders}`;
  return `${count}, kept as ${variable?.name ?? ""}. The first is ${first}.id from ${first}.customer, worth ${first}.total ${first}.currency.`;
}

function sayTotals(totals: Need): string {
  return `Here are the monthly totals:\n\n${reference(totals)}\n\nAsk for a report to have them written up.`;
}

function saySummary(summary: Need): string {
  const it = reference(summary);
  return (
    `${it}.count orders come to ${it}.total ${it}.currency, ${it}.average ${it}.currency each on ` +
    `average. The largest is ${it}.largest.id with ${it}.largest.total ${it}.currency.`
  );
}

function sayEach(needs: readonly Need[]): string {
  return needs.map(sayOne).filter(isNotEmpty).join("\n\n");
}

function sayOne({ toolName, outcome, say: speak }: Need): string {
  if (outcome === undefined) return "";
  const { result } = outcome;
  if (result.kind === "variable") return speak?.(result) ?? "";
  const place = placeOf(outcome);
  return `I could not use ${toolName}${place && ` for ${place}`}: ${result.message}`;
}

function outcomesOf(toolName: string, outcomes: readonly Outcome[]): readonly Outcome[] {
  return outcomes.filter((outcome) => outcome.toolName === toolName);
}

function placeOf({ input }: Outcome): string {
  return isObject(input) && typeof input["location"] === "string" ? input["location"] : "";
}

function hasField({ value, shape }: Variable, field: string): boolean {
  return isObject(value) ? field in value : shape.includes(`${field}:`);
}

function variableOf(need: Need | undefined): Variable | undefined {
  return need?.outcome?.result.kind === "variable" ? need.outcome.result : undefined;
}

function reference(need: Need | undefined): string {
  return `$${variableOf(need)?.name ?? ""}`;
}

function isObject(value: unknown): value is Readonly<Record<string, JSONValue>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNotEmpty(text: string): boolean {
  return text !== "";
}

function call(needs: readonly Need[]): DemoStep {
  return {
    kind: "calls",
    calls: needs.map(({ toolName, input }) => ({ toolName, input: input() })),
  };
}

function say(text: string): DemoStep {
  return { kind: "text", text };
}
