import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { barriersInBoth } from "../support/axe.ts";
import {
  ask,
  calling,
  eventually,
  idIn,
  it,
  saying,
  type OpenOptions,
} from "../support/page-test.ts";
import { signedReport } from "../support/page-answers.ts";
import { listed } from "../support/variables-page.ts";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A connection to a local server that can be cut and restored. */
interface Line {
  readonly url: string;
  /** Breaks all connections, and refuses new ones. */
  cut(): void;
  mend(): void;
  down(): Promise<void>;
}

async function startLine(to: string): Promise<Line> {
  const port = Number(new URL(to).port);
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(port, "127.0.0.1");
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from);
      from.pipe(into);
      // A broken end closes the other one.
      from.on("error", () => into.destroy());
      from.once("close", () => {
        open.delete(from);
        into.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    cut,
    mend: () => void (isCut = false),
    down: async () => {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

type Open = (url: string, options?: OpenOptions) => Promise<Page>;

/** Console errors of a page that is offline. */
const forgives = /ERR_|Failed to|rror/;

const london = { name: "get_weather", input: { location: "London" } };

/** Opens a conversation on two devices, or in two tabs of one, with the answer "Here." */
async function twoDevices(
  open: Open,
  urls: readonly [string, string],
  { question, isTab = false }: { readonly question: string; readonly isTab?: boolean },
) {
  const first = await open(urls[0], { forgives });
  await ask(first, question);
  await first.getByText("Here.", { exact: true }).waitFor();
  const beside = isTab ? { beside: first } : {};
  const second = await open(`${urls[1]}/#/c/${idIn(first)}`, { forgives, ...beside });
  await second.getByText("Here.", { exact: true }).waitFor();
  return { first, second, conversation: createClient(urls[0]).conversation(idIn(first)) };
}

describe("another device", () => {
  it.for([
    ["device", false],
    ["tab", true],
  ] as const)(
    "or %s shows a turn while it runs: its calls, variables and text",
    async ([other, isTab], { open, scripted }) => {
      const held = Promise.withResolvers<void>();
      const [question, next] = [`Before the turn, ${other}.`, `Seen while it runs, ${other}.`];
      const text = "Half of it, and the rest.";
      scripted.answer(question, { kind: "text", text: "Here." });
      scripted.answer(
        next,
        { kind: "calls", calls: [london] },
        { kind: "text", text, hold: held.promise },
      );
      const urls = [scripted.url, scripted.url] as const;
      const { first, second } = await twoDevices(open, urls, { question, isTab });
      await ask(first, next);
      await second.getByRole("region", { name: "Call of get_weather" }).waitFor();
      for (const page of [first, second]) await page.getByText("Half of").waitFor();
      await second.getByRole("button", { name: "Stop" }).waitFor();
      await listed(second, "get_weather_london").waitFor();
      await second.getByRole("tab", { name: "Variables 1" }).waitFor();
      held.resolve();
      for (const page of [first, second]) {
        await page.getByText(text).waitFor();
        await page.getByRole("button", { name: "Send" }).waitFor();
        expect(await page.getByRole("article").count()).toBe(4);
      }
      expect(scripted.asked(next)).toBe(2);
    },
  );

  it("shows an approval, and decides it on both", async ({ open, scripted }) => {
    const mail = { name: "send_mail", input: { text: "Decided elsewhere" } };
    scripted.answer("Before the mail.", { kind: "text", text: "Here." });
    scripted.answer("Send it from there.", calling(mail), saying("It went out."));
    const urls = [scripted.url, scripted.url] as const;
    const question = "Before the mail.";
    const { first, second } = await twoDevices(open, urls, { question });
    await ask(first, "Send it from there.");
    const approve = { name: "Approve", exact: true } as const;
    await first.getByRole("button", approve).waitFor();
    await second.getByRole("button", approve).click();
    for (const page of [first, second]) {
      await page.getByText("It went out.").waitFor();
      expect(await page.getByRole("button", approve).count()).toBe(0);
    }
    const sent = scripted.mail.calls.filter(({ input: { text } }) => text === "Decided elsewhere");
    expect(sent).toHaveLength(1);
  });
});

describe("a page without a connection", () => {
  it("says that it is offline, and catches up when it is back", async ({ open, scripted }) => {
    const line = await startLine(scripted.url);
    scripted.answer("Before the tunnel.", { kind: "text", text: "Here." });
    scripted.answer("During the tunnel.", { kind: "text", text: "Unheard of." });
    const urls = [scripted.url, line.url] as const;
    const question = "Before the tunnel.";
    const { first, second, conversation } = await twoDevices(open, urls, { question });
    const note = second.getByRole("status").filter({ hasText: "You are offline." });
    line.cut();
    await second.context().setOffline(true);
    await note.waitFor();
    expect(await barriersInBoth(second)).toEqual([]);
    await ask(first, "During the tunnel.");
    await first.getByText("Unheard of.").waitFor();
    for (const version of [1, 2, 3]) await conversation.variables.put("written", [version]);
    await conversation.variables.put("gone", 1);
    await conversation.variables.delete("gone");
    await first.getByRole("tab", { name: "Variables 1" }).waitFor();
    expect(await second.getByText("Unheard of.").count()).toBe(0);
    line.mend();
    await second.context().setOffline(false);
    await note.waitFor({ state: "detached" });
    await second.getByText("Unheard of.").waitFor();
    await listed(second, "written").waitFor();
    expect(await second.getByRole("article").count()).toBe(4);
    const events = async (page: Page) => {
      await page.getByRole("tab", { name: "Events" }).click();
      const items = page.getByRole("region", { name: "Events" }).getByRole("listitem");
      return (await items.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " "));
    };
    // Each event appears once, in order.
    await eventually(async () => expect(await events(second)).toEqual(await events(first)));
    expect((await events(second)).filter((text) => text.includes("$written"))).toHaveLength(3);
    await line.down();
  });

  it("sends a question that has not arrived once the network is back", async ({
    open,
    scripted,
  }) => {
    scripted.answer("Into the tunnel.", { kind: "text", text: "Out of it." });
    const page = await open(scripted.url, { forgives });
    await page.getByText("Tools return variables.").waitFor();
    await page.context().setOffline(true);
    await ask(page, "Into the tunnel.");
    await page.getByText("The server cannot be reached.").waitFor();
    await page.context().setOffline(false);
    await page.getByText("Out of it.").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(scripted.asked("Into the tunnel.")).toBe(1);
  });

  it("resumes its own answer after the chat has given up", async ({ open, scripted }) => {
    const line = await startLine(scripted.url);
    const held = Promise.withResolvers<void>();
    const text = "Half of it, and the rest.";
    scripted.answer("Through the tunnel.", { kind: "text", text, hold: held.promise });
    const page = await open(line.url, { forgives });
    await ask(page, "Through the tunnel.");
    await page.getByText("Half of").waitFor();
    await page.clock.install();
    line.cut();
    const trouble = page.getByText("The server cannot be reached.");
    await eventually(async () => {
      await page.clock.fastForward(10_000);
      expect(await trouble.count()).toBe(1);
    });
    held.resolve();
    line.mend();
    await page.clock.fastForward(10_000);
    await page.getByText(text).waitFor();
    await trouble.waitFor({ state: "detached" });
    expect(await page.getByRole("article").count()).toBe(2);
    expect(scripted.asked("Through the tunnel.")).toBe(1);
    await line.down();
  });
});

it("a plan that one tab approves and decides is shown by the other", async ({ open, demo }) => {
  const id = crypto.randomUUID();
  const { plans } = createClient(demo.url).conversation(id);
  const { id: plan } = await plans.propose(signedReport, { agent: "orders" });
  const first = await open(`${demo.url}/#/c/${id}`);
  const second = await open(first.url(), { beside: first });
  for (const page of [first, second]) {
    await page.getByRole("tab", { name: "Plans" }).click();
    await page.getByRole("button", { name: /Signed report/ }).click();
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
  }
  await first.getByRole("button", { name: "Approve", exact: true }).click();
  await second.getByRole("button", { name: "Run", exact: true }).waitFor();
  await plans.run(plan, { input: { currency: "USD" } }).json();
  const gates = [first, second].map((page) => page.getByRole("region", { name: "Gate legal" }));
  for (const gate of gates) await gate.waitFor();
  await gates[1]?.getByRole("button", { name: "Deny", exact: true }).click();
  for (const gate of gates) await gate.waitFor({ state: "detached" });
});
