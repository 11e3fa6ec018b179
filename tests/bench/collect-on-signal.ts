// Loaded into a process under test that runs with --expose-gc: SIGUSR2 has V8 collect all garbage.
process.on('SIGUSR2', () => globalThis.gc?.())
