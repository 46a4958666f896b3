import { describe } from "vitest";
import { storeLarge } from "./store-large.ts";
import { storeGuards } from "./store-guards.ts";
import { storeParts } from "./store-parts.ts";
import { storeQuota } from "./store-quota.ts";
import { onEveryKind, sampledKinds } from "./store-testing.ts";
import { staleness } from "./store-stale.ts";
import { versions } from "./store-versions.ts";

onEveryKind((at) => {
  storeLarge(at);
  describe("guards", () => storeGuards(at));
  describe("parts", () => storeParts(at));
  describe("eviction", () => storeQuota(at));
  describe("earlier versions", () => versions(at));
  describe("values that are made of others", () => staleness(at));
}, sampledKinds);
