import type { WrittenPlan } from "../../packages/client/src/client.ts";
import type { ChatStep } from "./chat-completions.ts";

const GET = "$get_weather";

/** A turn that compares two readings: two variables, a call that receives both, and values in the answer. */
export const comparison: readonly ChatStep[] = [
  {
    kind: "calls",
    calls: [
      { name: "get_weather", input: { location: "London" } },
      { name: "get_weather", input: { location: "Paris" } },
    ],
  },
  {
    kind: "calls",
    calls: [{ name: "compare_weather", input: { city1: `${GET}_london`, city2: `${GET}_paris` } }],
  },
  {
    kind: "text",
    text: "In $get_weather_london.city and in $get_weather_paris.city:\n\n$compare_weather_1.summary",
  },
];

export const comparisonSaid = "In London and in Paris:";

/** A plan with an input and a final gate. */
export const signedReport: WrittenPlan = {
  name: "Signed report",
  calls: [
    { _tool: "list_orders", _id: "orders", _outputPath: "†state.orders" },
    {
      _tool: "monthly_totals",
      _id: "months",
      orders: "†state.orders",
      _outputPath: "†state.months",
    },
    {
      _tool: "summarize_orders",
      _id: "summary",
      orders: "†state.orders",
      currency: "†input.currency",
      _outputPath: "†state.summary",
    },
    {
      _tool: "write_report",
      _id: "report",
      title: "Signed: †approvals.legal",
      totals: "†state.months",
      summary: "†state.summary",
      _outputPath: "†state.report",
    },
  ],
};
