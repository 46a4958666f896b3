import { it } from "vitest";
import { samples } from "../../../test/support/slow.ts";
import { compareJoins } from "./generated-joins.ts";
import { compareQueries } from "./generated-queries.ts";

it("generated statements over random records have the same results as SQLite on plain tables", () =>
  compareQueries(samples(2_000)));

it("generated joins over 10,000 records have the same results as SQLite on plain tables", () =>
  compareJoins(samples(500)));
