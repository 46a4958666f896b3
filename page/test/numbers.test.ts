import { describe, expect, it } from "vitest";
import { numberWords } from "../src/numbers.ts";

describe("a number", () => {
  it.each([
    [1_049_023.99, "total", "1,049,023.99"],
    [-5_000, "total", "-5,000"],
    [0.1 + 0.2, "share", "0.3"],
    [9_007_199_254_740_991, "total", "9007199254740991"],
    [1e21, "total", "1e+21"],
    [1e-9, "share", "1e-9"],
    [0, "total", "0"],
    // Names and years are not amounts.
    [2_025, "year", "2025"],
    [10_482, "order_id", "10482"],
    [10_482, "customerId", "10482"],
    [10_482, "id", "10482"],
    [10_482, "paid", "10,482"],
  ])("%d of the column %s is written %s", (value, column, words) => {
    expect(numberWords(value, column)).toBe(words);
  });
});
