import { it } from "vitest";
import { compareQueries } from "./generated-queries.ts";

it("60 generated statements over random records are what SQLite answers on plain tables", () =>
  compareQueries(60));
