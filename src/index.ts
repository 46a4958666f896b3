import { orders } from "./agents/orders.ts";
import { weather } from "./agents/weather.ts";
import { createRuntime, modelFromSettings } from "./byref.ts";

const { worker, Conversation } = createRuntime({
  agents: [weather, orders],
  model: modelFromSettings,
});

export default worker;
export { Conversation };
