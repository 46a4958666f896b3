/** The Worker of `npm start`: the deployable Worker, with each run of code in a process of its own. */
import { Conversation as Deployed } from "../../src/index.ts";
import { remoteLoader } from "./remote-loader.ts";

interface LocalBindings {
  readonly LOADER?: WorkerLoader;
  /** The URL of `side-server.ts`. */
  readonly LOCAL_SIDE: string;
}

type Parameters = ConstructorParameters<typeof Deployed>;

export class Conversation extends Deployed {
  constructor(state: Parameters[0], env: Parameters[1] & LocalBindings) {
    super(state, { ...env, LOADER: remoteLoader(env.LOCAL_SIDE) });
  }
}

export { default, Directory, Tables } from "../../src/index.ts";
