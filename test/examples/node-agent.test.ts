import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("runs in Node, and prints calls by reference and an answer by value", async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    "examples/node-agent/main.ts",
  ]);
  expect(stderr).toBe("");
  expect(stdout.trimEnd().split("\n")).toEqual([
    'get_weather {"location":"NYC"}',
    'get_weather {"location":"London"}',
    'compare_weather {"city1":"$get_weather_nyc","city2":"$get_weather_london"}',
    "It is 22 °C in New York with 50 % humidity: clear.",
    "",
    "It is 14 °C in London with 50 % humidity: clear.",
    "",
    "New York is warmer.",
  ]);
});
