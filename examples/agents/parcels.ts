import { tool, type ToolSet } from "ai";
import * as z from "zod";

/** Sends parcels to the address that a user has told once, in any conversation. SAMPLE DATA: nothing is sent. */
export const parcels = {
  name: "parcels",
  description: "Sends you a parcel, and knows your address in all conversations.",
  instructions: [
    "You send parcels. The user's address is $user.address: pass it on by reference.",
    'When the user tells you the address, save it with set_variable as "address", with the scope "user".',
  ].join("\n"),
  tools: {
    send_parcel: tool({
      description: "Sends an item to an address.",
      inputSchema: z.object({ item: z.string().min(1), to: z.string().min(1) }),
      execute: ({ item, to }) => ({ item, to, days: 3 }),
    }),
  } satisfies ToolSet,
  userScope: "write",
} as const;
