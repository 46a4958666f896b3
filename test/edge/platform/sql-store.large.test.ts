import { describe } from "vitest";
import { valueBoundsContract } from "../../contract/variable-store.ts";
import { contractInAnObject } from "../../support/contract-in-object.ts";
import { env } from "cloudflare:workers";
import { R2Blobs } from "../../../src/edge/platform/r2-blobs.ts";
import { manyBlobs } from "../../contract/blobs.ts";

describe("SqlStore in a real object", () => {
  contractInAnObject({ hasBucket: false }, valueBoundsContract);
});

describe("SqlStore in a real object, with a real bucket", () => {
  contractInAnObject({ hasBucket: true });
});

describe("SqlStore in a real object, with a real bucket", () => {
  contractInAnObject({ hasBucket: true }, valueBoundsContract);
});

describe("R2Blobs on a real bucket", () => {
  manyBlobs(() => new R2Blobs(env.BLOBS));
});
