// The parts of the program that come when they are needed. Each is there once; where one does not come the program ends, and the page says so.
const coming = new Map();
const shared = () => ({ __wasm_split: wasm });
const bring = async (file) => {
  // Who started the program may have it already (`start.js`), or holds it (a rollout in a file of its own).
  const ask = () => fetch(new URL(`./parts/${file}`, import.meta.url));
  const use = (answer) => WebAssembly.instantiateStreaming(answer, shared());
  // Once more: a network that changes takes away what is on its way.
  await use(globalThis.enclosed?.(file) ?? ask()).catch(() => use(ask()));
};
// What is too small for a file: data that several parts need.
const unpack = async (text) => {
  await WebAssembly.instantiate(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)), shared());
};
const once = (what, how) => {
  if (!coming.has(what)) coming.set(what, how(what));
  return coming.get(what);
};
const part = (...files) => async (callback, data) => {
  let isThere = true;
  try {
    await Promise.all([...files.map((file) => once(file, bring)), ...small.map((text) => once(text, unpack))]);
  } catch (error) {
    console.error(error);
    isThere = false;
  }
  wasm.__indirect_function_table.get(callback)(data, isThere);
};
