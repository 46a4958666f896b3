import { describe } from "vitest";
import { onEveryKind } from "./store-testing.ts";
import { versions } from "./store-versions.ts";

describe("Earlier versions", () => onEveryKind(versions));
