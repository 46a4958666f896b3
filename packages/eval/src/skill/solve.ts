import { createHash } from "node:crypto";
import { Random } from "../random.ts";
import type { ChatRequest, Reply } from "./chat-request.ts";
import { Hand } from "./hand.ts";
import { rules } from "./rules.ts";
import { sightOf } from "./sight.ts";
import { solveTrace } from "./trace-rule.ts";
import type { Skill } from "./skills.ts";

/**
 * Replies to a prompt as a model of this skill: by the text of the prompt alone. The same prompt has the same
 * reply. What a model does wrong in a whole conversation depends on the last question.
 */
export function solve(request: ChatRequest, skill: Skill): Reply {
  const sight = sightOf(request, skill.seesChars);
  const conversation = new Random(seedOf([skill.name, sight.question]));
  const random = new Random(seedOf([skill.name, request.messages]));
  const ignoresGuide = conversation.chance(skill.ignoresGuide);
  const obeysData = conversation.chance(skill.obeysData);
  const hand = new Hand(sight, { skill, random, ignoresGuide });
  for (const { pattern, reply } of rules) {
    const found = pattern.exec(sight.question);
    if (found !== null) return reply({ sight, hand, parts: found.slice(1), obeysData });
  }
  return solveTrace(sight, hand) ?? { text: "I do not understand the question." };
}

function seedOf(value: unknown): number {
  return createHash("sha256").update(JSON.stringify(value)).digest().readUInt32LE(0);
}
