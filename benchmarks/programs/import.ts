/** Imports one module, and writes how many milliseconds that took. */
const { specifier } = JSON.parse(process.argv[2] ?? '') as { specifier: string };
const begun = performance.now();
await import(specifier);
process.stdout.write(JSON.stringify(performance.now() - begun));
