import { config } from "zod/v4/core";

// The page's policy forbids `eval`. By default Zod would try it once per load, and cause a report.
config({ jitless: true });
