import { describe } from "vitest";
import { valueBoundsContract } from "../../contract/variable-store.ts";
import { contractInAnObject } from "../../support/contract-in-object.ts";

describe("SqlStore in a real object", () => {
  contractInAnObject({ hasBucket: false }, valueBoundsContract);
});
