import type { Page } from "playwright-core";
import type { BrowserPage } from "./browser.ts";

interface WalkOptions {
  readonly actions: number;
  /** The same seed and server give nearly the same walk. */
  readonly seed: number;
  /** Receives the number of actions done, from time to time. */
  readonly onProgress?: (done: number) => void;
}

interface Walked {
  /** Uncaught errors and views that failed to render, each with the actions that led to it. */
  readonly errors: readonly string[];
  /** Number of actions of each kind. */
  readonly done: Readonly<Record<string, number>>;
}

const TEXTS = [
  "Summarize my orders.",
  "Compare the weather in Oslo and Cairo",
  "What is the average total by country in $list_orders_1?",
  "Make a plan: monthly totals of my orders, then a report.",
  "$nothing[0].x and {{a}} and </script>",
  "SELECT * FROM list_orders_1 LIMIT 3",
  '{"a": [1, null, "x"]}',
  "{",
  "3 d",
  "📎 ".repeat(40),
  "long_".repeat(300),
  "",
];
const KEYS = ["Escape", "Tab", "Enter", "ArrowDown", "ArrowUp", "ArrowRight", "End", "/", "?"];
const SIZES = [
  { width: 1_280, height: 800 },
  { width: 390, height: 844 },
  { width: 640, height: 400 },
  { width: 1_700, height: 950 },
];
const FILES = [
  ["walk.csv", "city,total\nOslo,3\nRome,4\n"],
  ["walk.json", '{"deep": {"er": [1, 2, {"x": null}]}}'],
  ["broken.json", "{"],
  ["walk.bin", "\0\u0001\u0002"],
] as const;

/** Performs random actions in every view of the page, as a hurried user would. */
export async function walkAtRandom(
  { page, complaints }: BrowserPage,
  { actions, seed, onProgress }: WalkOptions,
): Promise<Walked> {
  const random = randomOf(seed);
  const errors: string[] = [];
  const done: Record<string, number> = {};
  const last: string[] = [];
  const thrown: string[] = [];
  page.on("pageerror", (error) => thrown.push(String(error.stack)));
  const walk = { page, random, url: page.url().replace(/#.*$/, "") };
  for (let count = 0; count < actions; count++) {
    const { kind, what } = await act(walk);
    done[kind] = (done[kind] ?? 0) + 1;
    last.push(`${kind} ${what}`);
    if (last.length > LAST) last.shift();
    const broken = await page
      .locator(".view-failed")
      .count()
      .catch(() => 0);
    if (broken > 0) thrown.push(`A view failed: ${complaints.slice(-3).join(" ")}`);
    for (const error of thrown.splice(0)) errors.push(`${error}\nafter ${last.join("\n      ")}`);
    if (broken > 0) await page.reload();
    if ((count + 1) % PROGRESS_EVERY === 0) onProgress?.(count + 1);
  }
  return { errors, done };
}

const LAST = 8;
const PROGRESS_EVERY = 250;

interface Walk {
  readonly page: Page;
  /** Returns a number from 0 up to, but not including, 1. */
  readonly random: () => number;
  /** URL of the page, without a conversation. */
  readonly url: string;
}

interface Done {
  readonly kind: string;
  readonly what: string;
}

/**
 * Performs one action. An action that is impossible at the moment, such as pressing a control that is gone,
 * is not an error.
 */
async function act({ page, random, url }: Walk): Promise<Done> {
  const of = <Item>(items: readonly Item[]): Item =>
    items[Math.floor(random() * items.length)] as Item;
  const dice = random();
  if (dice < 0.72) return { kind: "press", what: await press(page, random()) };
  if (dice < 0.84) return { kind: "write", what: await writeIn(page, random(), of(TEXTS)) };
  if (dice < 0.9) {
    const key = of(KEYS);
    await page.keyboard.press(key);
    return { kind: "key", what: key };
  }
  if (dice < 0.93) {
    await page.mouse.wheel(0, (random() - 0.3) * 4_000);
    return { kind: "scroll", what: "" };
  }
  if (dice < 0.96) {
    const [name, text] = of(FILES);
    await drop(page, name, text);
    return { kind: "drop", what: name };
  }
  if (dice < 0.98) {
    const size = of(SIZES);
    await page.setViewportSize(size);
    return { kind: "resize", what: String(size.width) };
  }
  if (dice < 0.99) {
    await page.goBack({ waitUntil: "commit" }).catch(() => null);
    if (!page.url().startsWith(url)) await page.goto(url);
    return { kind: "back", what: "" };
  }
  await page.goto(random() < 0.5 ? page.url() : url);
  return { kind: "load", what: page.url() };
}

const CONTROLS =
  "a[href^='#'], button:enabled, [role=button], summary, select, [role=tab], .variables-grip, input[type=checkbox]";
const FIELDS = "textarea, input:not([type=file]):not([type=checkbox])";

/** Presses one of the visible controls, at its position. */
async function press(page: Page, share: number): Promise<string> {
  const found = await pick(page, CONTROLS, share);
  if (found === undefined) return "nothing";
  if (found.isSelect) {
    await page.evaluate(`(() => {
      const select = document.querySelector("[data-walk]");
      if (select === null) return;
      select.selectedIndex = ${Math.floor(share * 100)} % select.options.length;
      select.dispatchEvent(new Event("change", { bubbles: true }));
    })()`);
    return found.words;
  }
  await page.mouse.click(found.x, found.y);
  return found.words;
}

async function writeIn(page: Page, share: number, text: string): Promise<string> {
  const found = await pick(page, FIELDS, share);
  if (found === undefined) return "nothing";
  await page.mouse.click(found.x, found.y, { clickCount: 3 });
  await page.keyboard.insertText(text);
  if (share * 10 - Math.floor(share * 10) < 0.7) await page.keyboard.press("Enter");
  return `${found.words}: ${text.slice(0, 40)}`;
}

interface Picked {
  readonly x: number;
  readonly y: number;
  readonly words: string;
  readonly isSelect: boolean;
}

async function pick(page: Page, selector: string, share: number): Promise<Picked | undefined> {
  return (await page.evaluate(`(() => {
    document.querySelector("[data-walk]")?.removeAttribute("data-walk");
    const scope = document.querySelector("dialog[open]") ?? document;
    const all = [...scope.querySelectorAll(${JSON.stringify(selector)})].filter((one) =>
      one.checkVisibility() && one.closest("[inert]") === null);
    const one = all[Math.floor(${share} * all.length)];
    if (one === undefined) return undefined;
    one.scrollIntoView({ block: "nearest" });
    one.setAttribute("data-walk", "");
    const { left, top, width, height } = one.getBoundingClientRect();
    return {
      x: left + width / 2,
      y: top + height / 2,
      words: (one.ariaLabel ?? one.textContent ?? "").slice(0, 50),
      isSelect: one.localName === "select",
    };
  })()`)) as Picked | undefined;
}

async function drop(page: Page, name: string, text: string): Promise<void> {
  await page.evaluate(`(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}));
    const targets = [...document.querySelectorAll(".variables-panel, .composer")];
    const target = targets.find((one) => one.checkVisibility());
    for (const type of ["dragover", "drop"])
      target?.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  })()`);
}

/** Mulberry32, a small random number generator. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
