/** Runs tasks of the same name one after another, and tasks of different names concurrently. */
export interface KeyedQueue {
  run<T>(name: string, task: () => Promise<T>): Promise<T>
}

/** Spares writers in one process from meeting each other in the database; correctness does not rest on it. */
export function createKeyedQueue(): KeyedQueue {
  const tails = new Map<string, Promise<unknown>>()
  return {
    run: (name, task) => {
      const result = (tails.get(name) ?? Promise.resolve()).then(task, task)
      tails.set(name, result)
      const forget = () => {
        if (tails.get(name) === result) tails.delete(name)
      }
      result.then(forget, forget)
      return result
    },
  }
}
