import { describe } from "vitest";
import { valueBoundsContract } from "../../contract/variable-store.ts";
import { contractInAnObject } from "../../support/contract-in-object.ts";

describe("SqlStore in a real object, with a real bucket", () => {
  contractInAnObject({ hasBucket: true });
});

describe("SqlStore in a real object, with a real bucket", () => {
  contractInAnObject({ hasBucket: true }, valueBoundsContract);
});
