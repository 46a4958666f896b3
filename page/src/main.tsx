import "./without-eval.ts";
import "./theme.css";
import "./controls.css";
import "./forced-colors.css";
import { Page } from "./page.tsx";
import { mount } from "./view-boundary.tsx";

mount("#page", <Page />);
