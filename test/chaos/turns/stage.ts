import type { Findings } from "./findings.ts";
import type { Killer } from "./killer.ts";
import type { Server } from "./server.ts";
import type { World } from "./world.ts";

/** What all parts of a run share. */
export interface Stage {
  readonly world: World;
  readonly server: Server;
  readonly killer: Killer;
  readonly findings: Findings;
  /** The parts of an undisturbed turn, by shape. */
  readonly references: Map<string, readonly string[]>;
}
