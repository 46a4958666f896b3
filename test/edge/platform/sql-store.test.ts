import { describe } from "vitest";
import { contractInAnObject } from "../../support/contract-in-object.ts";

describe("SqlStore in a real object", () => {
  contractInAnObject({ hasBucket: false });
});
