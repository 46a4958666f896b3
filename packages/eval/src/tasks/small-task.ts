import * as z from "zod";
import { Random } from "../random.ts";
import { CITIES } from "./documents.ts";
import { lastCall, recordingTools } from "./recording-tool.ts";
import type { Task } from "./task.ts";
import { same } from "./verdict.ts";

/** Two small results. References save nothing here, and must not harm. */
export function smallTask({ seed }: { readonly seed: number }): Task {
  const random = new Random(seed);
  const first = random.one(CITIES);
  const second = random.one(CITIES.filter((city) => city !== first));
  const cold = random.between(-10, 15);
  const degrees = new Map([
    [first, cold],
    [second, cold + random.between(1, 15)],
  ]);
  const cities = random.chance(0.5) ? [first, second] : [second, first];
  return {
    id: `small-${seed}`,
    family: "small",
    size: 100,
    turns: [
      {
        user: `Get the weather of ${cities.join(" and ")} with get_weather, one call for each, and report the name of the warmer city with report_city. Answer "done" when it is reported.`,
      },
    ],
    open() {
      const { tools, received } = recordingTools({
        get_weather: {
          description: "Returns the weather of a city.",
          input: { city: z.string() },
          run: ({ city }) => ({ city: city ?? null, degrees: degrees.get(String(city)) ?? null }),
        },
        report_city: {
          description: "Reports a city.",
          input: { city: z.string() },
          run: () => ({ reported: true }),
        },
      });
      return { tools, check: () => same(second, lastCall(received, "report_city")?.city) };
    },
  };
}
