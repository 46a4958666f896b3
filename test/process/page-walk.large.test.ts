import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { Random } from "../chaos/random.ts";
import { comparison, signedReport } from "../support/page-answers.ts";
import { it } from "../support/page-test.ts";
import type { ScriptedPage } from "../support/scripted-page.ts";
import { listed, records } from "../support/variables-page.ts";

/** Number of presses. For more: `PRESSES=1000 npm run test:all`. */
const STEPS = Number(process.env.PRESSES ?? 500);
const SEEDS = [1, 2] as const;

/** Errors that the page and the browser's console report when the server refuses a request. */
const forgives = /^Failed to load resource|^\[object Object\]|ClientError/;

const answers = {
  "Compare them.": comparison,
  "Show the rows.": [
    { kind: "text", text: "Rows:\n\n$rows[0:5]\n\nA **total** of $sizes, and $nobody." },
  ],
  "Send it.": [{ kind: "calls", calls: [{ name: "send_mail", input: { text: "Hello" } }] }],
  "Fail.": [{ kind: "status", status: 400, body: "{}" }],
} as const;

/** Fills the conversation, so that every kind of view is shown again after deletions of the walk. */
async function fill({ url }: ScriptedPage, id: string): Promise<void> {
  const conversation = createClient(url).conversation(id);
  const { variables, plans } = conversation;
  await variables.put("rows", [...records(3_000)]);
  await variables.put("sizes", [3, 1, 2]);
  await variables.put("tree", { outer: { inner: [1, { deep: "found" }] }, empty: {} });
  await variables.put("words", "Line one.\nLine two.\n".repeat(500));
  await variables.put("picture", new Blob([new Uint8Array(20)]), { contentType: "image/png" });
  await plans.propose(signedReport, { agent: "orders" });
  // A turn of the walk may still be running.
  await conversation.stop();
  for (const question of Object.keys(answers).slice(0, -1))
    await conversation.send(question).text();
}

/** Regions of the page, and how often the walk acts in each. */
const regions = { ".side": 50, ".chat": 25, ".header": 5, ".workspace-list": 3, body: 17 } as const;

interface Press {
  readonly region: keyof typeof regions;
  readonly at: number;
  readonly word: number;
}

/** Presses or fills the `at`-th interactive element, and returns a description. */
const act = (page: Page, { region, at, word }: Press) =>
  page.evaluate<string>(`(() => {
    const part = document.querySelector("${region}") ?? document.body;
    const all = [...part.querySelectorAll("a[href], button, input, textarea, select, summary, [tabindex], [role=treeitem]")]
      .filter((one) => !one.disabled && one.checkVisibility() && !one.closest("[inert]") &&
        one.type !== "file" && one.target !== "_blank");
    // Of a dialog the answer that deletes nothing.
    const no = document.querySelector("dialog[open] .button:not(.button-bad)");
    const one = no ?? all[${at} % all.length];
    if (one === undefined) return "nothing";
    const name = one.localName + " " + (one.ariaLabel ?? one.innerText ?? "").slice(0, 30);
    const words = ${JSON.stringify([...Object.keys(answers), "row 1", "", "[1, 2", '{"currency": "USD"}', "$rows[0].name"])};
    if (one.localName === "select") {
      one.selectedIndex = ${word} % one.options.length;
      one.dispatchEvent(new Event("change", { bubbles: true }));
    } else if (one.localName === "textarea" || (one.localName === "input" && one.type !== "checkbox")) {
      const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(one), "value");
      one.focus();
      set.call(one, one.type === "number" ? ${word} % 100 : words[${word} % words.length]);
      one.dispatchEvent(new Event("input", { bubbles: true }));
    } else {
      one.focus();
      const { left, top, width, height } = one.getBoundingClientRect();
      const place = { clientX: left + width * ((${word} % 97) / 97), clientY: top + height / 2 };
      const about = { bubbles: true, cancelable: true, ...place };
      for (const type of ["pointerover", "pointermove", "pointerdown", "pointerup"]) {
        one.dispatchEvent(new PointerEvent(type, about));
      }
      one.dispatchEvent(new MouseEvent("click", about));
    }
    return name;
  })()`);

/** The view at the beginning of each hundred presses. */
const views: readonly ((page: Page) => Promise<void>)[] = [
  async (page) => {
    await listed(page, "rows").click();
    await page.getByRole("button", { name: "Chart" }).click();
    await page.locator(".chart-choices").waitFor();
  },
  async (page) => {
    await page.getByRole("tab", { name: "Plans" }).click();
    await page
      .getByRole("button", { name: /Signed report/ })
      .first()
      .click();
    await page.locator(".plans-node").first().waitFor();
  },
  async (page) => {
    await listed(page, "rows").click();
    await page.getByRole("table", { name: "$rows" }).waitFor();
  },
  async (page) => {
    await page.locator(".approval").last().waitFor();
  },
  async (page) => {
    await page.getByRole("tab", { name: "Meter" }).click();
    await page.locator(".meter").waitFor();
  },
  async (page) => {
    await page.getByRole("tab", { name: "Events" }).click();
    await page.locator(".events").waitFor();
  },
];

const FRAMES = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`;
const KEYS = ["Enter", "Escape", "Tab", "ArrowRight", "ArrowDown", "End", "Home", "Space"] as const;
const SIZES = [
  { width: 1_280, height: 800 },
  { width: 390, height: 780 },
  { width: 900, height: 600 },
] as const;

describe("the page", () => {
  it.for(SEEDS)(
    `survives ${STEPS} random clicks in all of its views, seed %i`,
    async (seed, { open, scripted }) => {
      const random = new Random(seed);
      const id = crypto.randomUUID();
      for (const [question, steps] of Object.entries(answers)) {
        for (let times = 0; times < 500; times++) scripted.answer(question, ...steps);
      }
      const page = await open(scripted.url, { forgives });
      const errors: string[] = [];
      page.on("pageerror", (error) => errors.push(error.stack ?? String(error)));
      const did: string[] = [];
      for (let step = 0; step < STEPS; step++) {
        if (step % 100 === 0) {
          await fill(scripted, id);
          await page.setViewportSize(SIZES[0]);
          await page.goto(`${scripted.url}/#/c/${id}`);
          await page.reload();
          await views[(step / 100) % views.length]?.(page);
        }
        const choice = random.weighted({ press: 80, key: 12, size: 2, home: 4, wait: 2 });
        const region = random.weighted(regions);
        const press = { region, at: random.next(), word: random.next() };
        const key = KEYS[random.between(0, KEYS.length - 1)] ?? "Tab";
        if (choice === "press") did.push(await act(page, press));
        if (choice === "key") await page.keyboard.press(key);
        if (choice === "size") await page.setViewportSize(SIZES[random.between(0, 2)] ?? SIZES[0]);
        if (choice === "home") await page.evaluate(`location.hash = "#/c/${id}"`);
        if (choice === "wait") await page.waitForTimeout(300);
        await page.evaluate(FRAMES);
        const failed = await page.getByText("This view failed.").count();
        expect([failed, errors], did.slice(-8).join("\n")).toEqual([0, []]);
        expect(new URL(page.url()).origin).toBe(scripted.url);
      }
    },
  );
});
