// Stands where the runtime library would, in tests of the launcher: it is preloaded, and does nothing.
extern "C" [[gnu::visibility("default")]] int tferry_idle_runtime_is_loaded() { return 1; }
