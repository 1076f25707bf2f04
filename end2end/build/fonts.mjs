// Cuts the fonts that pages and previews are drawn with out of those of npm: fonts.mjs FOLDER. `cargo xtask` runs it.
//
// A page's fonts are named after what is in them, so that browsers may keep them for ever.

import { createHash } from "node:crypto";
import { readFileSync, rmSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import subset from "subset-font";

const [, , folder] = process.argv;
const packages = new URL("../node_modules/", import.meta.url);
const from = (path) => readFileSync(new URL(path, packages));

const range = (first, last) => String.fromCodePoint(...Array.from({ length: last - first + 1 }, (_, index) => first + index));
const latin = range(0x20, 0x7e) + range(0xa0, 0x17f);
// Quotation marks, dashes, arrows and the signs that sentences use; what else a cluster says is drawn in fonts of the machine.
const signs = range(0x2010, 0x2015) + range(0x2018, 0x201e) + "†‡•…‰‹›⁄€™←↑→↓↔−∞≈≠≤≥✓✗●○";
const text = latin + signs;

const inter = from("inter-ui/variable/InterVariable.woff2");
const mono = from("@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2");
// Figures of one width, pairs, accents; nothing that turns two signs into another one.
const features = ["tnum", "kern", "ccmp", "mark", "mkmk", "locl"];
const cut = (font, targetFormat, variationAxes, signs = text, keepFeatures = features) => subset(font, signs, { targetFormat, variationAxes, keepFeatures, noHinting: true });
const axes = { opsz: 14, wght: { min: 400, max: 700 } };

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const write = (name, bytes) => writeFileSync(join(folder, name), bytes);
const named = (name, bytes) => write(`${name}-${createHash("sha256").update(bytes).digest("hex").slice(0, 10)}.woff2`, bytes);

named("inter", await cut(inter, "woff2", axes));
// Among figures of one width Inter's hyphen is as wide as they are, and names are full of hyphens: alone, it has its own width.
named("hyphen", await cut(inter, "woff2", axes, "-", []));
named("mono", await cut(mono, "woff2", { wght: 400 }));
write("preview-regular.ttf", await cut(inter, "truetype", { opsz: 14, wght: 400 }));
write("preview-bold.ttf", await cut(inter, "truetype", { opsz: 14, wght: 650 }));
const licences = [["Inter", "inter-ui/LICENSE.txt"], ["JetBrains Mono", "@fontsource-variable/jetbrains-mono/LICENSE"]];
write("fonts.txt", licences.map(([name, path]) => `${name}, a subset\n\n${from(path).toString().trim()}\n`).join("\n\n"));
