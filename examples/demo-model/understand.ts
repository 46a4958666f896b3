import { findCityMentions } from "../agents/climate-normals.ts";
import { orderStatuses } from "../agents/orders.ts";

export type OrderGoal = "list" | "totals" | "summary" | "report" | "plan";
type OrderStatus = (typeof orderStatuses)[number];

export type Intent =
  | { readonly kind: "introduce" }
  | { readonly kind: "page" }
  | {
      readonly kind: "weather";
      /** Places as written in the question, in order, each city once. */
      readonly places: readonly string[];
      readonly compares: boolean;
    }
  | {
      readonly kind: "orders";
      readonly goal: OrderGoal;
      readonly status: OrderStatus | undefined;
    };

const weatherWords = new Set(
  "weather temperature temperatures forecast climate hot cold warm humid humidity windy".split(" "),
);
const compareWords = new Set(
  "compare comparison versus vs warmer colder hotter cooler difference".split(" "),
);
const pageWords = new Set("page pages publish website".split(" "));
const orderWords = new Set("order orders sales revenue".split(" "));
// The first goal with a word in the question wins, because a plan and a report include the others.
const goalWords: readonly (readonly [OrderGoal, ReadonlySet<string>])[] = [
  ["plan", new Set(["plan"])],
  ["report", new Set(["report"])],
  ["totals", new Set(["totals", "monthly", "month", "months"])],
  ["summary", new Set("summary summarize summarise summarized overview".split(" "))],
];
const maxPlaces = 10;
const identityQuestions = ["who are you", "what are you", "what can you do", "your name"];
const wordsAfterPlace = new Set(
  "today now right currently tomorrow tonight please this like at and then".split(" "),
);

/** Classifies the question. Returns `introduce` for everything that the demo model does not understand. */
export function understand(question: string): Intent {
  const words = wordsOf(question);
  const text = words.join(" ");
  const has = (known: ReadonlySet<string>) => words.some((word) => known.has(word));
  const goal = goalWords.find(([, known]) => has(known))?.[0];
  if (identityQuestions.some((identity) => text.includes(identity))) return { kind: "introduce" };
  if (has(weatherWords)) return weatherIntent(question, has(compareWords));
  if (has(pageWords)) return { kind: "page" };
  if (has(orderWords)) return ordersIntent(goal ?? "list", words);
  if (findCityMentions(question).length > 0 || has(compareWords)) {
    return weatherIntent(question, has(compareWords));
  }
  return goal === undefined ? { kind: "introduce" } : ordersIntent(goal, words);
}

function ordersIntent(goal: OrderGoal, words: readonly string[]): Intent {
  return { kind: "orders", goal, status: orderStatuses.find((status) => words.includes(status)) };
}

function weatherIntent(question: string, compares: boolean): Intent {
  const mentionsByCity = Map.groupBy(findCityMentions(question), (mention) => mention.city);
  const known = Array.from(mentionsByCity.values(), ([first]) => first?.text ?? "");
  return {
    kind: "weather",
    places: known.length > 0 ? known.slice(0, maxPlaces) : unknownPlace(question),
    compares,
  };
}

/** The words after "in", up to punctuation. Empty without an "in". */
function unknownPlace(question: string): readonly string[] {
  const words = question.split(/\s/u).filter((word) => word !== "");
  const after = words.slice(words.findIndex((word) => word.toLowerCase() === "in") + 1);
  if (after.length === words.length) return [];
  const place: string[] = [];
  for (const word of after) {
    const bare = word.split(/[?!.,;:]/u)[0] ?? "";
    if (bare === "" || wordsAfterPlace.has(bare.toLowerCase())) break;
    place.push(bare);
    if (bare !== word) break;
  }
  return place.length === 0 ? [] : [place.join(" ").slice(0, 100)];
}

function wordsOf(text: string): readonly string[] {
  return Array.from(text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu), (match) => match[0]);
}
