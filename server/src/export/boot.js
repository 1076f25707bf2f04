try {
  await __wbg_init({ module_or_path: enclosed("program") });
  await hydrate_exported(unpacked("content"));
} catch (error) {
  failed(error);
}
