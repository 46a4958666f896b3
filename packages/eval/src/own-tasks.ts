import * as z from "zod";
import type { Json } from "../../../src/references.ts";
import { Random } from "./random.ts";
import { intact, lastCall, same, type Task, type ToolDefinition } from "./task.ts";
import { encoding } from "../../../src/internal.ts";

export interface TaskOptions {
  readonly isQuick: boolean;
  readonly count: number;
  readonly seed: number;
}

/** Characters of the documents. */
const SIZES = [1_000, 8_000, 32_000, 128_000, 1_000_000];
const QUICK_SIZES = [1_000, 8_000, 48_000];

/** Creates the tasks that need no data of others. The same options create the same tasks. */
export function ownTasks({ isQuick, count, seed }: TaskOptions): readonly Task[] {
  const sizes = isQuick ? QUICK_SIZES : SIZES;
  const kinds = isQuick ? (["csv", "json"] as const) : documentKinds;
  return Array.from({ length: count }, (_, index) => seed + index).flatMap((seed) => [
    ...sizes.flatMap((size) => kinds.map((kind) => bytesTask(kind, size, seed))),
    ...(isQuick ? [8_000] : [4_000, 32_000]).map((size) => editTask(size, seed)),
    idsTask(seed),
    joinTask(isQuick ? 60 : 600, seed),
    distractorTask(seed),
  ]);
}

/** A document that must pass from one tool to another unchanged. */
export function bytesTask(kind: DocumentKind, size: number, seed: number): Task {
  const random = new Random(seed);
  const content = documentOf(kind, size, random);
  const [name, copy] = [`${kind}-${seed}`, `copy-${seed}`];
  return {
    id: `bytes-${kind}-${size}-${seed}`,
    family: "bytes",
    question: `Fetch the document "${name}" with fetch_document, then store it unchanged as "${copy}" with store_document. Answer "done" when it is stored.`,
    tools: documentTools(content),
    check: (received) => intact(content, lastCall(received, "store_document")?.content),
  };
}

/** A tool that returns a value, whatever it is given. */
function returning(value: Json, description: string, input: ToolDefinition["input"] = {}) {
  return { description, input, run: () => value };
}

const recordList = z.array(z.record(z.string(), z.json()));

/** `fetch_document` returns the content, and `store_document` takes one of its type. */
function documentTools(content: Json): Task["tools"] {
  const own = typeof content === "string" ? z.string() : recordList;
  const stored = { name: z.string(), content: own };
  return {
    fetch_document: returning(content, "Returns the content of a document.", { name: z.string() }),
    store_document: returning({ stored: true }, "Stores a document under a name.", stored),
  };
}

/** One field of one record changes; everything else must arrive as it was. */
function editTask(size: number, seed: number): Task {
  const random = new Random(seed);
  const records = recordsOf(size, random);
  const { id } = random.one(records);
  const expected = records.map((record) =>
    record.id === id ? { ...record, status: "closed" } : record,
  );
  return {
    id: `edit-${size}-${seed}`,
    family: "edit",
    question: `Fetch the document "list-${seed}" with fetch_document. In the record whose "id" is "${id}", change "status" to "closed", and change nothing else. Store the whole document as "list-${seed}-b" with store_document. Answer "done" when it is stored.`,
    tools: documentTools(records),
    check: (received) => intact(expected, lastCall(received, "store_document")?.content),
  };
}

const SHIPMENTS = 40;

/** The ids of forty records go from one call into the next. */
export function idsTask(seed: number): Task {
  const random = new Random(seed);
  const shipments = Array.from({ length: SHIPMENTS }, () => ({
    id: `${codeOf(random)}-${random.next().toString(16)}`,
    city: random.one(CITIES),
    note: sentenceOf(random, 8),
  }));
  const ids = shipments.map(({ id }) => id);
  return {
    id: `ids-${seed}`,
    family: "ids",
    question: `Call list_shipments, then cancel all ${SHIPMENTS} shipments with one call of cancel_shipments. Answer "done" when they are cancelled.`,
    tools: {
      list_shipments: returning(shipments, "Returns all shipments."),
      cancel_shipments: {
        description: "Cancels the shipments with these ids.",
        input: { ids: z.array(z.string()) },
        run: ({ ids: given }) => ({ cancelled: Array.isArray(given) ? given.length : 0 }),
      },
    },
    check: (received) => intact(ids, lastCall(received, "cancel_shipments")?.ids),
  };
}

const COUNTRIES = ["NO", "IT", "FR", "PT", "AT"];

/** A total over two results that have to be joined. */
export function joinTask(orders: number, seed: number): Task {
  const random = new Random(seed);
  const customers = Array.from({ length: Math.ceil(orders / 10) }, (_, index) => ({
    id: `c-${index + 1}`,
    name: nameOf(random),
    country: random.one(COUNTRIES),
  }));
  const list = Array.from({ length: orders }, (_, index) => ({
    id: `o-${index + 1}`,
    customer: random.one(customers).id,
    amount: random.between(1, 500),
    note: sentenceOf(random, 5),
  }));
  const country = random.one(customers).country;
  const chosen = new Set(customers.filter((one) => one.country === country).map(({ id }) => id));
  const total = list
    .filter(({ customer }) => chosen.has(customer))
    .reduce((sum, { amount }) => sum + amount, 0);
  return {
    id: `join-${orders}-${seed}`,
    family: "join",
    question: `Call list_orders and list_customers. Add up the "amount" of all orders whose "customer" is the "id" of a customer with the "country" "${country}", and report the sum with report_total. Answer "done" when it is reported.`,
    tools: {
      list_orders: returning(list, "Returns all orders."),
      list_customers: returning(customers, "Returns all customers."),
      report_total: returning({ reported: true }, "Reports a sum.", { total: z.number() }),
    },
    check: (received) => same(total, lastCall(received, "report_total")?.total),
  };
}

