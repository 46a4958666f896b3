import { tool, type ToolSet } from "ai";
import type { WrittenProgram } from "byref/client";
import * as z from "zod";

/** A sale, as the shop's system has it. */
interface Sale {
  readonly team: string;
  readonly amount: number;
}

/** What the report needs of the world. */
export interface Office {
  readonly sales: (week: string) => readonly Sale[];
  readonly targets: () => Readonly<Record<string, number>>;
  readonly send: (mail: { readonly to: string; readonly text: string }) => void;
}

const totals = z.record(z.string(), z.number());
const rows = z.array(z.object({ team: z.string(), total: z.number(), target: z.number() }));

/** An agent that reports on a week. It may only send a mail that a person has approved. */
export function weeklyReport({ sales, targets, send }: Office) {
  return {
    name: "weekly-report",
    description: "Reports on the sales of a week, and mails the report when you approve it.",
    instructions: "Call the tools in their order. Pass each result on by reference.",
    tools: {
      list_sales: tool({
        description: "The sales of a week.",
        inputSchema: z.object({ week: z.string().describe("e.g. 2026-W48, or last") }),
        execute: ({ week }) => sales(week),
      }),
      sum_sales: tool({
        description: "The total of each team.",
        inputSchema: z.object({
          sales: z.array(z.object({ team: z.string(), amount: z.number() })),
        }),
        execute: ({ sales: list }) => {
          const byTeam = Map.groupBy(list, ({ team }) => team);
          const sum = (all: readonly Sale[]) => all.reduce((so, { amount }) => so + amount, 0);
          return Object.fromEntries([...byTeam].map(([team, all]) => [team, sum(all)]));
        },
      }),
      compare_targets: tool({
        description: "The totals beside the teams' targets.",
        inputSchema: z.object({ totals }),
        execute: ({ totals: byTeam }) => {
          const wanted = targets();
          const teams = Object.entries(byTeam);
          return teams.map(([team, total]) => ({ team, total, target: wanted[team] ?? 0 }));
        },
      }),
      write_report: tool({
        description: "The report as text.",
        inputSchema: z.object({ rows }),
        execute: ({ rows: list }) =>
          list.map(({ team, total, target }) => `${team}: ${total} of ${target}`).join("\n"),
      }),
      send_mail: tool({
        description: "Sends a mail. A person approves it.",
        inputSchema: z.object({ to: z.string(), text: z.string() }),
        needsApproval: true,
        execute: (mail) => {
          send(mail);
          return { sent: mail.to };
        },
      }),
    } satisfies ToolSet,
    effects: {
      list_sales: "none",
      sum_sales: "none",
      compare_targets: "none",
      write_report: "none",
    },
  } as const;
}

/** The program, as `PUT /programs/weekly-report?agent=weekly-report` takes it. Its input is a webhook's body, too. */
export const program: WrittenProgram = {
  input: {
    type: "object",
    properties: {
      week: { type: "string", default: "last" },
      to: { type: "string", default: "sales@shop.example" },
    },
  },
  calls: [
    { _tool: "list_sales", week: "†input.week", _outputPath: "†state.sales" },
    { _tool: "sum_sales", sales: "†state.sales", _outputPath: "†state.totals" },
    { _tool: "compare_targets", totals: "†state.totals", _outputPath: "†state.rows" },
    { _tool: "write_report", rows: "†state.rows", _outputPath: "†state.report" },
    { _tool: "send_mail", to: "†input.to", text: "†state.report", _outputPath: "†state.sent" },
  ],
};

/** Mondays at eight. */
export const schedule = { cron: "0 8 * * 1", timeZone: "Europe/Berlin", misfires: "once" } as const;
