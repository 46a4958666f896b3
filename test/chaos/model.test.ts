import { describe as suite, expect, it } from "vitest";
import type { VariableInfo } from "../../src/store/variable.ts";
import { ConversationModel } from "./conversation-model.ts";
import type { Operation, Seen } from "./model.ts";
import { describe, type Piece, type Value } from "./values.ts";

const piece = (seed: number): Piece => ({ kind: "text", seed, size: 100 });
const value = (...seeds: number[]): Value => ({ kind: "text", pieces: seeds.map(piece) });
const NEVER = { endMs: Infinity, latestMs: Infinity };
const during = (startMs: number, endMs: number) => ({ startMs, endMs, latestMs: endMs });

function infoOf(content: Value, version: number, expiresAt?: string): VariableInfo {
  const { digest: _, ...about } = describe(content);
  const known = { name: "a", version, ...about, ...(expiresAt === undefined ? {} : { expiresAt }) };
  // The model compares the other fields only for equality.
  return known as VariableInfo;
}

function put(seed: number, times: ReturnType<typeof during>, version: number): Operation {
  const answer = { status: version === 1 ? 201 : 200, info: infoOf(value(seed), version) };
  return { kind: "put", piece: piece(seed), mode: "replace", ...times, answer };
}

function cutOffPut(
  seed: number,
  startMs: number,
  mode: "replace" | "append" = "replace",
): Operation {
  return { kind: "put", piece: piece(seed), mode, startMs, ...NEVER };
}

function there(content: Value, version: number): Seen {
  const { digest } = describe(content);
  return { fromMs: 1e6, toMs: 1e6, status: 200, digest, version, info: infoOf(content, version) };
}

const gone: Seen = { fromMs: 1e6, toMs: 1e6, status: 404 };

/** Returns what is wrong with seeing `a`, and `b` if given, after the operations. */
function wrongAfter(operations: readonly Operation[], a: Seen, b?: Seen): readonly string[] {
  const model = new ConversationModel("c");
  for (const operation of operations) {
    if (operation.kind === "end" || operation.kind === "reset") model.addWide(operation);
    else for (const name of b === undefined ? ["a"] : ["a", "b"]) model.add(name, operation);
  }
  const seen = new Map([["a", a], ...(b === undefined ? [] : [["b", b] as const])]);
  return model.settle({ status: 200, variables: seen });
}

suite("what may be found after a kill", () => {
  it("is what was acknowledged, and nothing else", () => {
    const written = [put(1, during(0, 5), 1)];
    expect(wrongAfter(written, there(value(1), 1))).toEqual([]);
    expect(wrongAfter(written, gone)).toHaveLength(1);
    expect(wrongAfter(written, there(value(2), 1))).toHaveLength(1);
    expect(wrongAfter(written, there(value(1), 2))).toHaveLength(1);
  });

  it("is the last of writes that followed each other, and either of two at once", () => {
    const [first, later] = [put(1, during(0, 5), 1), put(2, during(6, 9), 2)];
    expect(wrongAfter([first, later], there(value(2), 2))).toEqual([]);
    expect(wrongAfter([first, later], there(value(1), 1))).toHaveLength(1);
    const atOnce = [put(1, during(0, 5), 2), put(2, during(3, 9), 1)];
    expect(wrongAfter(atOnce, there(value(1), 2))).toEqual([]);
  });

  it("has a write without an answer whole or not at all, at any time after it began", () => {
    const operations = [put(1, during(0, 5), 1), cutOffPut(2, 6, "append")];
    expect(wrongAfter(operations, there(value(1), 1))).toEqual([]);
    expect(wrongAfter(operations, there(value(1, 2), 2))).toEqual([]);
    expect(wrongAfter(operations, there(value(2), 2))).toHaveLength(1);
    expect(wrongAfter(operations, gone)).toHaveLength(1);
  });

  it("has nothing back that was deleted", () => {
    const deleted: Operation = { kind: "delete", ...during(6, 7), answer: { status: 204 } };
    const operations = [put(1, during(0, 5), 1), deleted];
    expect(wrongAfter(operations, gone)).toEqual([]);
    expect(wrongAfter(operations, there(value(1), 1))).toHaveLength(1);
  });

  it("has a value until its time is over, and then its tombstone", () => {
    const at = (ms: number) => new Date(ms).toISOString();
    const info = infoOf(value(1), 1, at(900_000));
    const answer = { status: 201, info };
    const operation: Operation = {
      kind: "put",
      piece: piece(1),
      mode: "replace",
      ttlMs: 1,
      ...during(0, 5),
      answer,
    };
    const tombstone = { name: "a", version: 1, evictedAt: at(900_000), reason: "expired" } as const;
    const evicted: Seen = { ...gone, status: 410, tombstone };
    expect(wrongAfter([operation], evicted)).toEqual([]);
    expect(wrongAfter([operation], gone)).toHaveLength(1);
    expect(wrongAfter([operation], { ...there(value(1), 1), info })).toHaveLength(1);
    // A write before the expiry keeps it; a later write has none.
    const written = [operation, cutOffPut(2, 6)];
    const second = { ...evicted, tombstone: { ...tombstone, version: 2 } };
    expect(wrongAfter(written, second)).toEqual([]);
    expect(wrongAfter(written, there(value(2), 2))).toEqual([]);
    const early = { ...evicted, fromMs: 800_000, toMs: 800_000 };
    expect(wrongAfter([operation], early)).toHaveLength(1);
  });

  it("has a conversation that was being deleted, or none of it", () => {
    const operations: Operation[] = [
      put(1, during(0, 5), 1),
      { kind: "end", startMs: 6, ...NEVER },
    ];
    const left = there(value(1), 1);
    expect(wrongAfter(operations, left, left)).toEqual([]);
    expect(wrongAfter(operations, gone, gone)).toEqual([]);
    expect(wrongAfter(operations, gone, left)).toHaveLength(1);
  });
});
