import type { JSONObject, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Conversation } from "./read-conversation.ts";

export interface DemoCall {
  readonly toolName: string;
  readonly input: JSONObject;
}

/** The next step of the demo model. */
export type DemoStep =
  | { readonly kind: "calls"; readonly calls: readonly DemoCall[] }
  | { readonly kind: "text"; readonly text: string }
  /** Says why it does nothing, and what it can do. */
  | { readonly kind: "refusal"; readonly why: string };

export type DemoTools = NonNullable<LanguageModelV4CallOptions["tools"]>;

/** Input of a step of the demo model. */
export interface DemoPrompt {
  readonly conversation: Conversation;
  /** The tools that are offered. */
  readonly tools: DemoTools;
}

/** Phrases of an application, for a demonstration that rules about names and schemas do not cover. */
export interface DemoScript {
  /** Questions to try, by the name of the tool. */
  readonly examples?: Readonly<Record<string, string>>;
  /** Returns the next step. Undefined for a question that is not in the script. */
  step(prompt: DemoPrompt): DemoStep | undefined;
}

export function say(text: string): DemoStep {
  return { kind: "text", text };
}

export function refuse(why: string): DemoStep {
  return { kind: "refusal", why };
}

/** A text without references and links: what it quotes is data. */
export function inert(text: string): string {
  return text.replaceAll(/[$†`]|\{\{|\[\^|\]\(/gu, " ");
}
