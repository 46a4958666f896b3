import { expect, it } from "vitest";
import { completionsFor } from "../src/chat/composer.tsx";

const variable = (name: string, type: "array" | "object", shape: string, day: number) =>
  [
    name,
    { name, type, count: 2, mediaType: "application/json", shape, updatedAt: `2026-01-0${day}` },
  ] as const;

const variables = new Map([
  variable("orders", "array", '{id: string, "unit price": number, lines?: {sku: string}[]}[]', 1),
  variable("Order_totals", "object", "{sum: number | null, by: {month: string}}", 2),
  variable("odd", "object", "{a: number", 3),
]);

it.each([
  ["Show $", ["$odd", "$Order_totals", "$orders"]],
  ["Show $ord", ["$Order_totals", "$orders"]],
  ["$orders", ["$orders[*]", "$orders[0]", "$orders[:10]"]],
  ["$orders[", ["$orders[*]", "$orders[0]", "$orders[:10]"]],
  ["$orders[*]", ["$orders[*].id", '$orders[*]["unit price"]', "$orders[*].lines"]],
  ["$orders[-1].li", ["$orders[-1].lines"]],
  ["$orders[2:7].", []],
  ["$orders[2:7][0].i", ["$orders[2:7][0].id"]],
  ["$orders[0].lines[*].s", ["$orders[0].lines[*].sku"]],
  ["$Order_totals.", ["$Order_totals.sum", "$Order_totals.by"]],
  ["$Order_totals.by", ["$Order_totals.by.month"]],
  ["$odd.", []],
  ["$other.", []],
  ["costs $5 and ", []],
  ["$orders and", []],
  ["a$ord", []],
  ["", []],
])("completions of a reference %j", (text, expected) => {
  const { all = [], from = 0 } = completionsFor(text, variables) ?? {};
  expect(all.map(({ reference }) => reference)).toEqual(expected);
  if (all.length > 0) expect(text.slice(from)).toMatch(/^\$/u);
});
