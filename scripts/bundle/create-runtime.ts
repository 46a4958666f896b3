import type { LanguageModel } from "ai";
import { weather } from "../../src/agents/weather.ts";
import { createRuntime } from "../../src/byref.ts";

declare const model: LanguageModel;

/** The smallest Worker that an application writes: its own model, its own agent. Only measured. */
const runtime = createRuntime({ agents: [weather], model });

export class Conversation extends runtime.Conversation {}

export default runtime.worker;
