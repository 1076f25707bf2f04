try {
  await __wbg_init({ module_or_path: unpacked("program") });
  hydrate_exported(unpacked("content"));
} catch (error) {
  failed(error);
}
