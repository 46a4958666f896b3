/** The Worker of `npm start`: the deployable Worker, with `run_code` in a separate process. */
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

export { default, Directory, Tables } from "../../src/index.ts";
