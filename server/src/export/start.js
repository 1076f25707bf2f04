// Unpacks what this file carries along, and starts the program with the rollout. Where it cannot begin, the page stays as it was: at its end.
(() => {
  const say = (why) => {
    document.getElementById("stopped-why").textContent = why;
    document.getElementById("stopped").className = "banner";
  };
  addEventListener("error", ({ error }) => {
    if (typeof WebAssembly === "object" && error instanceof WebAssembly.RuntimeError) say("This page stopped.");
  });
  const failed = (error) => {
    say("The script of this page could not start: this is the end of the rollout.");
    throw error;
  };
  const unpacked = (id) => {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
    return fzstd.decompress(packed);
  };
  // The program and its parts are packed together, one after the other.
  let files;
  const all = () => {
    const bytes = unpacked("program");
    let at = 0;
    return new Map(JSON.parse(document.getElementById("files").textContent).map(([name, length]) => [name, bytes.subarray(at, (at += length))]));
  };
  // What asks for a part asks for it by the name of its file.
  globalThis.enclosed = (name) => new Response((files ??= all()).get(name), { headers: { "content-type": "application/wasm" } });
  // The bindings call this at their end, in such a file only.
  globalThis.begin = async (initialize, hydrate) => {
    try {
      await initialize({ module_or_path: enclosed("program") });
      await hydrate(unpacked("content"));
    } catch (error) {
      failed(error);
    }
  };
  try {
    const bindings = document.createElement("script");
    bindings.type = "module";
    bindings.nonce = document.currentScript.nonce;
    bindings.textContent = new TextDecoder().decode(unpacked("bindings"));
    document.head.append(bindings);
  } catch (error) {
    failed(error);
  }
})();
