import { it } from "vitest";
import { compareQueries } from "./generated-queries.ts";

it("2,000 generated statements over random records are what SQLite answers on plain tables", () =>
  compareQueries(2_000));
