import { readSpec, runSpecTask, type SpecResult } from '../../src/functions/spec-task.ts'

/** Runs a call of an operation of the spec, whose module is `native:request`, with these arguments. */
export function askSpec(spec: string, operationId: string, given: object): SpecResult {
  const args = JSON.stringify(given)
  return runSpecTask(
    { kind: 'request', workspace: 1, key: 'k', spec, operationId, args, moduleUrl: 'native:request' },
    () => readSpec(spec),
  )
}
