import fc from "fast-check";
import { expect, it } from "vitest";
import { interpolate } from "../../src/reference/resolve.ts";
import { CANARY, inert, leaksIn, shown } from "../support/inert-values.ts";
import { sampled, samples } from "../support/slow.ts";

const piece = fc.constantFrom(
  "![a](",
  "[a](",
  "[a]",
  "]",
  "(",
  ")",
  "[a]: ",
  "]:",
  "<",
  ">",
  "<img src=",
  "<a href='",
  '"',
  "'",
  "=",
  "https:",
  "//",
  "/",
  "\\",
  "http",
  "://",
  "www.",
  "evil.example",
  "evil.com",
  "/?d=",
  "@",
  ":",
  "javascript:",
  "&#47;&#47;",
  "&#x3a;",
  "&lt;",
  "`",
  "```",
  "~~~",
  "\n",
  "\n\n",
  " ",
  "> ",
  "- ",
  "| ",
  "    ",
  "<pre>",
  "<!--",
  CANARY,
  CANARY,
);
const hostile = fc
  .array(piece, { minLength: 1, maxLength: 8 })
  .map((pieces) => pieces.join("") + CANARY);
/** Text that a model may write before and after a value. */
const around = fc
  .array(
    fc.constantFrom(
      "a",
      "]",
      "[a]",
      "<",
      "\\",
      "`",
      "\n",
      "> ",
      "- ",
      "| ",
      "(",
      "!",
      "<div>\n",
      "www",
      "http",
    ),
    { maxLength: 3 },
  )
  .map((pieces) => pieces.join(""));

it(
  "a composed or sealed value gives a renderer no URL and no tag with any of it",
  sampled,
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(around, around),
        hostile,
        hostile,
        async ([before, behind], v, w) => {
          const lookup = inert({ v, w, rows: [{ a: v, [w]: w }], list: [v, w], o: { v, w: [w] } });
          for (const name of ["v", "${v}${w}", "rows", "list", "o", "o.w"]) {
            const reference = name.startsWith("$") ? name : `$${name}`;
            for (const text of [
              `${before}${reference}${behind}`,
              `${before}\n${reference}\n${behind}`,
            ]) {
              const printed = await shown(text, lookup);
              expect(leaksIn(printed), printed).toEqual([]);
            }
          }
          const { text } = await interpolate(`${before}{{v}}${behind}`, inert({ v }));
          expect(leaksIn(text), text).toEqual([]);
        },
      ),
      { numRuns: samples(100) },
    );
  },
);
