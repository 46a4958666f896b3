import { describe, expect, it } from "vitest";
import { codeOf } from "../../../src/errors.ts";
import * as limits from "../../../src/limits.ts";
import { renderStep, type StepSources } from "../src/template/render-step.ts";
import { listOf } from "../../../test/support/long-inputs.ts";
import { watch } from "../../../test/support/count-work.ts";
import { step } from "./template-asked.ts";

/** As many files as one listing returns, with the longest possible paths. */
const folder = listOf(
  limits.maxFiles,
  (n) => `${"a".repeat(limits.maxLineChars - 6)}${String(n).padStart(6, "0")}`,
);

interface Counted {
  listed: number;
  read: number;
  /** Number of paths and patterns that were split. */
  matched: number;
}

/** Renders a step. Returns its requests to the folder, and the code of the error that ends it. */
async function asked(text: string, paths: readonly string[] = folder) {
  const done: Counted = { listed: 0, read: 0, matched: 0 };
  const sources: StepSources = {
    today: "2026-11-22",
    read: () => ({ found: false, reason: "unknown" }),
    exists: () => false,
    files: {
      list: async (prefix) => {
        done.listed++;
        return paths.filter((path) => path.startsWith(prefix));
      },
      read: async () => {
        done.read++;
        return { found: true, value: "" };
      },
    },
  };
  const end = watch(String.prototype, "split", () => {
    done.matched++;
  });
  try {
    await renderStep(step(text), sources);
    return { ...done, code: undefined };
  } catch (error) {
    return { ...done, code: codeOf(error) };
  } finally {
    end();
  }
}

const stars = "*a".repeat(limits.maxLineChars / 2 - 10);
/** Returns a template with the maximum number of directives. */
const directives = (write: (n: number) => string) =>
  `${listOf(limits.maxItems, write).join("\n")}\nprompt`;

const templates: readonly (readonly [string, string])[] = [
  ["patterns that match nothing", directives((n) => `@input file:**/x${n}`)],
  ["patterns that match almost everything", directives((n) => `@input file:${stars}${n}x`)],
  ["patterns that match everything", directives(() => "@input file:**")],
  ["patterns with different prefixes", directives((n) => `@input file:${"a".repeat(n % 190)}*x`)],
  ["the names of all files", directives(() => "@input file:** (paths-only)")],
];

describe("a template of 64 KiB over a full folder does a stated amount of work", () => {
  let over = 0;

  it.each(templates)("%s", async (_what, text) => {
    const { listed, read, matched, code } = await asked(text);
    // A listing costs 100,000 units, and each path its length in characters.
    const isWithin =
      listed <= limits.maxItems &&
      read <= limits.maxItems + limits.maxItems &&
      matched <= (2 * limits.maxReadWork) / limits.maxLineChars;
    if (!isWithin) over++;
    expect({ listed, read, matched, isWithin }).toMatchObject({ isWithin: true });
    expect(code).toBe("limit_exceeded");
  });

  it("reads at most as many files as a step may have", async () => {
    const few = listOf(limits.maxItems, (n) => `notes/${n}.md`);
    expect(await asked("@input file:notes/*\nprompt", few)).toMatchObject({
      listed: 1,
      read: limits.maxItems,
      code: undefined,
    });
    const twice = "@input file:notes/*\n@input file:notes/*.md\nprompt";
    expect(await asked(twice, few)).toMatchObject({ listed: 1, code: "limit_exceeded" });
  });

  it("no template exceeds its bound", () => {
    expect(over).toBe(0);
  });
});
