import * as z from "zod";
import type { Task } from "../tasks/task.ts";
import { textTask } from "../tasks/text-task.ts";
import type { SetRecord } from "./read-records.ts";

const trajectorySchema = z.object({
  task_id: z.coerce.string(),
  traj: z.array(z.object({ role: z.string(), content: z.unknown().optional() })),
});

const MIN_CHARS = 40;
/** Answers of one trajectory. */
const MAX_TEXTS = 2;

/**
 * Makes tasks of a recorded conversation of tau-bench (`historical_trajectories`): its answers with prices and
 * dates pass to a tool as they are. A control of harm: nothing in them is a reference. The conversations
 * themselves need a second model in the place of the person, and are not played.
 */
export function tauTasks(record: SetRecord): readonly Task[] {
  const row = trajectorySchema.safeParse(record);
  if (!row.success) return [];
  const { task_id: id, traj } = row.data;
  const texts = traj.flatMap(({ role, content }) =>
    role === "assistant" && typeof content === "string" && isControl(content) ? [content] : [],
  );
  return texts
    .slice(0, MAX_TEXTS)
    .map((text, index) => textTask({ id: `tau-${id}-${index}`, family: "texts", text }));
}

function isControl(text: string): boolean {
  return text.length >= MIN_CHARS && text.includes("$") && !text.includes("<text>");
}
