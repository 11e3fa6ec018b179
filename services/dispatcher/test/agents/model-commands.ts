import fc from 'fast-check'

type Run<System, Model> = (system: System, model: Model) => unknown

/** Commands of a model-based test on one kind of system, each with the name that a counterexample shows. */
export function commandsOn<System, Model extends object = object>() {
  const command = (name: string, run: Run<System, Model>): fc.AsyncCommand<Model, System> => ({
    check: () => true,
    toString: () => name,
    run: async (model, system) => void (await run(system, model)),
  })
  return {
    command,
    /** The one that has nothing to choose. */
    always: (name: string, run: Run<System, Model>) => fc.constant(null).map(() => command(name, run)),
  }
}
