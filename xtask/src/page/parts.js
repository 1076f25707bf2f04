// The parts of the program that come when they are needed. Each is there once; where the server does not have one the program ends, and the page says so.
const coming = new Map();
const shared = () => ({ __wasm_split: wasm });
const bring = async (file) => {
  for (let tries = 0; ; tries++) {
    let answer;
    try {
      // Who started the program may have it already (`start.js`), or holds it (a rollout in a file of its own).
      answer = await (globalThis.enclosed?.(file) ?? fetch(new URL(`./parts/${file}`, import.meta.url), { redirect: "manual" }));
      return await WebAssembly.instantiateStreaming(answer, shared());
    } catch (error) {
      // Once more at once: a network that changes takes away what is on its way, also of an answer that had begun. After a minute it is given
      // up: the page would look alive.
      if (tries > 9 || (tries > (answer?.ok ? 4 : 0) && answer?.status < 429)) throw error;
    }
    // No answer comes from a server that restarts, and none that counts from one that has too much to do.
    await new Promise((go) => setTimeout(go, Math.min(tries * 2_000, 10_000)));
  }
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
