import { storeLarge } from "./store-large.ts";
import { onEveryKind } from "./store-testing.ts";

onEveryKind(storeLarge);
