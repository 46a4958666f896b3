import { it } from "vitest";
import { compareQueries } from "./generated-queries.ts";

it("60 generated statements over random records have the same results as SQLite on plain tables", () =>
  compareQueries(60));
