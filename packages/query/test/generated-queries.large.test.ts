import { it } from "vitest";
import { samples } from "../../../test/support/slow.ts";
import { compareQueries } from "./generated-queries.ts";

it("generated statements over random records have the same results as SQLite on plain tables", () =>
  compareQueries(samples(2_000)));
