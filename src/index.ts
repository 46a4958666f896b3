import { orders } from "./agents/orders.ts";
import { weather } from "./agents/weather.ts";
import { createRuntime, modelFromSettings } from "./byref.ts";

const runtime = createRuntime({ agents: [weather, orders], model: modelFromSettings });

/** One conversation: bound as `CONVERSATIONS` in wrangler.toml. */
export class Conversation extends runtime.Conversation {}

export default runtime.worker;
