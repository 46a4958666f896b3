import { ordersOf } from "../examples/agents-sdk/orders.ts";

/** A tool's large result, made before it is measured. */
export const REPORT = ordersOf(200_000);
/** A tool's small result. */
export const SMALL = { said: "It is as it was." };