/** Prices, shell variables, LaTeX and templates stay as they are. */
function distractorTask(seed: number): Task {
  const random = new Random(seed);
  const price = () => `$${random.between(1, 2_000)}.${random.between(10, 99)}`;
  const all = [
    `The fee is ${price()}, formerly ${price()}; US$${random.between(2, 90)} at the door.`,
    `Run cp "$HOME/.profile" $\{TMPDIR:-/tmp}/backup-$USER && echo $PATH $1 $@`,
    String.raw`With $x^${random.between(2, 9)} + y_1$ and $$\sum_{i=0}^{n} a_i$$ the sum is $n \to \infty$.`,
    "Dear {{name}}, your order {{ order.id }} costs {{total}}.",
    "In jQuery $(this).val(), in PHP $order['total'] and $items[0]->id.",
    `A footnote† and $name alone; ${sentenceOf(random, 8)}`,
  ];
  const lines = all
    .map((line) => ({ line, at: random.next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ line }) => line);
  const text = lines.join("\n");
  return {
    id: `distractors-${seed}`,
    family: "distractors",
    question: `Pass exactly the text between <text> and </text>, without the line breaks beside the tags, to store_text. Answer "done" when it is stored.\n<text>\n${text}\n</text>`,
    tools: {
      store_text: returning({ stored: true }, "Stores a text.", { text: z.string() }),
    },
    check: (received) => intact(text, lastCall(received, "store_text")?.text),
  };
}

/** A kind of data that is passed from one tool to another. */
type DocumentKind = "base64" | "csv" | "json" | "text";

const documentKinds: readonly DocumentKind[] = ["base64", "csv", "json", "text"];

/** Creates a document of about this many characters. All records differ, so that none can be guessed. */
function documentOf(kind: DocumentKind, chars: number, random: Random): Json {
  switch (kind) {
    case "base64":
      return encoding.toBase64(
        Uint8Array.from({ length: (chars / 4) * 3 }, () => random.between(0, 255)),
      );
    case "csv": {
      const lines = itemsFor(chars, (at) => {
        const { id, name, city, amount, date, note } = recordOf(at, random);
        return [id, name, city, amount, date, `"${note}"`].join(",");
      });
      return ["id,name,city,amount,date,note", ...lines].join("\n");
    }
    case "json":
      return recordsOf(chars, random);
    case "text": {
      const line = (at: number) => `${at}. ${sentenceOf(random, 14)} Ref ${codeOf(random)}.`;
      return itemsFor(chars, line).join("\n");
    }
  }
}

/** Makes items, numbered from 1, until they have this many characters together. */
function itemsFor<Item extends Json>(chars: number, itemOf: (number: number) => Item): Item[] {
  const items: Item[] = [];
  for (let length = 0; length < chars;) {
    const item = itemOf(items.length + 1);
    items.push(item);
    length += (typeof item === "string" ? item : JSON.stringify(item)).length + 1;
  }
  return items;
}

/** A record of a document. Ids are `r-1`, `r-2` … */
interface DocumentRecord {
  readonly [key: string]: Json;
  readonly id: string;
  readonly status: string;
}

/** Creates records of about this many characters as JSON. */
function recordsOf(chars: number, random: Random): readonly DocumentRecord[] {
  return itemsFor(chars, (at) => recordOf(at, random));
}

function recordOf(number: number, random: Random): DocumentRecord {
  return {
    id: `r-${number}`,
    name: nameOf(random),
    city: random.one(CITIES),
    amount: random.between(1, 99_999) / 100,
    date: `2026-${padded(random.between(1, 12))}-${padded(random.between(1, 28))}`,
    status: "open",
    note: sentenceOf(random, 6),
  };
}

function sentenceOf(random: Random, words: number): string {
  const all = Array.from({ length: words }, () =>
    random.chance(0.15) ? String(random.between(2, 9_999)) : random.one(WORDS),
  );
  const sentence = all.join(" ");
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}

/** Creates a code such as `QK7-48213`, which cannot be guessed. */
function codeOf(random: Random): string {
  const letters = Array.from({ length: 2 }, () => random.one([..."ABCDEFGHJKLMNPQRSTUVWXYZ"]));
  return `${letters.join("")}${random.between(2, 9)}-${random.between(10_000, 99_999)}`;
}

function nameOf(random: Random): string {
  return `${random.one(FIRST_NAMES)} ${random.one(LAST_NAMES)}`;
}

function padded(number: number): string {
  return String(number).padStart(2, "0");
}

const CITIES = ["Oslo", "Rome", "Lyon", "Porto", "Graz", "Turku", "Ghent", "Cork", "Brno"];
const FIRST_NAMES = ["Ada", "Lin", "Omar", "Noor", "Ivo", "Mei", "Sara", "Tom", "Uma", "Per"];
const LAST_NAMES = ["Vane", "Okoro", "Silva", "Haug", "Novak", "Tanaka", "Reyes", "Berg", "Diallo"];
const WORDS = (
  "harbor invoice seven blue paper pump late north margin copper window train signal garden early " +
  "report river closed carton engine winter label second bridge morning order yellow cable return"
).split(" ");
