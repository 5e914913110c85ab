// The address of what is shown: everything after # is path?name=value&..., so that a link
// restores view, sort, search and range.
import { useEffect, useState } from "./html.js";

/** parseHash returns {path: [...], params: {...}} of a location's hash. */
export function parseHash(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return {
    path: path.split("/").filter(Boolean).map(decode),
    params: Object.fromEntries(new URLSearchParams(query)),
  };
}

// decode returns what was encoded, or the text itself where a person wrote a bare %.
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** formatHash is the inverse of parseHash. Parameters that are empty are left out. */
export function formatHash(path, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, v]) => v != null && v !== ""));
  const text = query.toString();
  return "#/" + path.map(encodeURIComponent).join("/") + (text ? "?" + text : "");
}

/** useRoute returns the route, and follows it. */
export function useRoute() {
  const [route, setRoute] = useState(() => parseHash(location.hash));
  useEffect(() => {
    const follow = () => setRoute(parseHash(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

/** setParams changes parameters of the address. With push a step back undoes it. */
export function setParams(changes, push = false) {
  const { path, params } = parseHash(location.hash);
  const hash = formatHash(path, { ...params, ...changes });
  if (push) location.hash = hash;
  else {
    history.replaceState(null, "", hash);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

/** linkTo returns the address of a view. The range of time stays as it is. */
export function linkTo(...path) {
  return formatHash(path, { t: parseHash(location.hash).params.t });
}
