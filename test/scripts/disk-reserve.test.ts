import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { DiskReserve } from "../../scripts/disk-reserve.ts";

const MIB = 2 ** 20;
let folder: string;
let free: number;
let lines: string[];
const open = () =>
  new DiskReserve(
    folder,
    (line) => void lines.push(line),
    () => free,
  );
const hasReserve = () => existsSync(join(folder, "reserve"));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reserve-"));
  free = 100 * MIB;
  lines = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

it("keeps 8 MiB, gives them to reads when the disk is full, and takes them again", () => {
  const reserve = open();
  expect(reserve.isFull()).toBe(false);
  expect(statSync(join(folder, "reserve")).size).toBe(8 * MIB);
  free = MIB;
  expect(reserve.isFull()).toBe(false);
  free = MIB - 1;
  expect([reserve.isFull(), hasReserve()]).toEqual([true, false]);
  free = 8 * MIB;
  // That is the reserve itself.
  expect([reserve.isFull(), hasReserve()]).toEqual([true, false]);
  free = 16 * MIB;
  expect([reserve.isFull(), hasReserve()]).toEqual([false, true]);
  expect(lines).toEqual([
    "The disk is full. Until there is space, nothing is written; reads go on.",
    "The disk has space again.",
  ]);
});

it("serves the next process: the disk may have filled up while none ran", () => {
  open();
  free = 0;
  expect(open().isFull()).toBe(true);
  expect(hasReserve()).toBe(false);
  free = 8 * MIB;
  expect(open().isFull()).toBe(true);
  free = 20 * MIB;
  expect(open().isFull()).toBe(false);
});
