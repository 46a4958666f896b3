import { type ChatCompletions, type ChatStep, startChatCompletions } from "./chat-completions.ts";
import { startMcpServer, textResult } from "./mcp-server.ts";
import { startWorkerServer } from "./worker-server.ts";
import { offeredTools } from "./workflow-cases.ts";
import type { Locator, Page } from "playwright-core";
import { expect, test, vi } from "vitest";
import { type BrowserPage, type PageOptions, startBrowser } from "./browser.ts";

/** Starts a server whose model answers each question as its test has scripted. */
async function startScriptedPage() {
  const script = new Script();
  const endpoint = await startChatCompletions((body) => script.next(body));
  const mail = await startMcpServer([
    { name: "send_mail", answer: ({ text }) => textResult(`sent ${String(text)}`) },
    ...(await offeredTools()),
  ]);
  const tools = { send_mail: { approval: true } };
  const server = await startWorkerServer({
    MODEL: "openai-compatible:test-model",
    MODEL_BASE_URL: endpoint.url,
    MODEL_API_KEY: "key",
    MCP_SERVERS: JSON.stringify([{ name: "mail", url: mail.url, tools }]),
  });
  return {
    url: server.url,
    /** Offers `send_mail(text)`, which needs approval, and the tools of the specification's workflows. */
    mail,
    /** Scripts the model's answers to a question, one step per request. Each test asks a different question. */
    answer: (question: string, ...steps: readonly ChatStep[]) => script.say(question, steps),
    /** Returns how often the model was asked this question. */
    asked: (question: string) => script.asked(question),
    stop: async () => {
      await server.stop();
      await endpoint.down();
      await mail.down();
    },
  };
}

type Body = ChatCompletions["requests"][number]["body"];

const UNEXPECTED = { error: { message: "No test has said what is answered here." } };

class Script {
  readonly #steps = new Map<string, ChatStep[]>();
  readonly #asked = new Map<string, number>();

  say(question: string, steps: readonly ChatStep[]): void {
    this.#steps.set(question, [...(this.#steps.get(question) ?? []), ...steps]);
  }

  asked(question: string): number {
    return this.#asked.get(question) ?? 0;
  }

  next({ messages }: Body): ChatStep {
    const said = messages.filter(({ role }) => role === "user").map(({ content }) => content);
    // The runtime joins the question with what a person said before, and with the list of variables.
    const texts = said.flatMap((text) => (text ? [text, ...text.split("\n\n")] : []));
    const question = texts.findLast((text) => this.#steps.has(text)) ?? "";
    this.#asked.set(question, this.asked(question) + 1);
    const step = this.#steps.get(question)?.shift();
    return step ?? { kind: "status", status: 400, body: JSON.stringify(UNEXPECTED) };
  }
}

/** The key of the server with authentication. */
export const KEY = "a-key-of-the-tests-0123456789";

const GUARDED = { AUTH: "bearer", API_KEYS: JSON.stringify({ [KEY]: "acme" }) };

export interface OpenOptions extends PageOptions {
  /** Complaints of the page that the test expects. */
  readonly forgives?: RegExp;
}

type Cleaning = { readonly onCleanup: (stop: () => Promise<void>) => void };

/** Starts on first use and stops after the last test. */
function shared<Thing>(start: () => Promise<Thing & { stop(): Promise<unknown> }>) {
  // Vitest parses this pattern to find the fixture's dependencies.
  // oxlint-disable-next-line no-empty-pattern
  return async ({}, { onCleanup }: Cleaning): Promise<Thing> => {
    const thing = await start();
    onCleanup(async () => {
      await thing.stop();
    });
    return thing;
  };
}

const forAll = { scope: "worker" } as const;

/**
 * A test of the page. All files share one Chromium and one server of each kind. Fails if the page complains
 * or sends a request to another host.
 */
export const it = test
  .extend("chromium", forAll, shared(startBrowser))
  .extend(
    "demo",
    forAll,
    shared(() => startWorkerServer()),
  )
  .extend("scripted", forAll, shared(startScriptedPage))
  .extend(
    "guarded",
    forAll,
    shared(() => startWorkerServer(GUARDED)),
  )
  .extend("open", async ({ chromium }, { onCleanup }) => {
    const opened: (BrowserPage & { readonly forgives: RegExp | undefined })[] = [];
    onCleanup(async () => {
      // Closes the last one first, because it may share a context with an earlier one.
      for (const { close } of opened.toReversed()) await close();
      for (const { complaints, asked, forgives, page } of opened) {
        expect(complaints.filter((text) => forgives?.test(text) !== true)).toEqual([]);
        const { origin } = new URL(page.url());
        expect(asked.filter((url) => !isOf(origin, url))).toEqual([]);
      }
    });
    return async (url: string, { forgives, ...options }: OpenOptions = {}): Promise<Page> => {
      const one = await chromium.open(url, options);
      opened.push({ ...one, forgives });
      return one.page;
    };
  });

function isOf(origin: string, url: string): boolean {
  return /^(?:blob|data):/.test(url) || new URL(url.replace(/^ws/, "http")).origin === origin;
}

/** Returns the id of the conversation that a page shows. */
export const idIn = (page: Page): string => new URL(page.url()).hash.replace("#/c/", "");

/** Waits until the check passes, however slow the machine is. */
export function eventually(check: () => Promise<void>): Promise<void> {
  return vi.waitFor(check, { interval: 50 });
}

const FRAMES = `new Promise((done) => {
  const later = (count) => (count === 0 ? done() : requestAnimationFrame(() => later(count - 1)));
  later(4);
})`;

/** Focuses a mark in an answer and returns the card that describes its value. */
export async function cardOf(page: Page, mark: Locator): Promise<Locator> {
  const card = page.getByRole("group", { name: "Variable" });
  // Scrolling closes the card, and both the end of an answer and the focus itself may scroll.
  await eventually(async () => {
    await mark.blur();
    await mark.focus();
    await page.evaluate(FRAMES);
    expect(await card.isVisible()).toBe(true);
  });
  return card;
}

export async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(question);
  // The previous turn may still be running after its answer was read. Until it ends there is no Send button.
  await page.getByRole("button", { name: "Send", exact: true }).waitFor();
  await page.keyboard.press("Enter");
}

/** Asks one of the questions of the first view, and waits for its whole answer. */
export async function askExample(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole("button", { name }).click();
  await page.getByRole("button", { name: "Answer again" }).waitFor();
}

/** A step in which the model calls tools. */
export const calling = (...calls: readonly { readonly name: string; readonly input: object }[]) =>
  ({ kind: "calls", calls }) as const;
/** A step in which the model writes a text. */
export const saying = (text: string) => ({ kind: "text", text }) as const;
