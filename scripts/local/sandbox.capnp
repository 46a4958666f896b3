using Workerd = import "/workerd/workerd.capnp";

# The code has no access to network, files or settings.
const config :Workerd.Config = (
  services = [
    (name = "sandbox", worker = .sandbox),
    (name = "nowhere", network = (allow = [])),
  ],
  sockets = [(name = "http", http = (), service = "sandbox")],
);

const sandbox :Workerd.Worker = (
  modules = [
    (name = "sandbox.js", esModule = embed "sandbox.ts"),
    (name = "capnweb", esModule = embed "../../node_modules/capnweb/dist/index-workers.js"),
  ],
  compatibilityDate = "2026-10-01",
  compatibilityFlags = ["typescript_strip_types"],
  bindings = [
    (name = "LOADER", workerLoader = (id = "run_code")),
    (name = "SECRET", fromEnvironment = "SECRET"),
  ],
  globalOutbound = "nowhere",
);
