import { cityAt, wordsIn } from "../agents/climate-normals.ts";
import { orderStatuses } from "../agents/orders.ts";

export type OrderGoal = "list" | "totals" | "summary" | "report" | "plan";
type OrderStatus = (typeof orderStatuses)[number];

export type Intent =
  | { readonly kind: "page" }
  | { readonly kind: "refund"; readonly order: string }
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "parcel"; readonly item: string }
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
      /** A variable that the question names: `$sales`. */
      readonly list: string | undefined;
    };

const set = (words: string) => new Set(words.split(" "));
const weatherWords = set("weather temperature temperatures climate hot cold warm humid humidity");
const compareWords = set(
  "compare comparison versus vs warmer colder hotter cooler difference between which",
);
const placeWords = set("in for at about of and or with to");
const weatherPhrases = set(
  "what what's whats s how is are it the a then them please tell give show me like right now today current currently most all there",
);
const orderWords = set("order orders sales revenue");
// The first goal with a word in the question wins, because a plan and a report include the others.
const goalWords: readonly (readonly [OrderGoal, ReadonlySet<string>])[] = [
  ["plan", set("plan")],
  ["report", set("report")],
  ["totals", set("totals monthly month months")],
  ["summary", set("summary summarize summarise summarized overview")],
];
const orderPhrases = set(
  "what what's whats s are is the a an my me our i do have had how many there give show list tell make write create please then and of for on about all 2025",
);
const pageWords = set("page pages website publish price prices");
const pagePhrases = set("change update the on my and it please then");
const changing = set("change update publish");
const maxPlaces = 10;

/** Classifies the question. Returns undefined if it contains a word that is in none of these phrases. */
export function understand(question: string): Intent | undefined {
  if (question.length > 500) return undefined;
  return (
    refundIntent(question) ??
    parcelIntent(question) ??
    weatherIntent(question) ??
    pageIntent(question) ??
    ordersIntent(question)
  );
}

const REFUND = /^\s*(?:please )?refund (?:the )?(?:order )?(ord_\d{5})(?:,? please)?\s*[.!]?\s*$/iu;

function refundIntent(question: string): Intent | undefined {
  const order = REFUND.exec(question)?.[1]?.toLowerCase();
  return order === undefined ? undefined : { kind: "refund", order };
}

const ADDRESS =
  /^\s*(?:please )?remember (?:that )?my address(?: is|:)?\s+(\S.{1,199}?)\s*\.?\s*$/iu;
const PARCEL =
  /^\s*(?:please )?send me (?:an? |the |some )?([\p{L}\d][\p{L}\d -]{0,59}?)(?:,? please)?\s*[.!]?\s*$/iu;

function parcelIntent(question: string): Intent | undefined {
  const address = ADDRESS.exec(question)?.[1];
  if (address !== undefined) return { kind: "address", address };
  const item = PARCEL.exec(question)?.[1];
  return item === undefined ? undefined : { kind: "parcel", item };
}

function pageIntent(question: string): Intent | undefined {
  const words = wordsOf(question);
  const isPage =
    words.some((word) => pageWords.has(word)) && words.some((word) => changing.has(word));
  const isKnown = words.every((word) => pageWords.has(word) || pagePhrases.has(word));
  return isPage && isKnown ? { kind: "page" } : undefined;
}

function ordersIntent(question: string): Intent | undefined {
  const words = wordsOf(question.replaceAll(/\b(?:by|per) month\b/giu, "monthly"));
  const statuses = orderStatuses.filter((status) => words.includes(status));
  const goal = goalWords.find(([, known]) => words.some((word) => known.has(word)))?.[0];
  const isKnown = words.every(
    (word) =>
      orderWords.has(word) ||
      orderPhrases.has(word) ||
      statuses.some((status) => status === word) ||
      goalWords.some(([, known]) => known.has(word)),
  );
  const isAbout = goal !== undefined || words.some((word) => orderWords.has(word));
  if (!isKnown || !isAbout || statuses.length > 1) return undefined;
  const list = /\$(\w+)/u.exec(question)?.[1];
  return { kind: "orders", goal: goal ?? "list", status: statuses[0], list };
}

function weatherIntent(question: string): Intent | undefined {
  const words = wordsIn(question);
  const has = (known: ReadonlySet<string>) => words.some((word) => known.has(word.toLowerCase()));
  const compares = has(compareWords);
  const isAbout = has(weatherWords) || compares || words.some((_, at) => cityAt(words, at));
  const places = isAbout && !has(times) ? placesIn(words) : undefined;
  return places === undefined || places.length > maxPlaces
    ? undefined
    : { kind: "weather", places, compares };
}

/** The places in order, known or not, such as "in El Dorado"; undefined if other words remain. */
function placesIn(words: readonly string[]): readonly string[] | undefined {
  const places = new Map<unknown, string>();
  let country = "";
  for (let at = 0; at < words.length;) {
    const known = cityAt(words, at);
    const end = words.findIndex((word, index) => index >= at && isKnown(word));
    const name = known?.name ?? words.slice(at, end < 0 ? undefined : end);
    const place = name.join(" ").replace(/['’]s$/u, "");
    const isPlace = known !== undefined || placeWords.has(words[at - 1]?.toLowerCase() ?? "");
    if (!isPlace && place !== "" && place !== country) return undefined;
    const key = known?.city ?? place;
    if (isPlace && place !== "" && !places.has(key)) places.set(key, place);
    country = known?.city.country ?? "";
    at += Math.max(1, name.length);
  }
  return [...places.values()];
}

function isKnown(word: string): boolean {
  const all = [weatherWords, compareWords, placeWords, weatherPhrases];
  return all.some((known) => known.has(word.toLowerCase()));
}

const times = set(
  "not no never except without but than if when tomorrow tonight yesterday next last week weekend month year day hour january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday winter summer spring autumn",
);

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
