import { it } from "vitest";
import { compareJoins } from "./generated-joins.ts";
import { compareQueries } from "./generated-queries.ts";

it("2,000 generated statements over random records have the same results as SQLite on plain tables", () =>
  compareQueries(2_000));

it("500 generated joins over 10,000 records have the same results as SQLite on plain tables", () =>
  compareJoins(500));
