// What parts of the page's program weigh: by how many bytes (brotli) it is lighter without the functions of each part. Parts overlap, so
// the figures do not add up. Needs a program with names:
//
//   CARGO_ENCODED_RUSTFLAGS=$'--cfg=erase_components\x1f-Csymbol-mangling-version=v0' cargo build --package app --lib --features hydrate \
//     --target wasm32-unknown-unknown --profile wasm-release --config profile.wasm-release.strip=false --target-dir target/named
//   node end2end/measure/weight.mjs target/named/wasm32-unknown-unknown/wasm-release/app.wasm
//
// That program still has what makes its bindings; the one that is shipped is about three quarters as heavy.

import { readFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";

const PARTS = [
  ["views: elements, attributes, hydration (tachys)", /6tachys/],
  ["signals, memos, effects (reactive_graph)", /14reactive_graph/],
  ["  of these: hydration that may wait", /13hydrate_async|11async_value/],
  ["  of these: keyed lists", /8for_loop|5keyed|5Keyed/],
  ["leptos_router", /13leptos_router/],
  ["leptos_meta", /11leptos_meta/],
  ["the browser's API (web-sys, js-sys, wasm-bindgen)", /7web_sys|6js_sys|12wasm_bindgen/],
  ["reading what travels (serde, postcard)", /10serde_core|8postcard/],
  ["maps (hashbrown, B-trees)", /9hashbrown|8indexmap|5btree/],
  ["numbers as text", /4core3fmt|7flt2dec/],
  ["the page of a Deployment", /3app7rollout|5pages7rollout|components7rollout/],
  ["its picture", /3app5score/],
  ["its details", /3app6detail|components6detail/],
  ["the list", /3app4list|components4list|5pages11deployments|8timeline4list/],
  ["the wall", /3app4wall|components4wall|5pages4wall/],
  ["the playground's strip", /10playground/],
  ["everything that is ours", /3app|8timeline/],
];

const file = process.argv[2];
if (!file) throw new Error("usage: node weight.mjs PROGRAM.wasm");
const bytes = readFileSync(file);
let at = 8;

function number() {
  for (let value = 0, shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    value += (byte & 127) * 2 ** shift;
    if (byte < 128) return value;
  }
}

function text() {
  const length = number();
  at += length;
  return bytes.toString("utf8", at - length, at);
}

/// How many functions come from outside: they are numbered first.
function imported() {
  let functions = 0;
  for (let left = number(); left > 0; left--) {
    text();
    text();
    const kind = bytes[at++];
    if (kind === 0) functions += 1;
    if (kind === 0) number();
    else throw new Error(`an import of kind ${kind}: this program imports functions only`);
  }
  return functions;
}

const [bodies, rest, names] = [[], [], new Map()];
let outside = 0;
while (at < bytes.length) {
  const begin = at;
  const kind = bytes[at++];
  const end = number() + at;
  if (kind === 2) outside = imported();
  if (kind === 10) {
    for (let left = number(); left > 0; left--) {
      const length = number();
      bodies.push(bytes.subarray(at, at + length));
      at += length;
    }
  } else if (kind !== 0) rest.push(bytes.subarray(begin, end));
  else if (text() === "name") {
    while (at < end) {
      const what = bytes[at++];
      const over = number() + at;
      if (what === 1) for (let left = number(); left > 0; left--) names.set(number(), text());
      at = over;
    }
  }
  at = end;
}
if (names.size === 0) throw new Error(`${file} has no names of functions`);

function weight(without) {
  const kept = bodies.filter((_, index) => {
    const name = names.get(outside + index) ?? "";
    return !name.includes("__wbindgen_describe") && !without?.test(name);
  });
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 } };
  return brotliCompressSync(Buffer.concat([...rest, ...kept]), options).length;
}

const all = weight();
console.log(`${String(all).padStart(8)}  everything`);
for (const [part, pattern] of PARTS) console.log(`${String(all - weight(pattern)).padStart(8)}  ${part}`);
