import type { JSONObject } from "@ai-sdk/provider";
import type {
  DemoCall,
  DemoPrompt,
  DemoScript,
  DemoStep,
  Outcome,
  Variable,
} from "../../packages/testing/src/demo.ts";
import { findCity } from "../agents/climate-normals.ts";
import { orderStatuses } from "../agents/orders.ts";

/** Yields the calls of a step, receives the variables of their results, and returns the answer. */
type Play = Generator<readonly DemoCall[], string, readonly (Variable | undefined)[]>;

type Groups = Readonly<Record<string, string | undefined>>;

/** A question, and the tools without which its play does not begin. */
interface Scene {
  readonly says: RegExp;
  readonly needs: readonly string[];
  readonly play: (groups: Groups, conversation: DemoPrompt["conversation"]) => Play;
}

const POLITE = /^please |(?:,? please)?[?!.\s]*$/giu;
/** With these words a question is another one. */
const OTHERWISE = /\b(?:not|never|except|without|than|if|when|tomorrow|yesterday|next|last)\b/iu;
const ORDERS = `(?:(?:of|on|about|for) )?(?:(?:my|the|all) )*(?<status>${orderStatuses.join("|")})? ?orders`;

const SCENES: readonly Scene[] = [
  {
    says: /^refund (?:the )?(?:order )?(?<id>ord_\d{5})$/iu,
    needs: ["get_order", "refund_order"],
    play: refund,
  },
  {
    says: /^remember (?:that )?my address(?: is|:)? (?<address>\S.{0,199})$/iu,
    needs: ["set_variable"],
    play: keepAddress,
  },
  {
    says: /^send me (?:an? |the |some )?(?<item>[\p{L}\d][\p{L}\d -]{0,59})$/iu,
    needs: ["send_parcel"],
    play: sendParcel,
  },
  {
    says: /^(?:change|update) the prices on (?:my|the) page(?:,? (?:and|then) publish it)?$/iu,
    needs: ["get_page", "publish_page"],
    play: changePage,
  },
  { says: /^(?:make|write) (?:me )?a plan\b/iu, needs: [], play: proposePlan },
  {
    says: new RegExp(`^(?:write|make) (?:me )?(?:a|the) report(?: ${ORDERS})?$`, "iu"),
    needs: ["list_orders", "monthly_totals", "summarize_orders", "write_report"],
    play: writeReport,
  },
  {
    says: new RegExp(
      `^(?:(?:what are|show|show me) )?(?:the )?monthly totals(?: of \\$(?<list>\\w+)| ${ORDERS})?$`,
      "iu",
    ),
    needs: ["list_orders", "monthly_totals"],
    play: sayTotals,
  },
  {
    says: new RegExp(`^summari[sz]e (?:\\$(?<list>\\w+)|${ORDERS})$`, "iu"),
    needs: ["list_orders", "summarize_orders"],
    play: saySummary,
  },
  {
    says: new RegExp(`^(?:show|list)(?: me)? ${ORDERS}$`, "iu"),
    needs: ["list_orders"],
    play: listOrders,
  },
  {
    says: /^(?:compare(?: the weather)?(?: (?:in|of))?)(?: (?<places>.+))?$/iu,
    needs: ["get_weather", "compare_weather"],
    play: compareWeather,
  },
  {
    says: /^(?:(?:what(?:'s| is)|how is|show|show me|and) )?(?:the )?weather(?: like)?(?: (?:in|of|for|at))?(?: (?<places>.+))?$/iu,
    needs: ["get_weather"],
    play: sayWeather,
  },
  {
    says: /^(?:and|what about|how about|and what about)(?: in)? (?<places>.+)$/iu,
    needs: ["get_weather"],
    play: sayWeather,
  },
];

/** The questions of the example agents. */
export const shop: DemoScript = {
  examples: {
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
  },
  step(prompt) {
    const { conversation, tools } = prompt;
    const text = conversation.question.replaceAll(/\s+/gu, " ").trim().replaceAll(POLITE, "");
    if (text.length > 500 || OTHERWISE.test(text)) return undefined;
    for (const { says, needs, play } of SCENES) {
      const match = says.exec(text);
      if (match === null) continue;
      const absent = needs.find((name) => tools.every((tool) => tool.name !== name));
      if (absent === undefined) return nextStep(play(match.groups ?? {}, conversation), prompt);
      // A variable may contain the result that another agent's tool would return.
      if (conversation.variables.size > 0) return undefined;
      const why = `I cannot do that here, because the tool ${absent} is not offered`;
      return { kind: "refusal", why };
    }
    return undefined;
  },
};

/** Plays with the outcomes since the question, up to the first calls that have none. */
function nextStep(play: Play, { conversation }: DemoPrompt): DemoStep {
  const left = [...conversation.thisTurn];
  for (let received: readonly (Variable | undefined)[] = []; ;) {
    const next = play.next(received);
    if (next.done === true) return { kind: "text", text: next.value };
    const outcomes = next.value.map(({ toolName }) => {
      const at = left.findIndex((outcome) => outcome.toolName === toolName);
      return at < 0 ? undefined : left.splice(at, 1)[0];
    });
    const calls = next.value.filter((_, at) => outcomes[at] === undefined);
    if (calls.length > 0) return { kind: "calls", calls };
    const failed = outcomes.flatMap((outcome) => (outcome && sayFailure(outcome)) ?? []);
    received = outcomes.map((outcome) => variableOf(outcome));
    if (failed.length > 0) {
      const shown = received.flatMap((one) =>
        one && "city" in Object(one.value) ? said(one) : [],
      );
      return { kind: "text", text: [...shown, ...failed].join("\n\n") };
    }
  }
}

function variableOf(outcome: Outcome | undefined): Variable | undefined {
  return outcome?.result.kind === "variable" ? outcome.result : undefined;
}

/** Undefined for a result, a plan that waits for a person's approval, and a saved value of the user. */
function sayFailure({ toolName, input, result }: Outcome): string | undefined {
  if (result.kind === "variable") return undefined;
  const value = Object(result.value) as object;
  if ("plan" in value || "saved" in value) return undefined;
  const { location } = Object(input) as { readonly location?: unknown };
  const place = typeof location === "string" ? ` for ${location}` : "";
  return `I could not use ${toolName}${place}: ${result.message}`;
}

const call = (toolName: string, input: JSONObject): DemoCall => ({ toolName, input });
const reference = (variable: Variable | undefined) => `$${variable?.name ?? ""}`;

function* refund({ id = "" }: Groups): Play {
  const [order] = yield [call("get_order", { id: id.toLowerCase() })];
  const it = reference(order);
  const input = { order: `${it}.id`, amount: `${it}.total`, currency: `${it}.currency` };
  const [refunded] = yield [call("refund_order", input)];
  const done = reference(refunded);
  return `${done}.amount ${done}.currency of ${done}.order are paid back to ${it}.customer.`;
}

/** Saves the address as a value of the user, which all conversations have. */
function* keepAddress({ address = "" }: Groups): Play {
  yield [call("set_variable", { name: "address", value: address, scope: "user" })];
  return 'I keep it for all your conversations: $user.address. Say "Send me a lamp.", here or in a new one.';
}

function* sendParcel({ item = "" }: Groups): Play {
  const [sent] = yield [call("send_parcel", { item, to: "$user.address" })];
  return `The ${item} is on its way to ${reference(sent)}.to.`;
}

function* changePage(): Play {
  const path = "/prices";
  const [page] = yield [call("get_page", { path })];
  const edits = [
    { find: "<title>Prices 2025</title>", replace: "<title>Prices 2026</title>" },
    { find: "EUR 19", replace: "EUR 21", all: true },
  ];
  yield [call("edit_variable", { name: page?.name ?? "", edits })];
  const [published] = yield [call("publish_page", { path, html: reference(page) })];
  return `The page is published, with ${reference(published)}.characters characters. I wrote about 200 tokens of it.`;
}

function* proposePlan(): Play {
  const planned = (tool: string, output: string, input: JSONObject) => {
    return { _id: output, _tool: tool, ...input, _outputPath: `†${output}` };
  };
  const orders = "†orders";
  const report = { title: "Orders in 2025", totals: "†totals", summary: "†summary" };
  const calls = [
    planned("list_orders", "orders", {}),
    planned("monthly_totals", "totals", { orders }),
    planned("summarize_orders", "summary", { orders, currency: "USD" }),
    planned("write_report", "report", report),
  ];
  yield [call("propose_plan", { name: "Report on the orders of 2025", calls })];
  return (
    "Here is a plan for the report. Nothing runs until you approve it. Its calls pass their results on by " +
    "reference, and calls that do not depend on each other run at the same time."
  );
}

type Conversation = DemoPrompt["conversation"];

/** The orders that the question names, or those of an earlier turn, or new ones. */
function* ordersFor(groups: Groups, { variables, earlier }: Conversation): PlayOf<Variable> {
  const input = statusIn(groups);
  const named = variables.get(groups["list"] ?? "");
  const isSame = (outcome: Outcome) =>
    outcome.toolName === "list_orders" && JSON.stringify(outcome.input) === JSON.stringify(input);
  const before = earlier.find((outcome) => isSame(outcome) && outcome.result.kind === "variable");
  return named ?? variableOf(before) ?? (yield [call("list_orders", input)])[0];
}

type PlayOf<Result> = Generator<
  readonly DemoCall[],
  Result | undefined,
  readonly (Variable | undefined)[]
>;

const statusIn = ({ status }: Groups): JSONObject =>
  status === undefined ? {} : { status: status.toLowerCase() };

function* listOrders(groups: Groups): Play {
  const input = statusIn(groups);
  const [list] = yield [call("list_orders", input)];
  const orders = "status" in input ? `${String(input["status"])} orders` : "orders";
  if (list?.count === 0) return `There are no ${orders}.`;
  const first = `${reference(list)}[0]`;
  return `There are ${list?.count ?? "some"} ${orders}, kept as ${list?.name ?? ""}. The first is ${first}.id from ${first}.customer, worth ${first}.total ${first}.currency.`;
}

function* sayTotals(groups: Groups, conversation: Conversation): Play {
  const orders = reference(yield* ordersFor(groups, conversation));
  const [totals] = yield [call("monthly_totals", { orders })];
  return `Here are the monthly totals:\n\n${reference(totals)}\n\nAsk for a report to have them written up.`;
}

const summaryOf = (list: Variable | undefined) => {
  const orders = reference(list);
  // An empty list has no first order to take the currency from.
  return call("summarize_orders", {
    orders,
    currency: list?.count === 0 ? "USD" : `${orders}[0].currency`,
  });
};

function* saySummary(groups: Groups, conversation: Conversation): Play {
  const [summary] = yield [summaryOf(yield* ordersFor(groups, conversation))];
  const it = reference(summary);
  return (
    `${it}.count orders come to ${it}.total ${it}.currency, ${it}.average ${it}.currency each on ` +
    `average. The largest is ${it}.largest.id with ${it}.largest.total ${it}.currency.`
  );
}

function* writeReport(groups: Groups, conversation: Conversation): Play {
  const list = yield* ordersFor(groups, conversation);
  const made = yield [call("monthly_totals", { orders: reference(list) }), summaryOf(list)];
  const [totals, summary] = made.map(reference);
  const input = { title: "Orders in 2025", totals: totals ?? "", summary: summary ?? "" };
  return reference((yield [call("write_report", input)])[0]);
}

/** The places of a question in their order, each city once. */
function placesIn({ places = "" }: Groups): readonly string[] {
  const all = places
    .split(/,? (?:and|with|to|vs\.?|versus) (?:in |of )?|, (?:in )?/iu)
    .map((place) => place.replace(/^(?:in|the weather in) |['’]s$/giu, ""))
    .filter((place) => !/^(?:them|it|)$/iu.test(place));
  return [...new Map(all.map((place) => [findCity(place) ?? place, place])).values()].slice(0, 10);
}

const readingOf = (location: string) => call("get_weather", { location });

function said({ name, value }: Variable): string {
  return "city" in Object(value)
    ? `It is $${name}.temperature °C in $${name}.city with $${name}.humidity % humidity: $${name}.conditions.`
    : `Here is the weather:\n\n$${name}`;
}

const saidOf = (readings: readonly (Variable | undefined)[]) =>
  readings.map((reading) => (reading === undefined ? "" : said(reading)));

function* sayWeather(groups: Groups): Play {
  const places = placesIn(groups);
  if (places.length === 0)
    return "Which city? I know forty, for example New York, London and Tokyo.";
  return saidOf(yield places.map(readingOf)).join("\n\n");
}

/** Compares the first city with the others. Cities that the question lacks are those of earlier turns. */
function* compareWeather(groups: Groups, { earlier }: Conversation): Play {
  const places = placesIn(groups);
  const seen = new Set(places.map(findCity));
  const known = earlier.flatMap((outcome) => {
    const { location } = Object(outcome.input) as { readonly location?: string };
    const [city, reading] = [findCity(location ?? ""), variableOf(outcome)];
    if (outcome.toolName !== "get_weather" || reading === undefined || seen.has(city)) return [];
    seen.add(city);
    return [reading];
  });
  const asked = places.length === 0 ? [] : yield places.map(readingOf);
  const [first, ...others] = [
    ...known.slice(0, Math.max(0, 2 - places.length)).toReversed(),
    ...asked,
  ];
  const parts = saidOf(asked);
  if (others.length === 0)
    return [...parts, "Name two cities to compare, such as NYC and London."].join("\n\n");
  const city1 = reference(first);
  const compared = yield others.map((other) =>
    call("compare_weather", { city1, city2: reference(other) }),
  );
  return [...parts, ...compared.map((one) => `${reference(one)}.summary`)].join("\n\n");
}
