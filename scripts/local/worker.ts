/** What `npm start` runs: the deployable Worker, whose `run_code` runs in a process of its own. */
import { Conversation as Deployed } from "../../src/index.ts";
import { remoteLoader } from "./remote-loader.ts";

interface LocalBindings {
  readonly LOADER?: WorkerLoader;
  /** The URL of `sandbox.ts`. */
  readonly LOCAL_SANDBOX: string;
}

type Parameters = ConstructorParameters<typeof Deployed>;

export class Conversation extends Deployed {
  constructor(state: Parameters[0], env: Parameters[1] & LocalBindings) {
    super(state, { ...env, LOADER: remoteLoader(env.LOCAL_SANDBOX) });
  }
}

export { default, Directory } from "../../src/index.ts";
