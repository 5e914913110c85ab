// What every view is written with: preact's elements from tagged templates, and its hooks.
import { h, render, Fragment } from "preact";
import htm from "htm";

export { render, Fragment };
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } from "preact/hooks";
export const html = htm.bind(h);
