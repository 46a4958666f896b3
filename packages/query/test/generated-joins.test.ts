import { it } from "vitest";
import { sampled, samples } from "../../../test/support/slow.ts";
import { compareJoins } from "./generated-joins.ts";

it(
  "40 generated joins over 10,000 records have the same results as SQLite on plain tables",
  sampled,
  () => compareJoins(samples(40)),
);
