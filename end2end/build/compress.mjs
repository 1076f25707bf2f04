// Writes FILE.br and FILE.gz beside each file: compress.mjs best|fast FILE... `cargo xtask` runs it.

import { readFile, rename, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const [, , effort, ...files] = process.argv;
const isBest = effort === "best";

const brotli = (bytes) =>
  promisify(brotliCompress)(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: isBest ? constants.BROTLI_MAX_QUALITY : constants.BROTLI_MIN_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
const zip = async (bytes) => {
  const zipped = await promisify(gzip)(bytes, { level: isBest ? constants.Z_BEST_COMPRESSION : constants.Z_BEST_SPEED });
  // The system that it was made on, by RFC 1952: unknown.
  zipped[9] = 255;
  return zipped;
};

await Promise.all(
  files.map(async (file) => {
    const bytes = await readFile(file);
    const write = async (extension, compressed) => {
      await writeFile(`${file}.new`, await compressed);
      await rename(`${file}.new`, `${file}.${extension}`);
    };
    await write("br", brotli(bytes));
    await write("gz", zip(bytes));
  }),
);
